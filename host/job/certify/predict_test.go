package certify

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
)

// TestPredict compares with sums written out, for every kind of posterior.
func TestPredict(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte("0.0,1\n0.5,-2\n3,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tiny-2-3-2-tanh.npz", "samples-2-8-3.npz", "swag-2-8-3.npz", "dropout-2-8-3.npz"} {
		post, err := format.Read(testFile(name), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := &Predict{Posterior: Posterior{Path: testFile(name)}, Points: Points{Inputs: path, Label: "1", Index: new("1:3")}, Draws: 7, Seed: 5}
		var got []*Prediction
		accuracy, err := p.Run(t.Context(), func(one *Prediction) error { got = append(got, one); return nil })
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for at, x := range [][]float64{{0.5, -2}, {3, 1}} {
			one, want := got[at], post.LogitsApprox(x)
			if one.Index != at+1 || !near(one.Logits, want, 0) || *one.Class != argmax(want) || *one.Label != 1 {
				t.Errorf("%s: %+v, want logits %v", name, one, want)
			}
			if argmax(want) == 1 {
				right++
			}
			out := len(want)
			probability, share, mean, sd := make([]float64, out), make([]float64, out), make([]float64, out), make([]float64, out)
			var all [][]float64
			for i := range 7 {
				w := post.NewWeights()
				post.Draw(5, i, w)
				y := slices.Clone(post.Network().OutputsApprox(w, x))
				all = append(all, y)
				sum := 0.0
				for _, v := range y {
					sum += math.Exp(v)
				}
				for k, v := range y {
					probability[k] += math.Exp(v) / sum / 7
					mean[k] += v / 7
				}
				share[argmax(y)] += 1. / 7
			}
			for _, y := range all {
				for k, v := range y {
					sd[k] += (v - mean[k]) * (v - mean[k]) / 7
				}
			}
			for k := range sd {
				sd[k] = math.Sqrt(sd[k])
			}
			a := one.Approx
			if a.Samples != 7 || a.Seed != 5 || !near(a.Probabilities, probability, 1e-12) || !near(a.Shares, share, 1e-12) || !near(a.Mean, mean, 1e-12) || !near(a.SD, sd, 1e-9) || *a.Class != argmax(probability) {
				t.Errorf("%s: %+v, want %v %v %v %v", name, a, probability, share, mean, sd)
			}
		}
		if accuracy.Points != 2 || accuracy.Right != right {
			t.Errorf("%s: accuracy %+v, want %d of 2", name, accuracy, right)
		}
		stop := errors.New("stop")
		if _, err := p.Run(t.Context(), func(*Prediction) error { return stop }); err != stop {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func near(got, want []float64, tolerance float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= tolerance*(1+math.Abs(b)) })
}

// pixelNet is a file of a network of 8 x 8 pixels that says how it takes them.
func pixelNet(t *testing.T, input posterior.Input) string {
	p := &posterior.Posterior{Scale: posterior.ScaleSD, Input: input}
	mean, sd := make([]float64, 128), make([]float64, 128)
	for j := range mean {
		mean[j], sd[j] = math.Sin(float64(j)), 0.01
	}
	p.Layers = []posterior.Layer{{Layer: network.DenseLayer(64, 2, network.Activation{}), Weight: posterior.NewParams(mean, sd, p.Scale), Bias: posterior.NewParams([]float64{0, 0}, []float64{0, 0}, p.Scale)}}
	path := filepath.Join(t.TempDir(), "net.npz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := format.WriteNPZ(file, p); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDoubtedInputs: pixels 0..255 for a network that takes 0..1 are noticed, and T that is
// far beyond pixels; what is as it should be is not. The mean and standard deviation that a
// posterior has for inputs are taken off.
func TestDoubtedInputs(t *testing.T) {
	var raw strings.Builder
	x := make([]float64, 64)
	for j := range 64 {
		x[j] = float64(j * 255 / 63)
		fmt.Fprintf(&raw, ",%v", x[j])
	}
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte(raw.String()[1:]+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		input       posterior.Input
		scale, want string
	}{
		{posterior.Input{}, "", "which look like pixels, and the first layer like one that takes them divided by 255: --input-scale 1/255"},
		{posterior.Input{}, "1/255", ""},
		{posterior.Input{Mean: []float64{127.5}, Std: []float64{127.5}}, "", ""},
	} {
		var notes []string
		var logits []float64
		p := &Predict{Posterior: Posterior{Path: pixelNet(t, test.input)}, Points: Points{Inputs: path, Scale: test.scale}, Note: func(n Note) { notes = append(notes, n.String()) }}
		if _, err := p.Run(t.Context(), func(one *Prediction) error { logits = one.Logits; return nil }); err != nil {
			t.Fatal(err)
		}
		if test.want == "" && len(notes) > 0 || test.want != "" && (len(notes) != 1 || !strings.Contains(notes[0], test.want)) {
			t.Errorf("scale %q: notes %q, want %q", test.scale, notes, test.want)
		}
		if test.input.Mean != nil {
			post, err := p.Posterior.Read()
			if err != nil {
				t.Fatal(err)
			}
			if want := post.LogitsApprox(post.Input.NormaliseApprox(x)); !near(logits, want, 1e-12) || near(logits, post.LogitsApprox(x), 1e-3) {
				t.Errorf("logits %v, want %v", logits, want)
			}
		}
	}
	for _, test := range []struct {
		eps, want string
		clip      []string
	}{
		{"0.03", "", nil},
		{"0.3", "T reaches 0.3 beyond them: --clip 0,1 cuts it", nil},
		{"2/255", "", []string{"0", "1"}},
		{"2", "inputs are from 0 to 1 and --eps is 2, which takes in all that there is: radii are in the units of the data, and one of 2 steps of a byte is 2/255", []string{"0", "1"}},
		{"2", "--eps is 2", nil},
	} {
		eps, want := test.eps, test.want
		j := digits()
		j.Tasks.Points.Clip, j.Tasks.Points.Eps, j.Tasks.Points.Index = test.clip, eps, new("0")
		var notes []string
		j.Note = func(n Note) { notes = append(notes, n.String()) }
		lines(t, j)
		notes = slices.DeleteFunc(notes, func(n string) bool { return strings.Contains(n, "unknown, not unsafe") })
		if got := strings.Join(notes, " "); (got != "") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("eps %s: notes %q, want %q", eps, notes, want)
		}
	}
}
