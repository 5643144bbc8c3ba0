package posterior

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"psafe/host/model/network"
)

// TestMostPairs: rows of a convolution are bounded up to mostPairs numbers of pairs of taps, and of one
// filter more they are refused in a line that says so; where taps are too many, that is said.
func TestMostPairs(t *testing.T) {
	for _, c := range []struct{ channels, height, width, filters int }{{1, 64, 32, 32}, {32, 8, 8, 1024}, {8, 16, 16, 256}} {
		for more := range 2 {
			conv := network.Conv{In: network.Image{Height: c.height, Width: c.width, Channels: c.channels}, Filters: c.filters + more, Groups: 1}
			conv.Window = network.Window{Size: [2]int{c.height, c.width}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
			l := Layer{Layer: network.Layer{Map: conv}}
			l.Weight.Mean, l.Bias.Mean = make([]float64, conv.Weights()), make([]float64, conv.Filters)
			p := &Posterior{Kind: KindCorrelated, Layers: []Layer{l}, covariances: []*Covariance{{}}}
			said := ""
			if err := p.RequireRows(); err != nil {
				said = err.Error()
			}
			want := ""
			if more > 0 {
				n := c.height * c.width * c.channels * c.height * c.width * conv.Filters
				want = fmt.Sprintf("at most 134217728 numbers of pairs of taps, and layer 0 needs %d: use --method statistical", n)
			}
			if !strings.Contains(said, want) || want == "" && said != "" || strings.Contains(said, "\n") {
				t.Errorf("%+v, %d more: %q, want %q", c, more, said, want)
			}
		}
	}
}

// TestDrawEnds: a draw of a Kronecker covariance asks in both of its products whether its work has ended,
// gives that error, and draws what Draw does if it has not.
func TestDrawEnds(t *testing.T) {
	const in, out = 7, 9
	c := &Covariance{QG: make([]float64, out*out), Sd: make([]float64, out*(in+1)), QA: make([]float64, (in+1)*(in+1))}
	for i, list := range [][]float64{c.QG, c.Sd, c.QA} {
		for e := range list {
			list[e] = float64(1 + (e+i)%5)
		}
	}
	l := Layer{Layer: network.DenseLayer(in, out, network.Activation{})}
	l.Weight.Mean, l.Bias.Mean = make([]float64, in*out), make([]float64, out)
	p, err := FromCovariances([]Layer{l}, []*Covariance{c})
	if err != nil {
		t.Fatal(err)
	}
	want, got, looks := p.NewWeights(), p.NewWeights(), 0
	p.Draw(3, 5, want)
	err = p.DrawUntil(3, 5, got, func() error { looks++; return nil })
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || looks < out+out/4 {
		t.Errorf("%v after %d looks: %v, want %v", err, looks, got, want)
	}
	over := errors.New("over")
	for at := 1; at <= looks; at++ {
		n := 0
		err := p.DrawUntil(3, 5, got, func() error {
			if n++; n == at {
				return over
			}
			return nil
		})
		if err != over || n != at {
			t.Errorf("an end at look %d: %v after %d", at, err, n)
		}
	}
}
