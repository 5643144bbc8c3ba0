package posterior

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
)

// shapes are the layers of a 3-4-2 network without numbers.
func shapes() []Layer {
	return []Layer{{Layer: network.DenseLayer(3, 4, network.Activation{Kind: network.Tanh})}, {Layer: network.DenseLayer(4, 2, network.Activation{})}}
}

// arraySizes are the lengths of the arrays of shapes.
var arraySizes = []int{12, 4, 8, 2}

// lists draws a list of n*size numbers per array of shapes.
func lists(r *rand.Rand, n int, f func() float64) [][]float64 {
	var all [][]float64
	for _, size := range arraySizes {
		list := make([]float64, n*size)
		for i := range list {
			list[i] = f()
		}
		all = append(all, list)
	}
	return all
}

func withMeans(lists [][]float64) []Layer {
	layers := shapes()
	for k := range layers {
		layers[k].Weight.Mean, layers[k].Bias.Mean = lists[2*k], lists[2*k+1]
	}
	return layers
}

// must gives p, which must be valid.
func must(t testing.TB, p *Posterior, err error) *Posterior {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func someSamples(t testing.TB) *Posterior {
	r := rand.New(rand.NewPCG(1, 2))
	p, err := FromFinite(shapes(), &Finite{Counts: []int64{3, 1, 1, 5}, Stack: lists(r, 4, r.NormFloat64)})
	return must(t, p, err)
}

func someSWAG(t testing.TB, scale Scale) *Posterior {
	r := rand.New(rand.NewPCG(3, 4))
	p, err := FromSWAG(withMeans(lists(r, 1, r.NormFloat64)), scale, lists(r, 1, r.ExpFloat64), 3, lists(r, 3, r.NormFloat64))
	return must(t, p, err)
}

func someDropout(t testing.TB) *Posterior {
	r := rand.New(rand.NewPCG(5, 6))
	p, err := FromDropout(withMeans(lists(r, 1, r.NormFloat64)), []float64{0.25, 0.7})
	return must(t, p, err)
}

// others are posteriors of every kind but KindGaussian.
func others(t testing.TB) map[Kind]*Posterior {
	return map[Kind]*Posterior{KindFinite: someSamples(t), KindSWAG: someSWAG(t, ScaleVariance), KindDropout: someDropout(t)}
}

func TestIndependent(t *testing.T) {
	if err := small(ScaleSD).RequireIndependent(); err != nil {
		t.Error(err)
	}
	for kind, want := range map[Kind]string{
		KindFinite:  "this posterior is a set of 4 samples, not independent normal weights: use --method finite or --method statistical",
		KindSWAG:    "this posterior is SWAG of rank 3, not independent normal weights: use --method clbp or --method statistical",
		KindDropout: "this posterior is MC dropout with rates 0.25, 0.7, not independent normal weights: use --method clbp or --method statistical",
	} {
		if err := others(t)[kind].RequireIndependent(); err == nil || err.Error() != want {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

// The mean network of samples is that of their weighted mean.
func TestSamplesMean(t *testing.T) {
	p := someSamples(t)
	s := p.Finite()
	if s.N() != 4 || s.Total() != 10 || p.Weights() != 26 {
		t.Fatalf("%d samples, %d together, %d weights", s.N(), s.Total(), p.Weights())
	}
	for a, g := range p.Params() {
		for e, mean := range g.Mean {
			want := 0.0
			for i, c := range s.Counts {
				if w := s.Weights(i)[a][e]; w != s.Stack[a][i*arraySizes[a]+e] {
					t.Fatalf("array %d entry %d of sample %d is %v", a, e, i, w)
				} else {
					want += float64(c) / 10 * w
				}
			}
			if math.Abs(mean-want) > 1e-15 {
				t.Errorf("array %d entry %d: mean %v, want %v", a, e, mean, want)
			}
		}
	}
	// Of equal networks the mean is that network, to the last bit.
	third := slices.Repeat([]float64{1. / 3}, 3)
	same, err := FromFinite([]Layer{{Layer: network.DenseLayer(1, 1, network.Activation{})}}, &Finite{Counts: []int64{1, 1, 1}, Stack: [][]float64{third, third}})
	if must(t, same, err); same.Layers[0].Weight.Mean[0] != 1./3 || same.SDApprox()[0][0] != 0 {
		t.Errorf("mean %v, sd %v", same.Layers[0].Weight.Mean, same.SDApprox())
	}
}

func TestLogitsApproxOfKinds(t *testing.T) {
	x := []float64{1, -0.5, 2}
	for kind, p := range others(t) {
		plain := &Posterior{Scale: ScaleSD, Layers: slices.Clone(p.Layers)}
		for a, g := range plain.Params() {
			*g = NewParams(p.Params()[a].Mean, make([]float64, len(g.Mean)), ScaleSD)
		}
		if got, want := p.LogitsApprox(x), plain.LogitsApprox(x); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", kind, got, want)
		}
	}
}

func TestSDApprox(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-14*want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("gaussian", small(ScaleVariance).SDApprox()[0][3], math.Sqrt2)
	two, err := FromFinite([]Layer{{Layer: network.DenseLayer(1, 1, network.Activation{})}}, &Finite{Counts: []int64{1, 3}, Stack: [][]float64{{0, 4}, {7, 7}}})
	near("samples", must(t, two, err).SDApprox()[0][0], math.Sqrt(3))
	swag, err := FromSWAG([]Layer{{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: Params{Mean: []float64{0}}, Bias: Params{Mean: []float64{0}}}}, ScaleSD,
		[][]float64{{2}, {0}}, 3, [][]float64{{1, 2, 3}, {0, 0, 0}})
	near("swag", must(t, swag, err).SDApprox()[0][0], math.Sqrt(4./2+14./4))
	d := someDropout(t)
	near("dropout", d.SDApprox()[2][5], math.Abs(d.Layers[1].Weight.Mean[5])*math.Sqrt(0.7/0.3))
	if d.SDApprox()[3][0] != 0 {
		t.Error("a bias is dropped")
	}
}

func TestValidateKinds(t *testing.T) {
	for want, spoil := range map[string]func(o map[Kind]*Posterior) *Posterior{
		"no samples":                     func(o map[Kind]*Posterior) *Posterior { p := o[KindFinite]; p.finite.Counts = nil; return p },
		"sample 2 has count 0":           func(o map[Kind]*Posterior) *Posterior { p := o[KindFinite]; p.finite.Counts[2] = 0; return p },
		"sample 0 has count -1":          func(o map[Kind]*Posterior) *Posterior { p := o[KindFinite]; p.finite.Counts[0] = -1; return p },
		"sample 3 add up to more than 2": func(o map[Kind]*Posterior) *Posterior { p := o[KindFinite]; p.finite.Counts[3] = 1 << 53; return p },
		"up to sample 1 add up": func(o map[Kind]*Posterior) *Posterior {
			p := o[KindFinite]
			p.finite.Counts[1] = math.MaxInt64
			return p
		},
		"32 numbers for 5 samples": func(o map[Kind]*Posterior) *Posterior {
			p := o[KindFinite]
			p.finite.Counts = append(p.finite.Counts, 1)
			p.finite.Stack[0] = append(p.finite.Stack[0], make([]float64, 12)...)
			p.finite.Stack[1] = append(p.finite.Stack[1], make([]float64, 4)...)
			return p
		},
		"3 arrays of samples": func(o map[Kind]*Posterior) *Posterior {
			p := o[KindFinite]
			p.finite.Stack = p.finite.Stack[:3]
			return p
		},
		"layer 0 bias: sample 2: entry 1 is NaN": func(o map[Kind]*Posterior) *Posterior {
			p := o[KindFinite]
			p.finite.Stack[1][2*4+1] = math.NaN()
			return p
		},
		"layer 1 weight: mean[3] is +Inf": func(o map[Kind]*Posterior) *Posterior {
			p := o[KindDropout]
			p.Layers[1].Weight.Mean[3] = math.Inf(1)
			return p
		},
		"dropout has no spreads": func(o map[Kind]*Posterior) *Posterior {
			p := o[KindDropout]
			p.Layers[0].Bias.SdHi = make([]float64, 4)
			return p
		},
		"1 dropout rates for 2 layers":      func(o map[Kind]*Posterior) *Posterior { p := o[KindDropout]; p.dropout = p.dropout[:1]; return p },
		"layer 1: dropout rate 1 is not in": func(o map[Kind]*Posterior) *Posterior { p := o[KindDropout]; p.dropout[1] = 1; return p },
		"rate -0.1 is not in":               func(o map[Kind]*Posterior) *Posterior { p := o[KindDropout]; p.dropout[1] = -0.1; return p },
		"rate NaN is not in":                func(o map[Kind]*Posterior) *Posterior { p := o[KindDropout]; p.dropout[0] = math.NaN(); return p },
		"SWAG of rank 1":                    func(o map[Kind]*Posterior) *Posterior { p := o[KindSWAG]; p.swag.Rank = 1; return p },
		"columns of deviations":             func(o map[Kind]*Posterior) *Posterior { p := o[KindSWAG]; p.swag.Rank = 4; return p },
		"3 deviations for 2 layers": func(o map[Kind]*Posterior) *Posterior {
			p := o[KindSWAG]
			p.swag.Deviation = p.swag.Deviation[:3]
			return p
		},
		"layer 1 bias: deviation 2: entry 1 is -Inf": func(o map[Kind]*Posterior) *Posterior {
			p := o[KindSWAG]
			p.swag.Deviation[3][5] = math.Inf(-1)
			return p
		},
		"layer 0 weight: standard deviation[4] is NaN": func(o map[Kind]*Posterior) *Posterior { p := o[KindSWAG]; p.swag.Sd[0][4] = math.NaN(); return p },
		"kind samples has not the data":                func(o map[Kind]*Posterior) *Posterior { p := o[KindDropout]; p.Kind = KindFinite; return p },
		"kind gaussian has not the data":               func(o map[Kind]*Posterior) *Posterior { p := o[KindSWAG]; p.Kind = KindGaussian; return p },
		"or data of another":                           func(o map[Kind]*Posterior) *Posterior { p := o[KindSWAG]; p.dropout = []float64{0, 0}; return p },
		"kind(7) is no known":                          func(o map[Kind]*Posterior) *Posterior { p := o[KindSWAG]; p.Kind, p.swag = 7, nil; return p },
		"do not chain": func(o map[Kind]*Posterior) *Posterior {
			p := o[KindFinite]
			p.Layers[1].Map = network.Dense{In: 5, Out: 2}
			return p
		},
		"has activation tanh": func(o map[Kind]*Posterior) *Posterior {
			p := o[KindSWAG]
			p.Layers[1].Activation.Kind = network.Tanh
			return p
		},
	} {
		err := spoil(others(t)).Validate()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
	if _, err := FromFinite(nil, &Finite{Counts: []int64{1}}); err == nil || !strings.Contains(err.Error(), "no layers") {
		t.Errorf("no layers: %v", err)
	}
}

// TestDrawsOf: networks that are said to be independent draws count once each.
func TestDrawsOf(t *testing.T) {
	layers := []Layer{{Layer: network.DenseLayer(1, 1, network.Activation{})}}
	of := func(draws string, counts ...int64) error {
		stack := make([]float64, len(counts))
		_, err := FromFinite(layers, &Finite{Counts: counts, Stack: [][]float64{stack, stack}, DrawsOf: draws})
		return err
	}
	if err := of("a guide", 1, 1, 1); err != nil {
		t.Error(err)
	}
	if err := of("", 1, 2, 1); err != nil {
		t.Error(err)
	}
	if err := of("a guide", 1, 2, 1); err == nil || !strings.Contains(err.Error(), "draws_of") {
		t.Errorf("a network that counts twice: %v", err)
	}
	if err := of(strings.Repeat("x", 201), 1); err == nil {
		t.Error("words of any length")
	}
}
