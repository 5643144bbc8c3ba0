package bound_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// lockstepSizes is how wide the layers of lockstepCase are.
var lockstepSizes = []int{3, 9, 5, 4, 3}

// lockstepPosterior is a chain of ReLU, of which some weights are 0, and at times some so large that sums overflow.
func lockstepPosterior(r *rand.Rand, large bool) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	certain := func(n int) posterior.Params {
		mean := make([]float64, n)
		for i := range mean {
			switch mean[i] = r.NormFloat64(); {
			case r.IntN(6) == 0:
				mean[i] = 0
			case large && r.IntN(4) == 0:
				mean[i] *= 0x1p60
			}
		}
		return posterior.NewParams(mean, make([]float64, n), posterior.ScaleSD)
	}
	for k, n := range lockstepSizes[1:] {
		a := network.Activation{Kind: network.ReLU}
		if k == len(lockstepSizes)-2 {
			a = network.Activation{}
		}
		in := lockstepSizes[k]
		post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(in, n, a), Weight: certain(in * n), Bias: certain(n)})
	}
	return post
}

// TestTogether: whatever searches ask beside others, and whichever of them, they are told what each is alone, bit for bit:
// hidden layers and the last, blocks that are full and not, with phases and without, mixtures, noise at some layers,
// inputs that are never negative, sums that overflow.
func TestTogether(t *testing.T) {
	for seed := range testscale.Cases(t, 100) {
		large := seed%5 == 4
		post := lockstepPosterior(rand.New(rand.NewPCG(uint64(seed), 71)), large)
		prec := bound.Precision(seed % 2)
		m, err := bound.NewModel(fallback.New(prec), post, 1)
		if err != nil {
			t.Fatal(err)
		}
		boxes, err := m.Upload([]bound.Explicit{bound.Enclose(post.Mean(), prec)})
		if err != nil {
			t.Fatal(err)
		}
		n := []int{2, 3, 7, 12}[seed/2%4]
		alike := seed%3 == 0 // all ask for the same at the same time
		search := func(i int, turn *bound.Turn) []any {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			if alike {
				r = rand.New(rand.NewPCG(uint64(seed), 0))
			}
			return lockstepSearch(t, r, m, boxes, turn)
		}
		got := make([][]any, n)
		m.Together(n, func(i int, turn *bound.Turn) { got[i] = search(i, turn) })
		for i := range n {
			want := search(i, nil)
			for k := range want {
				if a, b := bits(got[i][k]), bits(want[k]); a != b {
					t.Fatalf("case %d: answer %d of search %d of %d is %s beside others, %s alone", seed, k, i, n, a, b)
				}
			}
		}
		m.ReleaseBoxes(boxes)
		m.Release()
	}
}

func bits(v any) string {
	if list, is := v.([]float64); is {
		s := ""
		for _, x := range list {
			if x != x {
				x = math.NaN()
			}
			s += fmt.Sprintf("%x ", math.Float64bits(x))
		}
		return s
	}
	return fmt.Sprint(reflect.ValueOf(v))
}

// lockstepSearch is all that a search has been told.
func lockstepSearch(t *testing.T, r *rand.Rand, m *bound.Model, boxes *bound.Boxes, turn *bound.Turn) (told []any) {
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	box, nonNeg := property.Box{}, r.IntN(2) == 0
	for range lockstepSizes[0] {
		x := float64(float32(r.NormFloat64()))
		if nonNeg {
			x = math.Abs(x)
		}
		box.Lo, box.Hi = append(box.Lo, x), append(box.Hi, float64(float32(x+r.Float64())))
	}
	var in *bound.Inputs
	var rows *bound.Rows
	safe := property.ArgmaxIs(r.IntN(3), 3).Rows
	check(turn.Do(func() (err error) {
		if in, err = m.UploadInputs([]property.Box{box}); err == nil {
			rows, err = m.UploadRows([][]property.Row{safe})
		}
		return err
	}))
	defer turn.Always(func() { m.ReleaseInputs(in); m.ReleaseRows(rows) })
	s := m.NewSplits(boxes, in, rows)
	s.InTurn(turn)
	defer s.Release()
	list := func(n int, f func() float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(float32(f()))
		}
		return v
	}
	ask := func(k int) {
		q := &bound.SplitQuery{Layer: k, WantRows: r.IntN(2) == 0}
		last := k == len(lockstepSizes)-2
		rowsOf := func() {
			q.Rows = nil
			n := 1 + r.IntN(33)
			for range n {
				if last {
					q.Rows = append(q.Rows, r.IntN(len(safe)))
				} else {
					q.Rows = append(q.Rows, r.IntN(lockstepSizes[k+1]))
				}
			}
			if !last {
				for _, i := range q.Rows[:n:n] {
					q.Rows = append(q.Rows, i+lockstepSizes[k+1])
				}
			}
		}
		rowsOf()
		if last && r.IntN(3) == 0 {
			for range q.Rows {
				q.Theta = append(q.Theta, list(len(safe), func() float64 { return max(0, r.NormFloat64()) }))
			}
		}
		phases := r.IntN(2) == 0
		for l := range k {
			n := lockstepSizes[l+1] * len(q.Rows)
			q.Slope = append(q.Slope, list(n, func() float64 { return 1.2*r.Float64() - 0.1 }))
			if phases {
				q.Phase = append(q.Phase, list(n, func() float64 { return float64(r.IntN(3) - 1) }))
				q.Beta = append(q.Beta, list(n, func() float64 { return r.NormFloat64() }))
			}
		}
		for range 1 + r.IntN(2) { // an ascent asks for the same rows again
			answer, err := s.Bound(q)
			check(err)
			told = append(told, append([]float64(nil), answer.Bound...))
			for _, of := range answer.S {
				told = append(told, of)
			}
			if !phases && !last {
				check(s.TightenTo(k, q.Rows, list(len(q.Rows), func() float64 { return -3 * r.Float64() })))
			}
		}
	}
	for k := range lockstepSizes[2:] {
		if r.IntN(2) == 0 {
			check(s.Allow(list(lockstepSizes[k+1], func() float64 { return r.Float64() / 8 })))
		}
		lo, hi, err := s.Next()
		check(err)
		told = append(told, append([]float64(nil), lo...), append([]float64(nil), hi...))
		for k > 0 && r.IntN(2) == 0 {
			ask(k)
		}
		if r.IntN(2) == 0 {
			check(s.TightenTo(k, []int{r.IntN(lockstepSizes[k+1])}, []float64{float64(float32(r.NormFloat64()))}))
		}
		columns := 1 + r.IntN(5)
		z, err := s.ForwardApprox(k, list(lockstepSizes[k]*columns, r.NormFloat64), list(lockstepSizes[k+1]*columns, r.NormFloat64), columns)
		check(err)
		told = append(told, z)
	}
	if r.IntN(2) == 0 {
		check(s.Allow(list(len(safe), func() float64 { return r.Float64() / 8 })))
	}
	for range 4 {
		ask(len(lockstepSizes) - 2)
		if r.IntN(2) == 0 {
			k := r.IntN(len(lockstepSizes) - 2)
			check(s.TightenTo(k, []int{r.IntN(lockstepSizes[k+1])}, []float64{float64(float32(r.NormFloat64()))}))
		}
		v, err := s.RowsApprox(list(lockstepSizes[len(lockstepSizes)-2]*3, r.NormFloat64), 3)
		check(err)
		told = append(told, v)
	}
	return told
}
