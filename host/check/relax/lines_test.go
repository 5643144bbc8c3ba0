package relax

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// tiny is a small random question: weight boxes around means, an input box and rows.
type tiny struct {
	net  Network
	x    property.Box
	rows []property.Row
}

// randomTiny draws one; with exact, all numbers have few bits, so that rationals stay small.
func randomTiny(rng *rand.Rand, acts []net.Activation) tiny {
	number := func(size float64) float64 { return math.Round(rng.NormFloat64()*size*256) / 256 }
	interval := func(size float64) (lo, hi float64) {
		lo = number(size)
		switch rng.IntN(4) {
		case 0:
			return lo, lo
		case 1:
			lo = 0
		}
		return lo, lo + math.Abs(number(size/4))
	}
	var t tiny
	widths := []int{1 + rng.IntN(3)}
	for range 1 + rng.IntN(3) {
		widths = append(widths, 1+rng.IntN(4))
	}
	for k := range len(widths) - 1 {
		l := Layer{In: widths[k], Out: widths[k+1], Act: acts[rng.IntN(len(acts))]}
		if k == len(widths)-2 {
			l.Act = net.Activation{}
		}
		l.W, l.B = NewSpan(l.In*l.Out), NewSpan(l.Out)
		for i := range l.W.Lo {
			l.W.Lo[i], l.W.Hi[i] = interval(1)
		}
		for i := range l.B.Lo {
			l.B.Lo[i], l.B.Hi[i] = interval(0.5)
		}
		t.net.Layers = append(t.net.Layers, l)
	}
	for range widths[0] {
		lo, hi := interval(1)
		t.x.Lo, t.x.Hi = append(t.x.Lo, lo), append(t.x.Hi, hi)
	}
	for range 1 + rng.IntN(2) {
		r := property.Row{D: number(0.5)}
		r.DHi = r.D
		for range widths[len(widths)-1] {
			lo, hi := interval(1)
			r.CLo, r.CHi = append(r.CLo, lo), append(r.CHi, hi)
		}
		t.rows = append(t.rows, r)
	}
	return t
}

// drawn evaluates the rows at a network and an input of t, drawn at random, exactly but for
// curved activations.
func (t *tiny) drawn(rng *rand.Rand) (rows []*big.Rat) {
	var z []*big.Rat
	for j := range t.x.Lo {
		z = append(z, checktest.Exactly(checktest.In(rng, t.x.Lo[j], t.x.Hi[j])))
	}
	for k := range t.net.Layers {
		l := &t.net.Layers[k]
		next := make([]*big.Rat, l.Out)
		for i := range next {
			next[i] = checktest.Exactly(checktest.In(rng, l.B.Lo[i], l.B.Hi[i]))
			for j := range z {
				w := checktest.Exactly(checktest.In(rng, l.W.Lo[j*l.Out+i], l.W.Hi[j*l.Out+i]))
				next[i].Add(next[i], w.Mul(w, z[j]))
			}
			next[i] = checktest.ValueOf(l.Act, next[i])
		}
		z = next
	}
	for _, r := range t.rows {
		v := checktest.Exactly(r.D)
		for i := range z {
			c := checktest.Exactly(checktest.In(rng, r.CLo[i], r.CHi[i]))
			v.Add(v, c.Mul(c, z[i]))
		}
		rows = append(rows, v)
	}
	return rows
}

// TestRowsLo draws networks and inputs inside of the boxes: no row may be below its bound.
func TestRowsLo(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := range testscale.Cases(t, 3000) {
		acts, slack := checktest.Activations[:3], new(big.Rat)
		if n%2 == 0 {
			acts, slack = checktest.Activations, checktest.Exactly(1e-12) // values of curves are float64
		}
		q := randomTiny(rng, acts)
		for _, kind := range []struct {
			lines bool
			try   uint64
		}{{false, 0}, {true, 0}, {true, 1}} {
			q.net.Lines, q.net.By.Try = kind.lines, kind.try
			lo := q.net.RowsLo(q.x, q.rows)
			for range 15 {
				for r, v := range q.drawn(rng) {
					if v.Add(v, slack); math.IsNaN(lo[r]) || checktest.Exactly(lo[r]).Cmp(v) > 0 {
						f, _ := v.Float64()
						t.Fatalf("case %d %+v: row %d is %v at a point, its bound %v", n, kind, r, f, lo[r])
					}
				}
			}
		}
	}
}

