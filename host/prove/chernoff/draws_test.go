package chernoff

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/model/posterior"
	"psafe/host/prove/clbp"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// safeAt returns how many of n networks are in S at a point, drawn layer by layer: given the layer below,
// neurons are independent and normal. That is what makes 10^5 draws cheap; TestAgainstDraws draws weights.
func safeAt(r *rand.Rand, post *posterior.Posterior, x []float64, s *property.Safe, n int) (safe int) {
	layers := newChain(post)
	for range n {
		z := x
		for k, l := range append(slices.Clone(layers.hidden), layers.last) {
			next := make([]float64, l.out)
			for o := range next {
				m, v := l.bias[o], l.biasHi[o]
				for j, y := range z {
					m, v = m+l.mean[j*l.out+o]*y, v+l.squareHi[j*l.out+o]*y*y
				}
				if next[o] = m + math.Sqrt(v)*r.NormFloat64(); k < len(layers.hidden) {
					next[o] = l.act.Approx(next[o])
				}
			}
			z = next
		}
		if slices.ContainsFunc(s.Any, func(all []int) bool {
			return !slices.ContainsFunc(all, func(i int) bool {
				y := s.Rows[i].D
				for o, c := range s.Rows[i].CLo {
					y += c * z[o]
				}
				return y < 0
			})
		}) {
			safe++
		}
	}
	return safe
}

// TestManyDraws: of networks with one to four hidden layers at random points, classes and output boxes: neither p_lower
// nor p_upper is beyond what 10^5 draws allow.
func TestManyDraws(t *testing.T) {
	const draws = 100000
	r, cases := rand.New(rand.NewPCG(34, 11)), testscale.Cases(t, 30)
	if testscale.Deep(t) {
		cases = 1000
	}
	shapes := [][]int{{2, 5, 5, 4, 2}, {3, 9, 2}, {1, 6, 6, 1}, {2, 4, 4, 3, 3, 2}, {2, 8, 5, 3}, {1, 4, 4, 3, 1}}
	lower, upper := map[string]int{}, map[string]int{}
	for i := range cases {
		post, task := pointCase(r, 0, shapes[i%len(shapes)]...)
		if i%2 == 1 {
			others(r, post, &task)
		}
		x := task.T[0].Lo
		if post.Outputs() == 1 { // a regression: between two values
			y := post.LogitsApprox(x)[0]
			one, minus := []float64{1}, []float64{-1}
			task.S = property.Safe{Rows: []property.Row{{CLo: one, CHi: one, D: 2*r.Float64() - y, DHi: 0}, {CLo: minus, CHi: minus, D: 2*r.Float64() + y, DHi: 0}}, Any: [][]int{{0, 1}}}
			for k := range task.S.Rows {
				task.S.Rows[k].DHi = task.S.Rows[k].D
			}
		} else if i%4 == 3 {
			task.Label = (task.Label + 1) % post.Outputs()
			task.S = property.ArgmaxIs(task.Label, post.Outputs())
		}
		e := engineOf(t, post)
		results, err := Certify(t.Context(), e, []property.Task{task})
		var at []clbp.Attacked
		if err == nil {
			at, err = clbp.Uppers(t.Context(), e, results)
		}
		if err == nil {
			err = Uppers(t.Context(), e, at, results)
		}
		if err != nil {
			t.Fatal(err)
		}
		n := safeAt(r, post, x, &task.S, draws)
		most, least := probability.ClopperPearsonUp(n, draws, sure), probability.ClopperPearsonDown(n, draws, sure)
		if lo, hi := results[0].Lower(), results[0].Upper(); lo > most || hi < least {
			t.Errorf("case %d, %v: P_safe is in [%v, %v], drawn [%v, %v]", i, shapes[i%len(shapes)], lo, hi, least, most)
		}
		kind := post.Layers[0].Activation.Kind.String()
		lower[kind] += claimed(results[0].Lower() > 0.01)
		upper[kind] += claimed(results[0].Proof.Upper != nil && results[0].Proof.Upper.Method == Method)
	}
	t.Logf("%d cases, with a lower bound %v, with an upper one by moments %v", cases, lower, upper)
}

// others gives hidden layers other activations than ReLU, and the task the class that the point has then.
func others(r *rand.Rand, post *posterior.Posterior, task *property.Task) {
	for k := range post.Layers[:len(post.Layers)-1] {
		post.Layers[k].Activation = activations(r)
	}
	y := post.LogitsApprox(task.T[0].Lo)
	task.Label = slices.Index(y, slices.Max(y))
	task.S = property.ArgmaxIs(task.Label, len(y))
}

func claimed(is bool) int {
	if is {
		return 1
	}
	return 0
}
