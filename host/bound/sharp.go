package bound

import (
	"context"
	"math"
	"slices"

	"psafe/host/model/posterior"
	"psafe/internal/fault"
	"psafe/internal/vector"
)

// The mean of noise over a box, sharper than (11) (docs/theory.md, section 3.5): it is taken
// together with what the row does over the box, and the noise of layers above the first by
// comparing it with a process that is linear in what is below (34). All of it is computed on the
// host, in float64 rounded up, from the coefficients of rows that a device has computed: a few
// products of matrices for rows that decide something (sharprows.go).

// twoOverPi is 2/pi = 0.63661977236758134308, rounded up, and restOverPi is 1 - 2/pi.
const (
	twoOverPi  = 0.6366197723675815
	restOverPi = 0.36338022763241870
)

// sharpTiny covers products that underflow, if weights and deviations are at most sharpWeight and
// no spread is above sharpMost.
const (
	sharpTiny   = 0x1p-400
	sharpWeight = 0x1p50
	sharpMost   = 0x1p100
)

// sharper knows the weights of a chain of dense layers; first is the lowest layer with noise.
type sharper struct {
	post    *posterior.Posterior
	first   int
	vectors vector.Set
	// grow covers n + 16 roundings, twice.
	grow float64
	// ended says why the work has to stop. What it is told in the middle, noise is told at its end.
	ended func() error
}

// newSharper returns nil for what it cannot serve: networks that are no chains, those of one
// layer, activations that steepen, and weights that are out of range.
func newSharper(post *posterior.Posterior, layers []layer, chain bool, ended func() error) *sharper {
	s := &sharper{post: post, ended: ended}
	s.vectors, _ = vector.InUse() // of an error a device has told
	n := 0
	if !chain || len(layers) < 2 {
		return nil
	}
	for k := range layers {
		if k < len(layers)-1 && !(layers[k].facts.Lipschitz() <= 1) {
			return nil
		}
		for _, list := range [][]float64{post.Layers[k].Weight.Mean, post.Layers[k].Weight.SdHi, post.Layers[k].Bias.SdHi} {
			if slices.ContainsFunc(list, func(x float64) bool { return !(math.Abs(x) <= sharpWeight) }) {
				return nil
			}
		}
		if !layers[k].noisy {
			s.first = k + 1
		}
		n = max(n, layers[k].in, layers[k].out)
	}
	s.grow = 1 + float64(n+16)*0x1p-50
	return s
}

// mostSharp bounds the products of one item that Sharp is worth.
const mostSharp = 2e8

// Sharpens reports whether CLBPQuery.Sharp makes bounds of hidden layers better, in a time that is worth it.
func (m *Model) Sharpens() bool {
	if !m.chain || len(m.layers) < 3 {
		return false
	}
	work := 0.0
	for k := 1; k < len(m.layers)-1; k++ {
		for l := range k + 1 {
			work += 2 * float64(m.layers[k].out) * float64(m.layers[l].in) * float64(m.layers[l].out)
		}
	}
	return work <= mostSharp
}

// rowsDown are rows of layer top, on their way down: what was met.
type rowsDown struct {
	top, rows int
	// a[l] are the coefficients of the pre-activations of layer l, [Items x out x rows]; of the top,
	// squares are those of the property's rows squared, and nil stands for units, again and again.
	a       [][]float64
	squares []float64
	// lo and hi are the coefficients of the network's inputs, [Items x in x rows]; hi is nil where
	// no input is negative. Of an item without negative inputs lo is the coefficients, so that what is
	// bounded beside it changes nothing.
	lo, hi []float64
	nonNeg []bool // of each item
}

// reaches bound, for what feeds each layer, how far it varies over the box and its squares:
// [layer][Items x in]. still says what does not vary at all, as dead neurons.
type reaches struct {
	radius, maxSq [][]float64
	still         [][]bool
}

// noise bounds mean and variance of the noise of rows of an item, for each layer from the top
// down to the first with noise, [rows] each. A row is then at least as far above m0 - sum of
// means as docs/theory.md (13a) says with these variances. Rows are shared out over all
// cores. The error is that of ended, and there are no bounds then.
func (s *sharper) noise(d *rowsDown, r *reaches, item int) (mean, variance [][]float64, err error) {
	for range d.top - s.first + 1 {
		mean, variance = append(mean, make([]float64, d.rows)), append(variance, make([]float64, d.rows))
	}
	parts, varies := d.parts(), s.varying(r, item, d.top)
	errs := make([]error, len(parts))
	fault.OnCores(context.Background(), len(parts), func(i int) {
		t := &sharpRows{sharper: s, d: d, r: r, item: item, varies: varies, row: parts[i]}
		errs[i] = t.noise(mean, variance)
	})
	for _, err := range errs {
		if err != nil {
			return nil, nil, err
		}
	}
	return mean, variance, nil
}

// varying lists the inputs of each layer up to top that vary over the box of an item.
func (s *sharper) varying(r *reaches, item, top int) [][]int {
	list := make([][]int, top+1)
	for l := range list {
		in := s.post.Layers[l].Inputs()
		for j, still := range r.still[l][item*in : (item+1)*in] {
			if !still {
				list[l] = append(list[l], j)
			}
		}
	}
	return list
}

// Rows are worked on partRows beside each other, or fewer, as many as a multiple of rowsBeside.
const partRows, rowsBeside = 32, 8

// parts shares the rows out: of units both rows are in one part, in its halves.
func (d *rowsDown) parts() (list [][]int) {
	rows, step := d.rows, partRows
	if d.units() {
		rows, step = d.rows/2, partRows/2
	}
	for from := 0; from < rows; from += step {
		part := make([]int, (min(step, rows-from)+rowsBeside-1)/rowsBeside*rowsBeside)
		for i := range part {
			if part[i] = from + i; part[i] >= rows {
				part[i] = noRow
			}
		}
		for i, n := 0, len(part); d.units() && i < n; i++ {
			other := noRow
			if part[i] != noRow {
				other = part[i] + rows
			}
			part = append(part, other)
		}
		list = append(list, part)
	}
	return list
}

// noRow is in the place of a row where there are fewer.
const noRow = -1

// units reports whether the rows are those of the units of the top.
func (d *rowsDown) units() bool { return d.squares == nil }
