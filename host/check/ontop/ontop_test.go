package ontop

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/relax"
	"psafe/host/prove/ontop"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestTopAsCertify: of what certify and check are told alike of a cell, they say the same of a row, up to
// the hundredth of a form that certify adds; certify never less. Rows are put together as alternatives.
func TestTopAsCertify(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 4))
	told, met := 0, 0
	for i := range testscale.Cases(t, 600) {
		const in, out = 2, 3
		n := 1 + rng.IntN(5)
		post := sumtest.RandomOnTop(rng, checktest.Activations[0], []float64{0.1, 0.5}[rng.IntN(2)], in, n, out)
		top, err := ontop.New(post)
		if err != nil {
			t.Fatal(err)
		}
		pass := &TopPass{Topped: NewTopped(post), radius: make([]float64, in), inputs: make([]relax.Slopes, n)}
		lines := &bound.InputLines{Items: 1, Rows: 2 * n, In: in, Lo: make([]float64, 2*n), ALo: make([]float64, in*2*n)}
		var box property.Box
		for k := range pass.radius {
			lo := float64(rng.IntN(32)) / 64
			pass.radius[k] = float64(rng.IntN(4)) / 32 * float64(i%3)
			box.Lo, box.Hi = append(box.Lo, lo), append(box.Hi, lo+2*pass.radius[k])
		}
		for j := range pass.inputs {
			s := &pass.inputs[j]
			s.Lo = 2*rng.NormFloat64() - 1
			s.Lower, s.Hi = s.Lo, s.Lo
			for k, radius := range pass.radius {
				below := rng.NormFloat64()
				above := below + 0.2*rng.NormFloat64()
				s.Below, s.Above = append(s.Below, below), append(s.Above, above)
				s.Lower, s.Hi = s.Lower+math.Abs(below)*radius, s.Hi+(math.Abs(below)+math.Abs(above)+0.2)*radius
				lines.ALo[k*2*n+j], lines.ALo[k*2*n+n+j] = below, -above
			}
			s.Upper = s.Hi
			for k, radius := range pass.radius {
				s.Upper -= math.Abs(s.Above[k]) * radius
			}
			lines.Lo[j], lines.Lo[n+j] = s.Lo, -s.Hi
		}
		lines.AHi = lines.ALo
		cell := ontop.NewCell(lines, 0, n, box, bound.Float64)
		s := property.Safe{Any: [][]int{{0, 1}, {2}}}
		for range 3 {
			c := make([]float64, out)
			for o := range c {
				c[o] = rng.NormFloat64()
			}
			d := 2 * rng.NormFloat64()
			s.Rows = append(s.Rows, property.Row{CLo: c, CHi: c, D: d, DHi: d})
		}
		for _, once := range []bool{false, true} {
			var tails []float64
			for r := range s.Rows {
				want, got := top.Row(&s.Rows[r]).TailUp(cell, once), min(1, pass.tailUp(&s.Rows[r], once))
				tails = append(tails, got)
				if got > want*(1+1e-14) || want == 1 && got < 1-1e-13 && math.Abs(got-0.5) > 1e-6 {
					t.Errorf("%d %s: %v, certify says %v", i, post.Describe(), got, want)
				}
				if got > 1e-12 && want < 1 {
					if told++; want > 0.5 {
						met++
					}
					// The tail of a quotient that is off by a share of 1/80; beside 1 a tail has no such digits.
					if z, zWant := quotientApprox(got), quotientApprox(want); want < 1-1e-9 && math.Abs(z-zWant) > math.Abs(zWant)/80+1e-9 {
						t.Errorf("%d %s: %v, certify says %v", i, post.Describe(), got, want)
					}
				}
			}
			want, got := min(1, tails[0]+tails[1], tails[2]), pass.CellFailUp(&s)
			if once {
				want, got = min(1, min(tails[0], tails[1])+tails[2]), pass.HoldsUp(&s)
			}
			if got < want || got > want*(1+1e-15)+1e-300 {
				t.Errorf("%d: %v of tails %v, want %v", i, got, tails, want)
			}
		}
	}
	if told == 0 || met == 0 {
		t.Errorf("%d tails were compared, %d of them at points: nothing was tested", told, met)
	}
}

// quotientApprox is about the z of which p is the tail.
func quotientApprox(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*p) }

// TestTopLaw: at a point no law of a row says that it is small less often than drawn networks do, and the law
// is near that.
func TestTopLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 24))
	const draws = 1000
	for i := range 24 {
		post := sumtest.RandomOnTop(rng, checktest.Activations[0], 0.4, 2, 5, 2)
		x := []float64{rng.NormFloat64(), rng.NormFloat64()}
		law := NewTopPass(NewTopped(post), meansOf(t, post), property.Box{Lo: x, Hi: x}).law(&property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}})
		var rows []float64
		w := post.NewWeights()
		for d := range draws {
			post.Draw(uint64(i), d, w)
			y := post.Network().OutputsApprox(w, x)
			rows = append(rows, y[0]-y[1])
		}
		for k := 0; k < len(law.At); k += 4 {
			below, near := 0.0, 0.0
			for _, y := range rows {
				if y < law.At[k]-1e-9 {
					below += 1.0 / draws
				}
				if y < law.At[k]+1e-9+0.02*math.Abs(law.At[0]-law.At[len(law.At)-1]) {
					near += 1.0 / draws
				}
			}
			off := 5*math.Sqrt(below*(1-below)/draws) + 5.0/draws
			if below > law.Below[k]+off || law.Below[k] > near+off && law.Below[k] != 0.5 {
				t.Errorf("%d %s: %v below %v, drawn are %v", i, post.Describe(), law.Below[k], law.At[k], below)
			}
		}
	}
}
