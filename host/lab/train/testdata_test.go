package train_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"psafe/host/lab/train"
	"psafe/host/read/format"
	"psafe/host/read/property"
	examples "psafe/testdata"
)

// testdata is a file of the folder of that name in the root of the repository.
func testdata(name string) string { return filepath.Join("..", "..", "..", "testdata", name) }

// TestTestdataPosteriors wants the files of testdata to be what its README says.
func TestTestdataPosteriors(t *testing.T) {
	for name, want := range map[string][3]int{
		"cubic-128.npz":           {1, 1, 385},
		"glyphs-64-32-10.npz":     {64, 10, 2410},
		"glyphs-64-24-24-10.npz":  {64, 10, 2410},
		"glyphs-conv-8-10.npz":    {64, 10, 810},
		"advisory-4-32-9.npz":     {4, 9, 457},
		"one-weight.npz":          {1, 1, 2},
		"two-weights.npz":         {1, 1, 2},
		"two-weights-product.npz": {1, 1, 4},
		"tiny-2-3-2-tanh.npz":     {2, 2, 17},
	} {
		p, err := format.Read(testdata(name), format.Options{})
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
	for _, name := range []string{"glyphs-64-32-10.npz", "glyphs-64-24-24-10.npz", "glyphs-conv-8-10.npz"} {
		p, err := format.Read(testdata(name), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := train.Evaluate(p, data, 1); data.N() != 100 || s.Accuracy < 0.95 {
			t.Errorf("%s: accuracy %v on %d images, want at least 0.95 on 100", name, s.Accuracy, data.N())
		}
	}
}

// TestTestdataAdvisory wants the four properties to fit the advisory network.
func TestTestdataAdvisory(t *testing.T) {
	tasks, err := property.ReadFile(testdata("advisory-property.json"), 9)
	if err != nil || len(tasks) != 4 {
		t.Fatalf("%d properties, want 4: %v", len(tasks), err)
	}
	for _, task := range tasks {
		if err := task.Check(4, 9); err != nil {
			t.Error(err)
		}
	}
}

// TestTestdataEmbedded wants the files that programs carry to be those of the
// folder.
func TestTestdataEmbedded(t *testing.T) {
	list, err := examples.Files.ReadDir(".")
	if err != nil || len(list) != 7 {
		t.Fatalf("%d files, want 7: %v", len(list), err)
	}
	for _, entry := range list {
		got, err := examples.Files.ReadFile(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(testdata(entry.Name()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the file in the folder: %v", entry.Name(), err)
		}
	}
}

func TestTestdataCubic(t *testing.T) {
	p, err := format.Read(testdata("cubic-128.npz"), format.Options{})
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
