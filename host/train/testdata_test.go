package train_test

import (
	"path/filepath"
	"testing"

	"psafe/host/posterior"
	"psafe/host/property"
	"psafe/host/train"
)

// testdata is a file of the folder of that name in the root of the repository.
func testdata(name string) string { return filepath.Join("..", "..", "testdata", name) }

// TestTestdataPosteriors wants the files of testdata to be what its README says.
func TestTestdataPosteriors(t *testing.T) {
	for name, want := range map[string][3]int{
		"cubic-128.npz":           {1, 1, 385},
		"glyphs-64-32-10.npz":     {64, 10, 2410},
		"one-weight.npz":          {1, 1, 2},
		"two-weights.npz":         {1, 1, 2},
		"two-weights-product.npz": {1, 1, 4},
		"tiny-2-3-2-tanh.npz":     {2, 2, 17},
	} {
		p, err := posterior.Read(testdata(name), posterior.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if got := [3]int{p.Inputs(), p.Outputs(), p.Weights()}; got != want || p.Source.Note == "" {
			t.Errorf("%s: %v inputs, outputs and weights, want %v; note %q", name, got, want, p.Source.Note)
		}
	}
}

func TestTestdataGlyphs(t *testing.T) {
	data, err := train.ReadFile(testdata("glyphs-test-images-idx3-ubyte.gz"), testdata("glyphs-test-labels-idx1-ubyte.gz"), train.Classification)
	if err != nil {
		t.Fatal(err)
	}
	p, err := posterior.Read(testdata("glyphs-64-32-10.npz"), posterior.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := train.Evaluate(p, data, 1); data.N() != 100 || s.Accuracy < 0.95 {
		t.Errorf("accuracy %v on %d images, want at least 0.95 on 100", s.Accuracy, data.N())
	}
}

func TestTestdataCubic(t *testing.T) {
	p, err := posterior.Read(testdata("cubic-128.npz"), posterior.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Fresh points without noise: how far the mean network is from x^3 itself.
	if s := train.Evaluate(p, train.Cubic(1000, 0, 99), 1); s.RMSE > 0.5 {
		t.Errorf("RMSE %v, want at most 0.5", s.RMSE)
	}
	tasks, err := property.ReadFile(testdata("cubic-property.json"), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if err := task.Check(1, 1); err != nil {
			t.Error(err)
		}
	}
}
