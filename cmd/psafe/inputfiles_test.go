package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/npy"
)

// writeInputFiles makes what a script cannot hold: a network that takes 3 x 5 x 5 colour
// images, channels first, images for it as PNG and as arrays, and vectors of radii.
func writeInputFiles(dir string) error {
	r := rand.New(rand.NewPCG(3, 12))
	numbers := func(n int, scale float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = scale * r.NormFloat64()
		}
		return x
	}
	same := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 0.01
		}
		return x
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	for _, s := range []struct {
		in, out int
		act     network.Activation
	}{{75, 5, network.Activation{Kind: network.ReLU}}, {5, 2, network.Activation{}}} {
		post.Layers = append(post.Layers, posterior.Layer{
			Layer:  network.DenseLayer(s.in, s.out, s.act),
			Weight: posterior.NewParams(numbers(s.in*s.out, 0.5), same(s.in*s.out), posterior.ScaleSD),
			Bias:   posterior.NewParams(numbers(s.out, 0.5), same(s.out), posterior.ScaleSD),
		})
	}
	var net bytes.Buffer
	if err := format.WriteNPZ(&net, post); err != nil {
		return err
	}
	files := map[string][]byte{"colour-75-5-2.npz": net.Bytes()}
	var last, first []float64
	for _, name := range []string{"a", "b"} {
		img := image.NewRGBA(image.Rect(0, 0, 5, 5))
		var planes [3][]float64
		for y := range 5 {
			for x := range 5 {
				c := [3]byte{byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(256))}
				img.Set(x, y, color.RGBA{c[0], c[1], c[2], 255})
				for k := range c {
					planes[k] = append(planes[k], float64(c[k]))
					last = append(last, float64(c[k]))
				}
			}
		}
		for k := range planes {
			first = append(first, planes[k]...)
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			return err
		}
		files[filepath.Join("images", name+".png")] = b.Bytes()
	}
	for name, a := range map[string]*npy.Array{
		"last.npy":  {Shape: []int{2, 5, 5, 3}, Data: last},
		"first.npy": {Shape: []int{2, 3, 5, 5}, Data: first},
		"radii.npy": {Shape: []int{2}, Data: []float64{0.0625, 0}},
		"other.npy": {Shape: []int{2}, Data: []float64{0.0625, 0.5}},
		"clip.npy":  {Shape: []int{2, 2}, Data: []float64{0, 0, 1, 1}},
	} {
		var err error
		a.DType = "<f8"
		if files[name], err = npy.Encode(a); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "images"), 0o755); err != nil {
		return err
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
