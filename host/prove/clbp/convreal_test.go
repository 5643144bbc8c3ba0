package clbp

import (
	"encoding/json"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// sharedFolder is the folder of real posteriors, which is not part of this repository:
// PSAFE_SHARED, or "shared" beside it.
func sharedFolder(t *testing.T) string {
	t.Helper()
	root := os.Getenv("PSAFE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(root, "expected", "conv_bounds.json")); err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	if testing.Short() {
		t.Skip("real posteriors take long: not with -short")
	}
	return root
}

// realCase is a case of conv_bounds.json.
type realCase struct {
	Posterior, Input, Property string
	Eps                        float64
	SigmaFactor                float64   `json:"sigma_factor"`
	MeanLogits                 []float64 `json:"mean_logits"`
	CLBP                       struct {
		Tau, Events float64
		PLower      float64 `json:"p_lower"`
		Rows        []struct {
			Form string
			M0   float64
			E, V map[string]float64
		}
	}
	Box map[string]convtest.Box
}

// image is the input that a case names.
func (c *realCase) image(t *testing.T, root string) []float64 {
	t.Helper()
	kind, what, _ := strings.Cut(c.Input, ":")
	if kind == "ood" {
		name := map[string]string{"limit50": "Speed_limit_sign___50mph.png", "roadworks": "1_Roadworks-Stock.png", "images": "images.png"}[what]
		return photograph(t, filepath.Join(root, "data", "gtsrb_ood", name))
	}
	if kind == "sign" {
		return disc()
	}
	points, err := property.ReadPoints(filepath.Join(root, "data", "mnist", "t10k-images-idx3-ubyte.gz"), property.InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := strconv.Atoi(what)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := points.At(i)
	if kind == "mnist" {
		return x
	}
	var grey []float64
	for _, v := range x {
		grey = append(grey, v, v, v)
	}
	return grey
}

// photograph reads the colours of a PNG file, from 0 to 1.
func photograph(t *testing.T, path string) (x []float64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	b := picture.Bounds()
	for row := b.Min.Y; row < b.Max.Y; row++ {
		for col := b.Min.X; col < b.Max.X; col++ {
			c := color.NRGBAModel.Convert(picture.At(col, row)).(color.NRGBA)
			x = append(x, float64(c.R)/255, float64(c.G)/255, float64(c.B)/255)
		}
	}
	return x
}

// disc is a speed limit sign of 28 x 28 pixels: a white disc with a red ring and two dark bars.
func disc() []float64 {
	var x []float64
	for row := range 28 {
		for col := range 28 {
			u, v := 2*col-27, 2*row-27
			r, pixel := u*u+v*v, [3]int{96, 128, 96}
			if r <= 23*23 {
				pixel = [3]int{200, 24, 32}
			}
			if r <= 16*16 {
				pixel = [3]int{236, 236, 236}
				bars := -9 <= v && v <= 9 && (-11 <= u && u <= -3 || 3 <= u && u <= 11)
				if bars && !(-3 <= v && v <= 3 && ((u%4)+4)%4 == 1) {
					pixel = [3]int{24, 24, 24}
				}
			}
			for _, p := range pixel {
				x = append(x, float64(p)/255)
			}
		}
	}
	return x
}

// TestRealConvolutions: TestConvolutionBounds, TestConvolutionNoise and TestConvolutionBoxes for
// released convolutional posteriors, photographs and digits.
func TestRealConvolutions(t *testing.T) {
	testscale.DeepOnly(t)
	root := sharedFolder(t)
	raw, err := os.ReadFile(filepath.Join(root, "expected", "conv_bounds.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []realCase }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	var cases []realCase
	for _, c := range file.Cases {
		if !strings.HasPrefix(c.Input, "formula") && c.Posterior != "global_average" {
			cases = append(cases, c)
		}
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s/%s/eps%.5f/sdx%v", c.Posterior, c.Input, c.Eps, c.SigmaFactor), func(t *testing.T) {
			var post *posterior.Posterior
			if c.Posterior == "mnist_lenet" {
				post = convtest.Named(c.Posterior).Posterior(c.SigmaFactor)
			} else {
				read, err := format.Read(filepath.Join(root, "data", "journal", c.Posterior), format.Options{Scale: posterior.ScaleSD})
				if err != nil {
					t.Fatal(err)
				}
				post = convtest.Scaled(read, c.SigmaFactor)
			}
			x := c.image(t, root)
			class := 0
			for i, y := range post.LogitsApprox(x) {
				if math.Abs(y-c.MeanLogits[i]) > 1e-9*(1+math.Abs(y)) {
					t.Fatalf("logit %d is %v, independent program %v", i, y, c.MeanLogits[i])
				}
				if y > c.MeanLogits[class] {
					class = i
				}
			}
			c.compare(t, post, convtest.KeepsClass(post, x, c.Eps, class))
		})
	}
}

func (c *realCase) compare(t *testing.T, post *posterior.Posterior, task property.Task) {
	for p, slack := range map[bound.Precision]float64{bound.Float64: 1e-6, bound.Float32: 1e-3} {
		if got := lowerOf(t, p, post, byBounds, task); got < c.CLBP.PLower-slack {
			t.Errorf("%v: p_lower %.9f, independent program %.9f: below it by %.3g", p, got, c.CLBP.PLower, c.CLBP.PLower-got)
		} else {
			t.Logf("%v: p_lower %.9f, independent program %.9f", p, got, c.CLBP.PLower)
		}
	}
	n, events := noisesAt(t, bound.Float64, post, &task, c.CLBP.Tau)
	if events > c.CLBP.Events*(1+1e-9) {
		t.Errorf("%v events, independent program %v", events, c.CLBP.Events)
	}
	for r, w := range c.CLBP.Rows {
		want := convtest.Noise{Lo: w.M0}
		for level := 1; level <= 64; level++ {
			if e, ok := w.E[strconv.Itoa(level)]; ok {
				want.E, want.V = append(want.E, e), append(want.V, w.V[strconv.Itoa(level)])
			}
		}
		form := &n.ByLines
		if w.Form == "interval" {
			form = &n.ByIntervals
		}
		lo, mean, variance := form.At(r)
		one := &bound.Noises{Lo: []float64{lo}}
		for l := range mean {
			one.Mean, one.Var = append(one.Mean, mean[l:l+1]), append(one.Var, variance[l:l+1])
		}
		// The independent program bounds radii below a pool by the widths of intervals too, whose
		// lower ends it does not pay for: ours may be a little larger.
		sameNoise(t, fmt.Sprintf("%s, row %d:", w.Form, r), one, []convtest.Noise{want}, 0.005)
	}
	for word, want := range c.Box {
		method := bound.LBP
		if word == "ibp" {
			method = bound.IBP
		}
		if want.Gamma == nil {
			continue
		}
		for r, got := range boxMargins(t, bound.Float64, post, &task, method, *want.Gamma) {
			if got < want.Margin[r]-1e-9 {
				t.Errorf("%s row %d at half-width %v: %.12g, independent program %.12g: below it by %.3g", word, r, *want.Gamma, got, want.Margin[r], want.Margin[r]-got)
			}
		}
	}
}
