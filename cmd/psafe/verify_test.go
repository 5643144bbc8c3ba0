package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testkit/onnxtest"
)

// plainNetwork is a network of ReLU layers without deviations; weights[k] go from the inputs of layer
// k, by input.
func plainNetwork(widths []int, weights, biases [][]float64) *posterior.Posterior {
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := range weights {
		a := network.Activation{Kind: network.ReLU}
		if k == len(weights)-1 {
			a = network.Activation{}
		}
		fixed := func(mean []float64) posterior.Params {
			return posterior.NewParams(mean, make([]float64, len(mean)), posterior.ScaleSD)
		}
		p.Layers = append(p.Layers, posterior.Layer{Layer: network.DenseLayer(widths[k], widths[k+1], a), Weight: fixed(weights[k]), Bias: fixed(biases[k])})
	}
	return p
}

func writeNetwork(path string, p *posterior.Posterior) error {
	var b bytes.Buffer
	if err := format.WriteNPZ(&b, p); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// writeNetworks makes the networks of verify.txtar: |x|; the same as a set of one sample; and
// the sum of |x_j| less itself, written so that bounds do not see that it is 0.
func writeNetworks(dir string) error {
	abs := plainNetwork([]int{1, 2, 1}, [][]float64{{1, -1}, {1, 1}}, [][]float64{{0, 0}, {0}})
	if err := writeNetwork(filepath.Join(dir, "abs-1-2-1.npz"), abs); err != nil {
		return err
	}
	one, err := posterior.FromFinite(abs.Layers, &posterior.Finite{Counts: []int64{1}, Stack: [][]float64{{1, -1}, {0, 0}, {1, 1}, {0}}})
	if err != nil {
		return err
	}
	if err := writeNetwork(filepath.Join(dir, "samples-1.npz"), one); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 1))
	first, last := make([]float64, 8*16), make([]float64, 16)
	for i := range 8 {
		last[i], last[i+8] = 1, -1
		for j := range 8 {
			first[j*16+i] = r.NormFloat64()
			first[j*16+i+8] = first[j*16+i]
		}
	}
	return writeNetwork(filepath.Join(dir, "hard-8-16-1.npz"), plainNetwork([]int{8, 16, 1}, [][]float64{first, last}, [][]float64{make([]float64, 16), {1e-9}}))
}

// TestCounterexamples: what verify prints after sat is, as it is printed, an input of the box
// whose output, evaluated here in big.Rat, is unsafe and is what was printed for it; and the
// script for VNN-COMP writes the same in its own form.
func TestCounterexamples(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(5, 5))
	normal := func(n int) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = r.NormFloat64()
		}
		return w
	}
	found := 0
	for range 12 {
		weights, biases := [][]float64{normal(12), normal(8)}, [][]float64{normal(4), normal(2)}
		net := filepath.Join(dir, "net.npz")
		if err := writeNetwork(net, plainNetwork([]int{3, 4, 2}, weights, biases)); err != nil {
			t.Fatal(err)
		}
		// y0 + y1/2 > 1 and y1 <= y0, with inputs from -0.3 to 0.7.
		query := filepath.Join(dir, "q.vnnlib")
		text := ""
		for j := range 3 {
			text += fmt.Sprintf("(declare-const X_%d Real)(assert (< X_%d 0.7))(assert (>= X_%d -0.3))\n", j, j, j)
		}
		writeTest(t, query, text+"(declare-const Y_0 Real)(declare-const Y_1 Real)(assert (> (+ Y_0 (* 0.5 Y_1)) 1))(assert (<= Y_1 Y_0))")
		var stdout, stderr bytes.Buffer
		if status := program([]string{"verify", query, "--network", "f=" + net, "--device", "cpu", "--cells", "2000"}, &stdout, &stderr); status != exitDone {
			t.Fatal(stderr.String())
		}
		lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
		if lines[0] != "sat" {
			continue
		}
		found++
		if len(lines) != 8 || lines[1] != "X Real [3]" || lines[5] != "Y Real [2]" {
			t.Fatalf("%q", lines)
		}
		var x []*big.Rat
		for _, line := range lines[2:5] {
			v, ok := new(big.Rat).SetString(line)
			if !ok || v.Cmp(big.NewRat(7, 10)) >= 0 || v.Cmp(big.NewRat(-3, 10)) < 0 || strings.ContainsAny(line, "eE") {
				t.Fatalf("input %q", line)
			}
			x = append(x, v)
		}
		y := byHand(weights, biases, x)
		if y[1].Cmp(y[0]) > 0 || new(big.Rat).Add(y[0], new(big.Rat).Mul(y[1], big.NewRat(1, 2))).Cmp(big.NewRat(1, 1)) <= 0 {
			t.Fatalf("outputs %v of %v are not unsafe", y, x)
		}
		for i, line := range lines[6:] {
			if v, _ := new(big.Rat).SetString(line); v == nil || new(big.Rat).Sub(v, y[i]).Cmp(big.NewRat(1, 1<<50)) > 0 || new(big.Rat).Sub(y[i], v).Cmp(big.NewRat(1, 1<<50)) > 0 {
				t.Errorf("output %q, is %v", line, y[i])
			}
		}
		if found == 1 {
			competition(t, dir, net, query, lines)
		}
	}
	if found < 3 {
		t.Errorf("%d counterexamples: too few to say something", found)
	}
}

