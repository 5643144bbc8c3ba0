package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/read/format"
)

// small is a configuration that trains in a moment.
func small() Config {
	return Config{Hidden: []int{8}, Activation: network.Activation{Kind: network.ReLU}, Epochs: 5, Batch: 16,
		LearningRate: 0.01, KLWeight: 1, PriorSD: 1, InitSD: 0.1, Noise: 2, Seed: 1}
}

// random is a data set of noise.
func random(task Task, n, inputs, outputs int) *Data {
	rng := rand.New(rand.NewPCG(7, 7))
	d := &Data{Task: task, Inputs: inputs, Outputs: outputs}
	for range n {
		for range inputs {
			d.X = append(d.X, rng.NormFloat64())
		}
		if task == Classification {
			d.Label = append(d.Label, rng.IntN(outputs))
			continue
		}
		for range outputs {
			d.Target = append(d.Target, 3*rng.NormFloat64())
		}
	}
	return d
}

// TestGradient compares the gradient of the whole objective with central
// differences, for every parameter of networks of every activation and loss.
func TestGradient(t *testing.T) {
	for _, task := range []Task{Regression, Classification} {
		for _, word := range []string{"relu", "tanh", "sigmoid", "leaky_relu:0.1"} {
			for _, fanIn := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/%s/%v", task, word, fanIn), func(t *testing.T) {
					a, err := network.ParseActivation(word)
					if err != nil {
						t.Fatal(err)
					}
					c := small()
					c.Activation, c.Hidden, c.PriorFanIn, c.PriorSD = a, []int{5, 4}, fanIn, 0.7
					checkGradient(t, c, random(task, 6, 3, 2))
				})
			}
		}
	}
}

func checkGradient(t *testing.T, c Config, data *Data) {
	rng := rand.New(rand.NewPCG(3, 3))
	net, err := newNetwork(&c, data.Inputs, data.Outputs, rng)
	if err != nil {
		t.Fatal(err)
	}
	// Every rho its own, so that a mix-up of two shows.
	for i := range net.half {
		net.param[net.half+i] = -2 + 0.5*rng.NormFloat64()
	}
	net.refresh()
	b := net.newBatch(data.N())
	b.load(data, rng.Perm(data.N()))
	b.drawNoise(rng)
	const factor = 0.05
	objective := func() float64 { net.refresh(); return b.forward() + factor*net.kl() }
	objective()
	b.backward()
	net.addKL(factor)
	grad := append([]float64(nil), net.grad...)
	for i, kept := range net.param {
		const h = 1e-5
		net.param[i] = kept + h
		up := objective()
		net.param[i] = kept - h
		down := objective()
		net.param[i] = kept
		want := (up - down) / (2 * h)
		if math.Abs(grad[i]-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("parameter %d of %d: gradient %v, differences give %v", i, len(grad), grad[i], want)
		}
	}
}

