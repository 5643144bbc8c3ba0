package format

import (
	"encoding/json"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// TestRealGraphs: the published convolutional posteriors are read, and their mean networks give
// the logits that an independent program gives.
func TestRealGraphs(t *testing.T) {
	dir := dataDir(t)
	for name, weights := range map[string]int{"gtsrb_conv_small": 1026, "gtsrb_conv_vogn": 18642} {
		p, err := Read(filepath.Join(dir, "journal", name), Options{Scale: posterior.ScaleSD})
		if err != nil {
			t.Fatal(err)
		}
		net := p.Network()
		_, conv := net[0].Map.(network.Conv)
		_, pool := net[1].Map.(network.MaxPool)
		if len(net) != 4 || !conv || !pool || net[0].Activation != linear || net[1].Activation != relu || p.Weights() != weights || !slices.Equal(p.Input.Shape, []int{28, 28, 3}) {
			t.Errorf("%s: %d weights, input %v, %+v", name, p.Weights(), p.Input.Shape, net)
		}
		reread(t, p)
	}
	text, err := os.ReadFile(filepath.Join(dir, "..", "expected", "conv_bounds.json"))
	if err != nil {
		t.Skip(err)
	}
	var expected struct {
		Cases []struct {
			Posterior, Input string
			Logits           []float64 `json:"mean_logits"`
		}
	}
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	p, err := Read(filepath.Join(dir, "journal", "gtsrb_conv_vogn"), Options{Scale: posterior.ScaleSD})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"limit50": "Speed_limit_sign___50mph.png", "roadworks": "1_Roadworks-Stock.png", "images": "images.png"}
	compared := 0
	for _, c := range expected.Cases {
		file, known := files[strings.TrimPrefix(c.Input, "ood:")]
		if c.Posterior != "gtsrb_conv_vogn" || !known {
			continue
		}
		compared++
		for k, got := range p.LogitsApprox(imageData(t, filepath.Join(dir, "gtsrb_ood", file))) {
			if !(math.Abs(got-c.Logits[k]) <= 1e-12) {
				t.Errorf("%s: logit %d is %v, want %v", c.Input, k, got, c.Logits[k])
			}
		}
	}
	if compared == 0 {
		t.Error("no case compared")
	}
}

// imageData is a PNG as numbers from 0 to 1, channels last.
func imageData(t *testing.T, path string) (x []float64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	for row := range img.Bounds().Dy() {
		for column := range img.Bounds().Dx() {
			r, g, b, _ := img.At(column, row).RGBA()
			for _, v := range []uint32{r, g, b} {
				x = append(x, float64(v>>8)/255)
			}
		}
	}
	return x
}
