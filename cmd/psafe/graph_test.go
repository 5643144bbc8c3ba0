package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/read/npy"
)

// runGraph runs the program and returns what it prints.
func runGraph(t *testing.T, status int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if got := program(args, &out, &errs); got != status {
		t.Fatalf("psafe %s: status %d, want %d: %s", strings.Join(args, " "), got, status, errs.String())
	}
	if status != 0 {
		return errs.String()
	}
	return out.String()
}

// TestGraphs: a convolutional network as torch has it is imported, inspected, converted and
// evaluated at images in each order, with the same logits.
func TestGraphs(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	const h, w = 5, 6
	tensors := []npy.Named{}
	tensor := func(name string, shape ...int) {
		a := &npy.Array{Shape: shape, DType: "<f8"}
		n := 1
		for _, d := range shape {
			n *= d
		}
		for i := range n {
			a.Data = append(a.Data, float64((5*i+len(name))%7)/8-0.25)
		}
		tensors = append(tensors, npy.Named{Name: name, Array: a})
	}
	tensor("conv", 3, 3, 2, 2) // filters, channels, rows, columns
	tensor("bias", 3)
	tensor("fc", 2, 3*4*5)
	save := func(name string, list ...npy.Named) {
		var b bytes.Buffer
		if err := npy.WriteZip(&b, list); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	save("weights.npz", tensors...)
	text, err := json.Marshal(map[string]any{
		"layout": "out,in", "order": "channels_first", "input_shape": []int{3, h, w}, "scale": "sd",
		"layers": []any{
			map[string]any{"kind": "conv2d", "activation": "relu", "weight": map[string]string{"mean": "conv", "scale": "none"}, "bias": map[string]string{"mean": "bias", "scale": "none"}},
			map[string]any{"kind": "flatten"},
			map[string]any{"activation": "identity", "weight": map[string]string{"mean": "fc", "scale": "none"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("map.json"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	runGraph(t, 0, "import", at("weights.npz"), "--map", at("map.json"), "--out", at("net.npz"))
	runGraph(t, 0, "convert", at("net.npz"), "--format", "safetensors", "--out", at("net.safetensors"))
	if text := runGraph(t, 0, "inspect", at("net.safetensors")); !strings.Contains(text, "convolution 2x2") {
		t.Errorf("inspect: %s", text)
	}
	// One image in each order.
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	last, first, flat := make([]float64, h*w*3), make([]float64, h*w*3), []string{}
	for y := range h {
		for x := range w {
			rgb := [3]byte{byte(40*y + 9*x), byte(200 - 30*x), byte(3 * y * x)}
			img.Set(x, y, color.RGBA{rgb[0], rgb[1], rgb[2], 255})
			for k, v := range rgb {
				last[(y*w+x)*3+k], first[(k*h+y)*w+x] = float64(v), float64(v)
			}
		}
	}
	for _, v := range first {
		flat = append(flat, fmt.Sprint(v))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"x.png": b.Bytes(), "x.csv": []byte(strings.Join(flat, ",") + "\n")} {
		if err := os.WriteFile(at(name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	save("last.npz", npy.Named{Name: "x", Array: &npy.Array{Shape: []int{1, h, w, 3}, Data: last, DType: "<f8"}})
	save("first.npz", npy.Named{Name: "x", Array: &npy.Array{Shape: []int{1, 3, h, w}, Data: first, DType: "<f8"}})
	save("wrong.npz", npy.Named{Name: "x", Array: &npy.Array{Shape: []int{1, w, h, 3}, Data: last, DType: "<f8"}})
	want := ""
	for _, net := range []string{"net.npz", "net.safetensors"} {
		for _, x := range []string{"x.csv", "x.png", "first.npz", "last.npz"} {
			got := runGraph(t, 0, "predict", "--posterior", at(net), "--inputs", at(x), "--input-scale", "1/256")
			if want == "" {
				want = got
			}
			if got != want || strings.Contains(got, ",0,0\n") {
				t.Errorf("%s at %s: %s, want %s", net, x, got, want)
			}
		}
	}
	if text := runGraph(t, 2, "predict", "--posterior", at("net.npz"), "--inputs", at("wrong.npz")); !strings.Contains(text, "have shape [6 5 3], the posterior's file says [3 5 6]") {
		t.Errorf("of another shape: %s", text)
	}
}