// TestKL compares the KL term with the closed form at three pairs.
func TestKL(t *testing.T) {
	net := &variational{half: 3, param: []float64{0, 2, -1, 0, 0, 0}, sd: []float64{1, 1, 0.5}, prior: []float64{1, 1, 2}}
	// 0, mu^2/2, and log(4) + (1/16 + 1/4)/2 - 1/2.
	want := 0 + 2 + math.Log(4) + (1./16+1./4)/2 - 0.5
	if got := net.kl(); math.Abs(got-want) > 1e-14 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCubicLearns(t *testing.T) {
	data := Cubic(200, 2, 1)
	c := small()
	c.Hidden, c.Epochs, c.PriorSD, c.LearningRate = []int{32}, 60, 3, 0.03
	var loss []float64
	c.Progress = func(epoch int, l float64) {
		if epoch != len(loss)+1 {
			t.Errorf("epoch %d comes after %d", epoch, len(loss))
		}
		loss = append(loss, l)
	}
	p, err := Run(t.Context(), data, c)
	if err != nil {
		t.Fatal(err)
	}
	if first, last := loss[0], loss[len(loss)-1]; last > first/4 {
		t.Errorf("loss %v at first, %v at last: want less than a quarter", first, last)
	}
	// Without a network the RMSE is the spread of x^3, 24.
	if s := Evaluate(p, data, c.Noise); s.RMSE > 8 {
		t.Errorf("RMSE %v, want at most 8", s.RMSE)
	}
}

func TestClassificationLearns(t *testing.T) {
	data := random(Classification, 200, 2, 3)
	for i := range data.Label {
		x := data.Point(i)
		data.Label[i] = 0
		if x[0] > 0 {
			data.Label[i] = 1
		} else if x[1] > 0 {
			data.Label[i] = 2
		}
	}
	c := small()
	c.Epochs, c.LearningRate, c.Hidden = 60, 0.03, []int{16}
	p, err := Run(t.Context(), data, c)
	if err != nil {
		t.Fatal(err)
	}
	if s := Evaluate(p, data, 1); s.Accuracy < 0.9 || s.Loss > 0.5 {
		t.Errorf("accuracy %v, loss %v", s.Accuracy, s.Loss)
	}
}

// TestReproducible wants the same bytes of the same seed, others of another,
// and parameters that are float32.
func TestReproducible(t *testing.T) {
	files := map[string]uint64{}
	for _, seed := range []uint64{1, 1, 2} {
		c := small()
		c.Seed = seed
		p, err := Run(t.Context(), Cubic(50, 2, 1), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range append(p.Layers[0].Weight.Mean, p.Layers[1].Weight.Spread...) {
			if float64(float32(v)) != v {
				t.Fatalf("%v is no float32", v)
			}
		}
		var b bytes.Buffer
		if err := format.WriteNPZ(&b, p); err != nil {
			t.Fatal(err)
		}
		if s, ok := files[b.String()]; ok != (seed == s) {
			t.Errorf("seed %d gives the file of seed %d", seed, s)
		}
		files[b.String()] = seed
	}
	if len(files) != 2 {
		t.Errorf("seeds 1, 1, 2 give %d different files, want 2", len(files))
	}
}

func TestCubicData(t *testing.T) {
	d := Cubic(20000, 3, 5)
	sum, square := 0.0, 0.0
	for i, x := range d.X {
		if x < -4 || x > 4 {
			t.Fatalf("x = %v", x)
		}
		e := d.Target[i] - x*x*x
		sum += e
		square += e * e
	}
	n := float64(d.N())
	if mean, sd := sum/n, math.Sqrt(square/n); math.Abs(mean) > 0.1 || math.Abs(sd-3) > 0.1 {
		t.Errorf("noise has mean %v and standard deviation %v, want 0 and 3", mean, sd)
	}
}

func TestConfigErrors(t *testing.T) {
	tests := []struct {
		field  string
		change func(*Config)
	}{
		{"Hidden", func(c *Config) { c.Hidden = nil }},
		{"Hidden", func(c *Config) { c.Hidden = []int{3, 0} }},
		{"Hidden", func(c *Config) { c.Hidden = []int{math.MaxInt} }},
		{"Hidden", func(c *Config) { c.Hidden = []int{1 << 20, 1 << 44} }},
		{"Activation", func(c *Config) { c.Activation = network.Activation{} }},
		{"Epochs", func(c *Config) { c.Epochs = -1 }},
		{"Batch", func(c *Config) { c.Batch = 0 }},
		{"LearningRate", func(c *Config) { c.LearningRate = 0 }},
		{"KLWeight", func(c *Config) { c.KLWeight = -1 }},
		{"PriorSD", func(c *Config) { c.PriorSD = math.NaN() }},
		{"InitSD", func(c *Config) { c.InitSD = math.Inf(1) }},
		{"Noise", func(c *Config) { c.Noise = 0 }},
		{"LearningRate", func(c *Config) { c.LearningRate, c.Noise = 1e9, 1e-9; c.PriorSD = 1e-9 }},
	}
	for _, test := range tests {
		c := small()
		test.change(&c)
		_, err := Run(t.Context(), Cubic(20, 1, 1), c)
		if e, ok := errors.AsType[*FieldError](err); !ok || e.Field != test.field {
			t.Errorf("%+v: error %v, want one of field %s", c, err, test.field)
		}
	}
}

func TestTask(t *testing.T) {
	for _, task := range []Task{Regression, Classification} {
		if got, err := ParseTask(task.String()); err != nil || got != task {
			t.Errorf("%v: got %v, %v", task, got, err)
		}
	}
	if _, err := ParseTask("ranking"); err == nil {
		t.Error("no error")
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := small()
	c.Epochs = 1 << 30
	c.Progress = func(epoch int, _ float64) {
		if epoch == 3 {
			cancel()
		}
	}
	if _, err := Run(ctx, Cubic(20, 1, 1), c); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}
