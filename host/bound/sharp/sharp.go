// Package sharp bounds the noise that rows meet over a box, of all layers together: the host's sums for
// concentration LBP.
package sharp

import (
	"context"
	"math"
	"slices"
	"sync"

	"psafe/host/model/posterior"
	"psafe/internal/fault"
	"psafe/internal/vector"
)

// The mean of noise over a box, sharper than (11) (docs/theory.md, section 3.5): it is taken
// together with what the row does over the box, and the noise of layers above the first by
// comparing it with a process that is linear in what is below (34). All of it is computed on the
// host, in float64 rounded up, from the coefficients of rows that a device has computed: a few
// products of matrices for rows that decide something (rows.go).

// twoOverPi is 2/pi = 0.63661977236758134308, rounded up, and restOverPi is 1 - 2/pi.
const (
	twoOverPi  = 0.6366197723675815
	restOverPi = 0.36338022763241870
)

// Tiny covers products that underflow, if weights and deviations are at most mostWeight and
// no spread is above Most.
const (
	Tiny       = 0x1p-400
	Most       = 0x1p100
	mostWeight = 0x1p50
)

// Network knows the weights of a chain of dense layers; first is the lowest layer with noise.
type Network struct {
	post    *posterior.Posterior
	first   int
	vectors vector.Set
	// grow covers n + 16 roundings, twice.
	grow float64
	// squares are those of each layer's weights, once they are asked for; places counts the inputs of any.
	squares []func() *squares
	places  []int
	// ended says why the work has to stop. What it is told in the middle, noise is told at its end.
	ended func() error
}

// New returns nil for what it cannot serve: networks that are no chains, those of one
// layer, activations that steepen, and weights that are out of range.
func New(post *posterior.Posterior, ended func() error) *Network {
	s := &Network{post: post, ended: ended, first: len(post.Layers)}
	s.vectors, _ = vector.InUse() // of an error a device has told
	n := 0
	if !post.Network().Chain() || len(post.Layers) < 2 {
		return nil
	}
	for k := range post.Layers {
		l := &post.Layers[k]
		if k < len(post.Layers)-1 && !(l.Activation.Lipschitz() <= 1) {
			return nil
		}
		for _, list := range [][]float64{l.Weight.Mean, l.Weight.SdHi, l.Bias.SdHi} {
			if slices.ContainsFunc(list, func(x float64) bool { return !(math.Abs(x) <= mostWeight) }) {
				return nil
			}
		}
		if slices.ContainsFunc(l.Weight.SdHi, positive) || slices.ContainsFunc(l.Bias.SdHi, positive) {
			s.first = min(s.first, k)
		}
		n = max(n, l.Inputs(), l.Outputs())
	}
	s.grow = 1 + float64(n+16)*0x1p-50
	for j := range n {
		s.places = append(s.places, j)
	}
	for k := range post.Layers {
		s.squares = append(s.squares, sync.OnceValue(func() *squares { return newSquares(&post.Layers[k]) }))
	}
	return s
}

// Until returns s for work that has to stop for another reason.
func (s *Network) Until(ended func() error) *Network {
	until := *s
	until.ended = ended
	return &until
}

// squares are the squares of the means and of the deviations of a layer's weights, (in, out) as they
// are: each is wanted for every item and part of rows.
type squares struct{ mean, sd []float64 }

func newSquares(l *posterior.Layer) *squares {
	mean, sd := l.Weight.Mean, l.Weight.SdHi
	q := &squares{make([]float64, len(mean)), make([]float64, len(sd))}
	for i, x := range mean {
		q.mean[i], q.sd[i] = float64(x*x), float64(sd[i]*sd[i])
	}
	return q
}

func positive(x float64) bool { return x > 0 }

// First is the lowest layer with noise.
func (s *Network) First() int { return s.first }

// Rows are rows of layer Top, on their way down: what was met by those of some items, from First on.
type Rows struct {
	Top, Rows, First int
	// A[l] are the coefficients of the pre-activations of layer l, [Items x out x Rows]; of the top,
	// Squares are those of the property's rows squared, and nil stands for units, again and again.
	A       [][]float64
	Squares []float64
	// Lo and Hi are the coefficients of the network's inputs, [Items x in x Rows]; Hi is nil where
	// no input is negative. Of an item without negative inputs Lo is the coefficients, so that what is
	// bounded beside it changes nothing.
	Lo, Hi []float64
	NonNeg []bool // of each item, of those before First too
}

// Reach bound, for what feeds each layer, how far it varies over the boxes of some items, from First on, and
// its squares: [layer][Items x in]. Still says what does not vary at all, as dead neurons.
type Reach struct {
	First         int
	Radius, MaxSq [][]float64
	Still         [][]bool
}

// Noise are bounds of mean and variance of the noise of rows, for each layer from the top down to the
// first with noise, [rows] each: a row is at least as far above m0 - sum of means as docs/theory.md
// (13a) says with these variances.
type Noise struct{ Mean, Variance [][]float64 }

// Noise bounds the noise of the rows of an item, in each list of rows of the same layer. Rows are shared
// out over all cores. The error is that of ended, and there are no bounds then.
func (s *Network) Noise(list []*Rows, r *Reach, item int) ([]Noise, error) {
	all := make([]Noise, len(list))
	for i, d := range list {
		for range d.Top - s.first + 1 {
			all[i].Mean, all[i].Variance = append(all[i].Mean, make([]float64, d.Rows)), append(all[i].Variance, make([]float64, d.Rows))
		}
	}
	parts, varies := partsOf(list, all), s.varying(r, item, list[0].Top)
	errs := make([]error, len(parts))
	fault.OnCores(context.Background(), len(parts), func(i int) {
		t := parts[i]
		t.Network, t.r, t.item, t.varies = s, r, item, varies
		errs[i] = t.noise()
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// varying lists the inputs of each layer up to top that vary over the box of an item.
func (s *Network) varying(r *Reach, item, top int) [][]int {
	list := make([][]int, top+1)
	for l := range list {
		in := s.post.Layers[l].Inputs()
		for j, still := range r.Still[l][(item-r.First)*in:][:in] {
			if !still {
				list[l] = append(list[l], j)
			}
		}
	}
	return list
}

// Rows are worked on partRows beside each other, or fewer, as many as a multiple of rowsBeside.
const partRows, rowsBeside = 32, 16

// partsOf shares rows out: of units both rows are in one part, in its halves, and others lie beside
// each other whichever list they are of.
func partsOf(list []*Rows, to []Noise) (parts []*part) {
	var open *part
	for i, d := range list {
		if d.units() {
			out := d.Rows / 2
			for first := 0; first < out; first += partRows / 2 {
				n := min(partRows/2, out-first)
				parts = append(parts, &part{top: d.Top, units: true, lanes: partRows, runs: []run{
					{d, &to[i], first, n, 0}, {d, &to[i], out + first, n, partRows / 2},
				}})
			}
			continue
		}
		for first, n := 0, 0; first < d.Rows; first += n {
			if open == nil || open.lanes == partRows {
				open = &part{top: d.Top}
				parts = append(parts, open)
			}
			n = min(partRows-open.lanes, d.Rows-first)
			open.runs = append(open.runs, run{d, &to[i], first, n, open.lanes})
			open.lanes += n
		}
	}
	for _, t := range parts {
		t.lanes = (t.lanes + rowsBeside - 1) / rowsBeside * rowsBeside
	}
	return parts
}

// units reports whether the rows are those of the units of the top.
func (d *Rows) units() bool { return d.Squares == nil }
