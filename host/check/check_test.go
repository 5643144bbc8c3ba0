package check

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

func testFile(name string) string { return filepath.Join("..", "..", "testdata", name) }

// images is a job about the first images of testdata, file a job about a property file.
func images(posterior string, count int, eps string, m certify.Method, p bound.Precision) *certify.Job {
	return &certify.Job{
		Posterior: certify.Posterior{Path: testFile(posterior)},
		Tasks: certify.Tasks{Points: certify.Points{Inputs: testFile("glyphs-test-images-idx3-ubyte.gz"), Index: new(fmt.Sprintf("0:%d", count)),
			Eps: eps, Clip: []string{"0", "1"}, Property: property.KeepsClass}},
		Method: m, Precision: new(p), Version: "test",
	}
}

func file(posterior, file string, m certify.Method, p bound.Precision) *certify.Job {
	return &certify.Job{Posterior: certify.Posterior{Path: testFile(posterior)}, Tasks: certify.Tasks{File: testFile(file)}, Method: m, Precision: new(p), Version: "test"}
}

// written does a job and returns its lines.
func written(t testing.TB, j *certify.Job) [][]byte {
	t.Helper()
	lines, err := linesOf(t, j)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func linesOf(t testing.TB, j *certify.Job) ([][]byte, error) {
	j.Open = func(p bound.Precision) (*certify.Devices, error) {
		return &certify.Devices{List: []bound.Device{fallback.New(p)}}, nil
	}
	var out bytes.Buffer
	j.Stdout = &out
	if _, err := j.Run(t.Context()); err != nil {
		return nil, err
	}
	return bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n")), nil
}

// boxJobs are jobs of every kind with weight boxes.
func boxJobs() map[string]*certify.Job {
	jobs := map[string]*certify.Job{}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		for _, word := range []prove.Method{prove.IBP, prove.LBP} {
			of := fmt.Sprintf("%s %v ", word, p)
			drawn := func(draws int, gamma float64) certify.Method {
				return certify.Method{By: new(word), NoUpper: true, Draws: &draws, Gamma: &gamma}
			}
			jobs[of+"glyphs"] = images("glyphs-64-32-10.npz", 3, "0.01", drawn(1, 3), p)
			jobs[of+"glyphs, deep"] = images("glyphs-64-24-24-10.npz", 3, "0.005", drawn(1, 3), p)
			jobs[of+"cubic"] = file("cubic-128.npz", "cubic-property.json", drawn(1, 3.5), p)
			jobs[of+"advisory"] = file("advisory-4-32-9.npz", "advisory-property.json", drawn(1, 2.5), p)
			for _, name := range []string{"one-weight", "two-weights", "two-weights-product"} {
				j := file(name+".npz", "", certify.Method{By: new(word), NoUpper: true, Draws: new(300), Gamma: new(0.5), Seed: new(uint64(7))}, p)
				j.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "points.csv"), Eps: "0.1", Property: "output_box:[-0.5,2]"}}
				jobs[of+name] = j
			}
			tanh := file("tiny-2-3-2-tanh.npz", "", drawn(4, 1.5), p)
			tanh.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "pairs.csv"), Eps: "0.05", Property: property.KeepsClass}}
			jobs[of+"tanh"] = tanh
		}
	}
	return jobs
}

// TestCheckBoxes: every record of weight boxes passes.
func TestCheckBoxes(t *testing.T) {
	proved := 0
	for name, j := range boxJobs() {
		var c Checker
		start := time.Now()
		lines := written(t, j)
		certified := time.Since(start)
		start = time.Now()
		for i, line := range lines {
			v, err := c.Check(t.Context(), line, false)
			if err != nil || v.Refused != nil {
				t.Errorf("%s: line %d: %v %v\n%s", name, i, err, v.Refused, line)
			}
			if !strings.Contains(string(line), `"p_lower":0,`) {
				proved++
			}
		}
		t.Logf("%s: certify %v, check %v", name, certified, time.Since(start))
	}
	t.Logf("%d records prove something", proved)
	if proved < 60 {
		t.Errorf("only %d records prove something", proved)
	}
}

// TestCheckActivations: records about deep networks of every activation pass, on inputs of
// both signs, whose weights meet values of both signs.
func TestCheckActivations(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	proved := 0
	networks := testscale.Cases(t, 60)
	for n := range networks {
		act := checktest.Activations[n%len(checktest.Activations)]
		post := checktest.Gaussian(rng, act, 3, 6, 5, 4, 3)
		for k := range post.Layers { // larger weights, so that curves are curved
			for w := range post.Layers[k].Weight.Mean {
				post.Layers[k].Weight.Mean[w] *= 2
			}
		}
		path, points := filepath.Join(t.TempDir(), "net.npz"), filepath.Join(t.TempDir(), "points.csv")
		var file, csv bytes.Buffer
		if err := format.WriteNPZ(&file, post); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			fmt.Fprintf(&csv, "%v,%v,%v\n", rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64())
		}
		for name, text := range map[string][]byte{path: file.Bytes(), points: csv.Bytes()} {
			if err := os.WriteFile(name, text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		word := []prove.Method{prove.IBP, prove.LBP, prove.LBP}[n%3]
		j := &certify.Job{
			Posterior: certify.Posterior{Path: path}, Precision: new([]bound.Precision{bound.Float32, bound.Float64}[n%2]), Version: "test",
			Tasks:  certify.Tasks{Points: certify.Points{Inputs: points, Eps: []string{"0.01", "0.1"}[n/2%2], Property: property.KeepsClass}},
			Method: certify.Method{By: new(word), NoUpper: true, Draws: new(2), Gamma: new(1.0)},
		}
		var c Checker
		for i, line := range written(t, j) {
			v, err := c.Check(t.Context(), line, false)
			if err != nil || v.Refused != nil {
				t.Errorf("%v %s: line %d: %v %v\n%s", act, word, i, err, v.Refused, line)
			}
			if !strings.Contains(string(line), `"p_lower":0,`) {
				proved++
			}
		}
	}
	if proved < networks/6 { // of four records of each
		t.Errorf("only %d records of %d networks prove something", proved, networks)
	}
}