// TestRowsLoExact: with points for weights and inputs, bounds are the values, but for the
// last bits.
func TestRowsLoExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range testscale.Cases(t, 500) {
		q := randomTiny(rng, checktest.Activations)
		for k := range q.net.Layers {
			l := &q.net.Layers[k]
			l.W.Hi, l.B.Hi = l.W.Lo, l.B.Lo
		}
		q.x.Hi = q.x.Lo
		for r := range q.rows {
			q.rows[r].CHi = q.rows[r].CLo
		}
		q.net.Lines = rng.IntN(2) == 0
		lo := q.net.RowsLo(q.x, q.rows)
		for r, v := range q.drawn(rng) {
			want, _ := v.Float64()
			if !(math.Abs(lo[r]-want) <= 1e-12*(1+math.Abs(want))) {
				t.Fatalf("row %d at a point is %v, bound %v", r, want, lo[r])
			}
		}
	}
}

// propagated are the bounds that package bound gives for a posterior's centred box.
func propagated(t *testing.T, post *posterior.Posterior, p bound.Precision, method bound.Propagation, gamma float64, x property.Box, rows []property.Row) ([]float64, bound.Explicit) {
	t.Helper()
	return propagatedTo(t, 0, post, p, method, gamma, x, rows)
}

// propagatedTo is propagated with rows of a depth.
func propagatedTo(t *testing.T, depth int, post *posterior.Posterior, p bound.Precision, method bound.Propagation, gamma float64, x property.Box, rows []property.Row) ([]float64, bound.Explicit) {
	t.Helper()
	dev := fallback.New(p)
	m, err := bound.NewModelOfDepth(dev, post, 12, depth)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	spec := bound.BoxSpec{}
	for range post.Layers {
		spec.Gamma = append(spec.Gamma, []float64{p.Nearest(gamma)})
	}
	box, err := bound.HostBox(post, p, spec, 0)
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := m.Upload([]bound.Explicit{box})
	if err != nil {
		t.Fatal(err)
	}
	defer m.ReleaseBoxes(boxes)
	in, err := m.UploadInputs([]property.Box{x})
	if err != nil {
		t.Fatal(err)
	}
	defer m.ReleaseInputs(in)
	set, err := m.UploadRows([][]property.Row{rows})
	if err != nil {
		t.Fatal(err)
	}
	defer m.ReleaseRows(set)
	margins, err := m.Propagate(bound.Query{Propagation: method, Boxes: boxes, Inputs: in, Rows: set, Batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return margins.Lo(0)[:len(rows)], box
}

// explicit is the checker's network with the weights of a box.
func explicit(post *posterior.Posterior, box bound.Explicit) Network {
	var n Network
	for k, l := range post.Layers {
		n.Layers = append(n.Layers, Layer{In: l.Inputs(), Out: l.Outputs(), Act: l.Activation,
			W: Span{box.Lo[2*k], box.Hi[2*k]}, B: Span{box.Lo[2*k+1], box.Hi[2*k+1]}})
	}
	return n
}

// TestRowsLoAgainstBound: what certify proves of a box, the checker proves too.
func TestRowsLoAgainstBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	below := 0
	cases := testscale.Cases(t, 200)
	for range cases {
		act := checktest.Activations[rng.IntN(len(checktest.Activations))]
		post := checktest.Gaussian(rng, act, 2+rng.IntN(30), 2+rng.IntN(40), 2+rng.IntN(40), 3)
		var x property.Box
		eps := math.Exp(-6 * rng.Float64())
		for range post.Inputs() {
			v := rng.NormFloat64()
			x.Lo, x.Hi = append(x.Lo, v-eps), append(x.Hi, v+eps)
		}
		rows := property.ArgmaxIs(rng.IntN(3), 3).Rows
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, m := range []bound.Propagation{bound.IBP, bound.LBP} {
				want, box := propagated(t, post, p, m, 3*rng.Float64(), x, rows)
				n := explicit(post, box)
				n.Lines = m == bound.LBP
				got := n.RowsLo(x, rows)
				for r := range rows {
					if got[r] >= want[r] {
						continue
					}
					below++
					for n.By.Try = 1; got[r] < want[r] && n.By.Try < 32; n.By.Try++ {
						again := n.RowsLo(x, rows)
						got[r] = max(got[r], again[r])
					}
					if got[r] < want[r] {
						t.Errorf("%v %v %v: row %d: certify has %v, check %v", act, p, m, r, want[r], got[r])
					}
				}
			}
		}
	}
	t.Logf("%d of %d rows needed another try", below, cases*8)
}