// TestWithin: what does not end by itself is left alone soon after the deadline.
func TestWithin(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	began := time.Now()
	got, late, err := within(ctx, func() (int, error) { <-forever; return 1, nil })
	if took := time.Since(began); got != 0 || !late || err != nil || took < lateness || took > lateness+10*time.Second {
		t.Errorf("%v, late %v, %v after %v", got, late, err, took)
	}
	if got, late, err := within(context.Background(), func() (int, error) { return 7, io.EOF }); got != 7 || late || err != io.EOF {
		t.Error(got, late, err)
	}
}

// TestTimeoutOfReading: the time that reading takes counts. The query's million assertions take
// any machine several times the lateness.
func TestTimeoutOfReading(t *testing.T) {
	dir := t.TempDir()
	net, query := filepath.Join(dir, "net.onnx"), filepath.Join(dir, "q.vnnlib")
	b := onnxtest.New(1, 1)
	b.Node("Relu", nil)
	writeTest(t, net, string(onnxtest.Encode(&b.Graph)))
	writeTest(t, query, "(declare-const X_0 Real)(declare-const Y_0 Real)"+strings.Repeat("(assert (<= X_0 1))", 1e6)+
		"(assert (and (>= X_0 0) (>= Y_0 1)))")
	out, err := exec.Command("psafe", "verify", query, "--network", net, "--timeout", "0.02", "--device", "cpu").CombinedOutput()
	if err != nil || string(out) != "timed-out\n" {
		t.Errorf("%v: %q", err, out)
	}
}

// byHand is a ReLU network in exact arithmetic.
func byHand(weights, biases [][]float64, x []*big.Rat) []*big.Rat {
	for k := range weights {
		y := make([]*big.Rat, len(biases[k]))
		for i := range y {
			y[i] = new(big.Rat).SetFloat64(biases[k][i])
			for j := range x {
				y[i].Add(y[i], new(big.Rat).Mul(x[j], new(big.Rat).SetFloat64(weights[k][j*len(y)+i])))
			}
			if k < len(weights)-1 && y[i].Sign() < 0 {
				y[i].SetInt64(0)
			}
		}
		x = y
	}
	return x
}

// competition runs the scripts of VNN-COMP on the instance with the answer lines.
func competition(t *testing.T, dir, net, query string, lines []string) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("no awk")
	}
	scripts, err := filepath.Abs(filepath.Join("..", "..", "scripts", "vnncomp"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(script string, args ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(scripts, script), append([]string{"v1", "test"}, args...)...)
		cmd.Dir = dir
		psafe, err := exec.LookPath("psafe")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(os.Environ(), "PSAFE="+psafe, "PSAFE_DEVICE=cpu")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	results := filepath.Join(dir, "results.txt")
	run("prepare_instance.sh", net, query)
	run("run_instance.sh", net, query, results, "20")
	want := fmt.Sprintf("sat\n((X_0 %s)\n (X_1 %s)\n (X_2 %s)\n (Y_0 %s)\n (Y_1 %s))\n", lines[2], lines[3], lines[4], lines[6], lines[7])
	if got := read(results); strings.Count(got, "\n") != strings.Count(want, "\n") || !strings.HasPrefix(got, "sat\n((X_0 ") || !strings.HasSuffix(got, "))\n") {
		t.Errorf("%q, want %q or another counterexample", got, want)
	}
	run("run_instance.sh", fmt.Sprintf("[('f', '%s')]", net), query, results, "20")
	if got := read(results); !strings.HasPrefix(got, "sat\n((X_0 ") {
		t.Errorf("%q", got)
	}
	pair := filepath.Join(dir, "pair.vnnlib")
	writeTest(t, pair, "(declare-network f (declare-input A Real [3]) (declare-output B Real [2]))(declare-network g (equal-to f) (declare-input C Real [3]) (declare-output D Real [2]))"+
		"(assert (and (<= A[0] 1) (<= A[1] 1) (<= A[2] 1) (>= A[0] 1) (>= A[1] 1) (>= A[2] 1) (== C[0] A[0]) (== C[1] A[1]) (== C[2] A[2]) (== B[0] D[0])))")
	run("run_instance.sh", fmt.Sprintf("[('f', '%s'), ('g', '%s')]", net, net), pair, results, "20")
	if got := read(results); !strings.HasPrefix(got, "sat\n((X_0 1)\n (X_1 1)\n (X_2 1)\n (X_3 1)\n (X_4 1)\n (X_5 1)\n (Y_0 ") || strings.Count(got, "Y_") != 4 {
		t.Errorf("%q", got)
	}
	if err := os.Rename(net, filepath.Join(dir, "a=b c.npz")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(query, filepath.Join(dir, "-q.vnnlib")); err != nil {
		t.Fatal(err)
	}
	run("run_instance.sh", "a=b c.npz", "-q.vnnlib", results, "20")
	if got := read(results); !strings.HasPrefix(got, "sat\n((X_0 ") {
		t.Errorf("%q", got)
	}
	run("run_instance.sh", net, filepath.Join(dir, "missing"), results, "20")
	if got := read(results); got != "error\n" {
		t.Errorf("%q", got)
	}
}

// TestNearest: what verify prints of a probability is a bound of it, and short.
func TestNearest(t *testing.T) {
	third, tiny := big.NewRat(1, 3), new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(400), nil))
	for _, p := range []*big.Rat{new(big.Rat), big.NewRat(1, 1), big.NewRat(1, 2), third, big.NewRat(2, 3), tiny} {
		lo, hi := property.DecimalDown(nearestDown(p)), property.DecimalUp(nearestUp(p))
		if property.MustExact(lo).Rat().Cmp(p) > 0 || property.MustExact(hi).Rat().Cmp(p) < 0 || len(lo) > 25 || len(hi) > 25 {
			t.Errorf("%v is printed as from %s to %s", p.FloatString(20), lo, hi)
		}
	}
}
