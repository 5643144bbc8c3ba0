package clbp

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/provetest"
)

// bounded returns what Certify and Uppers say on a device; between is called between them.
func bounded(t *testing.T, dev bound.Device, post *posterior.Posterior, tasks []property.Task, between func()) (*engine.Engine, []*claim.Result) {
	t.Helper()
	e, err := engine.New(dev, nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	list, err := Certify(t.Context(), e, 0, tasks)
	between()
	if err == nil {
		_, err = Uppers(t.Context(), e, list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e, list
}

// TestUpperWhereUnsafe: upper bounds are what they are if they are looked for everywhere. Where the
// mean network is safe there is none, whatever the deviations, and only one such point is bounded; of
// what is proved with almost all probability one point alone is looked for.
func TestUpperWhereUnsafe(t *testing.T) {
	safe, unsafe, skipped := 0, 0, 0
	for _, sd := range []float64{1e-6, 0.01, 0.3} {
		post, tasks := provetest.Deep(2, sd, 8)
		for i := range tasks {
			if i%2 == 1 { // another class, which the mean network does not choose
				tasks[i].S = property.ArgmaxIs((tasks[i].Label+i)%6, 6)
			}
		}
		counted := &counting{Device: fallback.New(bound.Float64)}
		e, list := bounded(t, counted, post, tasks, func() { counted.merged = 0 })
		all, needed := counted.merged, 1
		at, err := witnesses(t.Context(), e, list)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range at {
			if w.Box.Lo == nil {
				if skipped++; !(list[i].Lower() > almostOne) {
					t.Errorf("deviation %v, task %d: p_lower is %v, and nothing is attacked", sd, i, list[i].Lower())
				}
				w.Point, w.Box, w.MarginApprox = decide.Witness(t.Context(), post.Network(), post.Mean(), &tasks[i], true, true)
			}
			c := &cell{task: decide.Negated(&tasks[i]), box: w.Box, fail: 1, dual: true}
			counted.merged = 0
			if err := (method{e: e}).judge(t.Context(), []*cell{c}); err != nil {
				t.Fatal(err)
			}
			switch {
			case w.MarginApprox > 0:
				safe++
			case c.fail < 0.5:
				unsafe++
				fallthrough
			default:
				needed += counted.merged
			}
			if up := list[i].Upper(); w.MarginApprox > 0 && c.fail < 1 || up < c.fail-1e-12 || up > c.fail+1e-12 {
				t.Errorf("deviation %v, task %d: p_upper %v, %v if it is looked for; the mean network's margin is %v", sd, i, up, c.fail, w.MarginApprox)
			}
		}
		if all > needed {
			t.Errorf("deviation %v: %d items were bounded, %d are needed", sd, all, needed)
		}
	}
	if safe < 8 || unsafe < 4 || skipped == 0 {
		t.Errorf("%d safe and %d unsafe points, %d of them not attacked, test little", safe, unsafe, skipped)
	}
}

// lifting is a device that reads large numbers in the place of negative ones.
type lifting struct{ bound.Device }

func (d lifting) Read(dst []float64, src bound.Array) error {
	err := d.Device.Read(dst, src)
	for i, x := range dst {
		if x < 0 {
			dst[i] = 1e4
		}
	}
	return err
}

// TestLiarWhereSafe: a device that proves S and its opposite is found also where all mean networks
// are safe.
func TestLiarWhereSafe(t *testing.T) {
	post, tasks := provetest.Deep(3, 0.003, 1)
	e, list := bounded(t, lifting{fallback.New(bound.Float32)}, post, tasks, func() {})
	at, err := witnesses(t.Context(), e, list)
	if err != nil || !(at[0].MarginApprox > 0) {
		t.Fatalf("%+v, %v", at, err)
	}
	if r := list[0]; r.Lower() <= r.Upper() {
		t.Errorf("%v <= %v: nothing contradicts itself", r.Lower(), r.Upper())
	}
}

// TestRestarts: an attack on what is proved with almost all probability has no restarts, and any
// other has.
func TestRestarts(t *testing.T) {
	post := convtest.Random(rand.New(rand.NewPCG(30, 7)), convtest.Shape{Blocks: 3, Spread: 0.01, Outputs: 3, Side: 6})
	var tasks []property.Task
	for seed := range uint64(4) {
		x := convtest.Picture(seed, network.Image{Height: 1, Width: post.Inputs(), Channels: 1})
		tasks = append(tasks, convtest.KeepsClass(post, x, 0.25, int(seed)%3))
	}
	e, list := bounded(t, fallback.New(bound.Float64), post, tasks, func() {})
	differ := 0
	for _, p := range []float64{0, almostOne, 1 - 1e-7} {
		for _, r := range list {
			r.LogP, r.PLower = math.Inf(-1), p
		}
		at, err := witnesses(t.Context(), e, list)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range at {
			var margins [2]float64
			for k, restarts := range []bool{false, true} {
				_, _, margins[k] = decide.Witness(t.Context(), post.Network(), post.Mean(), &tasks[i], true, restarts)
			}
			if margins[0] != margins[1] {
				differ++
			}
			want := margins[1]
			if p > almostOne {
				want = margins[0]
			}
			if w.MarginApprox != want {
				t.Errorf("p_lower %v: margin %v, want %v of %v without and with restarts", p, w.MarginApprox, want, margins)
			}
		}
	}
	if differ == 0 {
		t.Error("restarts find nothing")
	}
}
