package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/prove/loop"
	"psafe/host/read/plant"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// example is a job of the example in testdata.
func example(t testing.TB) *Job {
	folder := filepath.Join("..", "..", "..", "testdata")
	return &Job{Plant: filepath.Join(folder, "loop.yaml"), Certify: certify.Job{
		Posterior: certify.Posterior{Path: filepath.Join(folder, "loop-2-16-1.npz")},
		Out:       certify.Output{Path: filepath.Join(t.TempDir(), "loop.json"), OmitTiming: true},
		Open: func(p bound.Precision) (*certify.Devices, error) {
			return &certify.Devices{List: []bound.Device{fallback.New(p)}}, nil
		},
	}}
}

// small is a job of 100 cells with the same network.
func small(t testing.TB) *Job {
	j := example(t)
	j.Plant = filepath.Join(t.TempDir(), "small.yaml")
	text := `state: {x: {range: [-1, 1], cells: 10}, v: {range: [-1, 1], cells: 10}}
network: {inputs: [x, v], outputs: [u]}
next: {x: 0.5*x, v: "0.5*v + 0.1*clip(u, -1, 1)"}
start: [-0.5 <= x <= 0.5, -0.5 <= v <= 0.5]
safe: [-1 <= x <= 1, -1 <= v <= 1]
semantics: once
`
	if err := os.WriteFile(j.Plant, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return j
}

// leaves reports whether a trajectory of a network leaves the safe set of the example, with the noise at random or at an end.
func leaves(post *posterior.Posterior, w [][]float64, steps int, x, v, noise float64) bool {
	pass := post.Network().NewPass(w)
	for k := range steps {
		if x < -1 || x > 1 || v < -1 || v > 1 {
			return true
		}
		u := min(max(pass.Forward([]float64{x, v})[0], -1), 1)
		gust := noise
		if k/7%2 == 0 {
			gust = -noise
		}
		x, v = x+0.1*v, v+0.03*x+0.3*u+gust
	}
	return false
}

// TestExample: what is proved of the example holds for networks that are drawn, simulated from the rim of the start set.
func TestExample(t *testing.T) {
	j := example(t)
	r, err := j.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r.PLower < 0.9999 || r.Certified > r.Grid/2 || r.Used != r.Certified {
		t.Errorf("%+v", r)
	}
	post, err := j.Certify.Posterior.Read()
	if err != nil {
		t.Fatal(err)
	}
	w := post.NewWeights()
	for i := range testscale.Cases(t, 1000) {
		post.Draw(5, i, w)
		for k := range 8 {
			x, v := 0.25*float64(k%3-1), 0.25*float64(k/3-1)
			if leaves(post, w, 300, x, v, 0.002) {
				t.Fatalf("network %d leaves from %v, %v, with %v proved", i, x, v, r.PLower)
			}
		}
	}
}

// TestProperties: the property file says of each cell what was planned, all numbers exactly; a box that is smaller than its
// cell, or a wider safe set, is not taken.
func TestProperties(t *testing.T) {
	j := small(t)
	if _, err := j.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	p, err := plant.Read(j.Plant)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := property.ReadFile(j.Certify.Out.Path+CellsSuffix, 1)
	if err != nil {
		t.Fatal(err)
	}
	at := make([]int, 2)
	for i := range tasks {
		task := &tasks[i]
		number, ok := p.CellOf(task.Name)
		if p.Cell(number, at); !ok {
			t.Fatalf("%s is no cell", task.Name)
		}
		for k, e := range [][]float64{p.State[0].Edges, p.State[1].Edges} {
			if b := task.T[0]; b.Lo[k] != e[at[k]] || b.Hi[k] != e[at[k]+1] {
				t.Fatalf("%s has the box %v", task.Name, b)
			}
		}
		out := boxOf(task)
		if !isAbout(p, task, at, out) {
			t.Fatalf("%s is not about its cell", task.Name)
		}
		narrow := boxOf(task)
		narrow[0].Hi -= 0x1p-40
		if isAbout(p, task, at, narrow) {
			t.Fatalf("%s: a narrower box of outputs is taken", task.Name)
		}
		task.T[0].Hi[1] -= 0x1p-40
		if isAbout(p, task, at, out) {
			t.Fatalf("%s: a smaller box of inputs is taken", task.Name)
		}
	}
}

// TestResumeLoop: what is there is refused, or gone on with to the same bytes.
func TestResumeLoop(t *testing.T) {
	j := small(t)
	if _, err := j.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(j.Certify.Out.Path)
	if _, err := j.Run(context.Background()); err == nil {
		t.Error("a result is replaced")
	}
	j.Certify.Out.Resume = true
	for _, gone := range []string{"", RecordsSuffix} {
		if err := os.Remove(j.Certify.Out.Path + gone); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if after, _ := os.ReadFile(j.Certify.Out.Path); string(after) != string(before) {
			t.Errorf("the result is another: %s", after)
		}
	}
}

// TestDrawn: of a loop that every network leaves nothing is proved, drawn networks say how many leave and from where, and
// contradict what would be proved of it.
func TestDrawn(t *testing.T) {
	j := small(t)
	text, _ := os.ReadFile(j.Plant)
	for _, semantics := range []string{"once", "each-step\nsteps: 9"} {
		away := strings.Replace(strings.Replace(string(text), "0.5*x", "2*x - 0.2", 1), "once", semantics, 1)
		if err := os.WriteFile(j.Plant, []byte(away), 0o666); err != nil {
			t.Fatal(err)
		}
		j.Draws, j.Confidence, j.Seed, j.Certify.Out.Overwrite = 20, 0.9, 7, true
		told := 0
		j.Drawing = func(done, total int) {
			if told += 1; done != told-1 || total != 20 {
				t.Errorf("%d of %d networks, the %dth word", done, total, told)
			}
		}
		r, err := j.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		s := r.Statistical
		if r.PLower != 0 || s == nil || s.Unsafe != 20 || s.Samples != 20 || s.Upper > 0.2 || s.Lower != 0 || r.Seed != 7 || len(r.Left) == 0 {
			t.Fatalf("%s: %+v, %+v", semantics, r, s)
		}
		if j.Drawing = nil; told != 21 {
			t.Errorf("%d words of drawn networks", told)
		}
		p, err := ReadPicture(j.Certify.Out.Path)
		if err != nil || len(p.Left) != len(r.Left) {
			t.Errorf("%v: the picture has %v", err, p)
		}
		post, err := j.Certify.Posterior.Read()
		if err != nil {
			t.Fatal(err)
		}
		plant, err := plant.Read(j.Plant)
		if err != nil {
			t.Fatal(err)
		}
		j.Drawing = func(int, int) {}
		if err := j.draw(context.Background(), &Result{PLower: 0.9, Steps: plant.Steps}, loop.New(plant), post); err == nil || !strings.Contains(err.Error(), "contradict") {
			t.Errorf("%s: 0.9 is proved, and 20 of 20 networks leave: %v", semantics, err)
		}
	}
	for _, change := range []func(){func() { j.Draws = -1 }, func() { j.Draws = 1_000_001 }, func() { j.Draws, j.Confidence = 9, 1 }} {
		j.Draws, j.Confidence = 9, 0.9
		if change(); j.refuse([2]string{}) == nil {
			t.Errorf("%d draws, confidence %v", j.Draws, j.Confidence)
		}
	}
	// Where no start is found to try, nothing is said of networks.
	if err := os.WriteFile(j.Plant, []byte(strings.Replace(string(text), "-0.5 <= v <= 0.5", "-0.5 <= v <= 0.5, x + v <= -1, x + v >= -1", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	j.Draws, j.Confidence = 9, 0.9
	p, err := plant.Read(j.Plant)
	if err != nil {
		t.Fatal(err)
	}
	post, err := j.Certify.Posterior.Read()
	if err != nil {
		t.Fatal(err)
	}
	if r := new(Result); j.draw(context.Background(), r, loop.New(p), post) != nil || r.Statistical != nil {
		t.Errorf("%+v", r.Statistical)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	j.Draws, j.Confidence = 0, 0.9
	if _, err := j.Run(ended); err == nil {
		t.Error("a job goes on after its end")
	}
}
