package covary

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/relax"
)

// LinesUp bounds d'(k + Diag(delta)) d from above for every d that the chosen lines allow
// (docs/theory.md (92f)): d = sum_i s_i t_i, |s_i| <= 1, with a t_i for each input of the network
// and for each gap. With l l' at least the form and any w_i > 0, the square of l'd = sum_i s_i l't_i is at
// most sum_i w_i times the largest eigenvalue of sum_i (l't_i)(l't_i)'/w_i.
func (r *TopRow) LinesUp(c *relax.Chosen, radius []float64) float64 {
	var at []int
	for j, half := range c.Half {
		met := half != 0
		for k, a := range c.Slope[j] {
			met = met || a != 0 && radius[k] != 0
		}
		if met {
			at = append(at, j)
		}
	}
	n := len(at)
	if n < 2 || n > mostForm {
		return math.Inf(1)
	}
	root := r.rootOf(at)
	if root == nil {
		return math.Inf(1)
	}
	gram, sum, wrong := make([]float64, n*n), arith.Sum{}, arith.Sum{}
	long := make([]float64, n) // of the rows of the root
	for b, row := range root {
		var s arith.Sum
		for _, v := range row {
			s.Add(v, v)
		}
		long[b] = arith.SqrtUp(max(0, s.Hi()))
	}
	t, image, columns := make([]float64, n), make([]float64, n), 0
	add := func() {
		clear(image)
		most, norm, moves := 0.0, 0.0, false
		for b, x := range t {
			if x == 0 || long[b] == 0 {
				continue
			}
			moves = true
			for a, v := range root[b] {
				image[a] += float64(v * x)
			}
			most += float64(long[b] * math.Abs(x))
		}
		if !moves {
			return
		}
		for _, x := range image {
			norm += float64(x * x)
		}
		w := max(math.Sqrt(norm), math.Ldexp(most, -30), TopTiny)
		for a, x := range image {
			for b := range a + 1 {
				gram[a*n+b] += float64(float64(x/w) * image[b]) // w is above each |x|, nearly: nothing underflows that counts
			}
		}
		columns++
		sum.Plus(w)
		wrong.Add(arith.Up(most/w), most)
	}
	for k, wide := range radius {
		if wide == 0 {
			continue
		}
		for b, j := range at {
			t[b] = float64(c.Slope[j][k] * wide)
		}
		add()
	}
	for b, j := range at {
		clear(t)
		t[b] = c.Half[j]
		add()
	}
	for a := range n {
		for b := range a {
			gram[b*n+a] = gram[a*n+b]
		}
	}
	// Images are off by at most loose(n) most, and an entry of gram by that twice, and as its own sum is.
	entry := arith.Up(arith.Up(max(0, wrong.Hi())*(4*Loose(2*n+columns))) + TopTiny)
	y := make([]float64, n)
	most := powers(gram, n)
	for a := range y {
		y[a] = most
	}
	more, found := missing(gram, y)
	up := arith.ProductUp(max(0, sum.Hi()), arith.SumUp(arith.SumUp(most, more), arith.ProductUp(float64(n), entry)))
	if !found || !(up <= math.MaxFloat64) {
		return math.Inf(1)
	}
	return up
}

// rootOf is a lower triangle l with l l' >= k + Diag(delta) on some coordinates; nil if none is found. The
// triangle that elimination leaves is off as missing says.
func (r *TopRow) rootOf(at []int) [][]float64 {
	n, trace := len(at), 0.0
	m, none := make([]float64, n*n), make([]float64, n)
	for a, i := range at {
		for b, j := range at {
			m[a*n+b] = -r.K[i*r.N+j]
		}
		m[a*n+a] = -arith.SumUp(r.K[i*r.N+i], r.Delta[i])
		trace += math.Abs(m[a*n+a])
	}
	if !(trace <= 0x1p500) { // what underflows before it is multiplied by the root is below TopTiny
		return nil
	}
	charge := arith.Up(float64(n+16) * 0x1p-52 * float64(n+2) * trace)
	for share := -40; share <= -12; share += 4 {
		if l := triangle(m, none, arith.Up(math.Ldexp(trace, share)+charge)+TopTiny); l != nil {
			return l
		}
	}
	return nil
}

// powers is about the largest eigenvalue of a positive semidefinite matrix, or a little more: the root of the
// largest ratio of lengths that repeated products leave.
func powers(m []float64, n int) float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1 / float64(n+i)
	}
	ratio := 0.0
	for range 160 {
		w, was, is := make([]float64, n), 0.0, 0.0
		for i := range w {
			for j, x := range v {
				w[i] += m[i*n+j] * x
			}
			was += v[i] * v[i]
			is += w[i] * w[i]
		}
		if !(is > 0) {
			break
		}
		ratio = math.Sqrt(is / was)
		for i := range w {
			w[i] /= math.Sqrt(is)
		}
		v = w
	}
	return ratio * (1 + 0x1p-11)
}
