package property

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Norm takes raw inputs x to those of a network, (x - mean) / std in each coordinate. Means
// and standard deviations are real numbers, held as the intervals that enclose them. A nil
// Norm leaves everything as it is.
type Norm struct {
	mean, std Vector
	// MeanSHA256 and StdSHA256 are the digests of the files that they were read from, empty if
	// there are none.
	MeanSHA256, StdSHA256 string
}

// ReadNorm reads --mean and --std for a network with so many inputs. Each is one number, a
// list with or without brackets of one number for each input or each channel, or a NumPy file
// of such a list. shape is that of a point, in the network's order, by which channels are
// told; channels is "first" or "last" where that says which axis they are, else empty. Errors
// are one line that begins with the flag.
func ReadNorm(mean, std string, inputs int, shape []int, channels string) (*Norm, error) {
	if mean == "" || std == "" {
		return nil, errors.New("--mean and --std go together: give both (--mean 0 or --std 1 if there is only one of them)")
	}
	n := &Norm{}
	for _, of := range []struct {
		flag, text string
		to         *Vector
	}{{"mean", mean, &n.mean}, {"std", std, &n.std}} {
		text := strings.TrimSpace(of.text)
		if strings.Contains(text, ",") && !strings.HasPrefix(text, "[") {
			text = "[" + text + "]"
		}
		v, err := ParseVector(text)
		if err == nil {
			err = v.spread(inputs, shape, channels)
		}
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", of.flag, err)
		}
		*of.to = v
	}
	if j := n.std.find(func(d Decimal) bool { return !(d.Lo > 0) }); j >= 0 {
		return nil, fmt.Errorf("--std %.60s: that of input %d is %v: every one must be above 0", std, j, n.std.at(j))
	}
	n.MeanSHA256, n.StdSHA256 = n.mean.SHA256, n.std.SHA256
	return n, nil
}

// NormOf is the Norm of numbers that a posterior's file says: one for all inputs or one for
// each, every std above 0; nil stands for a mean of 0 and a std of 1.
func NormOf(mean, std []float64, inputs int) (*Norm, error) {
	n := &Norm{}
	for _, of := range []struct {
		what    string
		numbers []float64
		to      *Vector
	}{{"mean", mean, &n.mean}, {"std", std, &n.std}} {
		for j, v := range of.numbers {
			if !(math.Abs(v) <= math.MaxFloat64) || of.what == "std" && !(v > 0) {
				return nil, fmt.Errorf("the file's %s of input %d is %v; write the file again with numbers that are", of.what, j, v)
			}
			of.to.each = append(of.to.each, Decimal{0 + v, 0 + v})
		}
		if of.numbers == nil {
			if of.what == "std" {
				of.to.all = Decimal{1, 1}
			}
			continue
		}
		if len(of.numbers) != 1 && len(of.numbers) != inputs {
			return nil, fmt.Errorf("the file has %d numbers for the %s of %d inputs; write one for all, or one for each", len(of.numbers), of.what, inputs)
		}
		if len(of.numbers) == 1 {
			*of.to = Vector{all: of.to.each[0]}
		}
	}
	return n, nil
}

// spread makes a list of one number, or one for each channel, one of every input.
func (v *Vector) spread(inputs int, shape []int, channels string) error {
	k := len(v.each)
	switch {
	case v.each == nil || k == inputs:
		return nil
	case k == 1:
		v.all, v.each = v.each[0], nil
		return nil
	}
	first, last := len(shape) == 3 && shape[0] == k, len(shape) == 3 && shape[2] == k
	switch {
	case channels != "":
		first, last = first && channels == "first", last && channels == "last"
	case first && last:
		return fmt.Errorf("%d numbers for points of shape %v: both the first axis and the last may be channels; say which with --channels first or last", k, shape)
	}
	if !first && !last {
		return fmt.Errorf("%d numbers for %d inputs%s; give one for all, one for each channel, or one for each input", k, inputs, ofShape(shape))
	}
	each := make([]Decimal, inputs)
	for j := range each {
		if first {
			each[j] = v.each[j/(inputs/k)]
		} else {
			each[j] = v.each[j%k]
		}
	}
	v.each = each
	return nil
}

// ofShape tells what is known of the shape of points.
func ofShape(shape []int) string {
	if len(shape) < 2 {
		return ", whose points are flat lists"
	}
	return fmt.Sprintf(" of shape %v", shape)
}

// Agrees returns where the numbers of typed are not those of n, which are float64: neither the same
// nor rounded to one, nor to a float32 as frameworks keep them.
func (n *Norm) Agrees(typed *Norm, inputs int) error {
	for j := range inputs {
		for _, of := range []struct {
			what     string
			is, text Decimal
		}{{"mean", n.mean.at(j), typed.mean.at(j)}, {"std", n.std.at(j), typed.std.at(j)}} {
			near := []float64{of.text.Lo, of.text.Hi, float64(float32(of.text.Lo)), float64(float32(of.text.Hi))}
			if !slices.Contains(near, of.is.Lo) {
				return fmt.Errorf("--%s: it is %v for input %d, the posterior's file says %v; leave --mean and --std out", of.what, of.text, j, of.is.Lo)
			}
		}
	}
	return nil
}

// Outer encloses what the network sees of a raw box: the ends (lo - mean) / std rounded down
// and (hi - mean) / std rounded up, whatever mean and std are in their intervals. An overflow
// is an error that names the coordinate.
func (n *Norm) Outer(b Box) (Box, error) {
	if n == nil {
		return b, nil
	}
	out := Box{Lo: make([]float64, len(b.Lo)), Hi: make([]float64, len(b.Hi))}
	for j := range b.Lo {
		out.Lo[j], out.Hi[j] = n.lower(j, b.Lo[j]), n.upper(j, b.Hi[j])
		if !ordered(out.Lo[j], out.Hi[j]) {
			return Box{}, fmt.Errorf("coordinate %d: %v to %v less mean %v over std %v is beyond the range of float64; mend --mean and --std", j, b.Lo[j], b.Hi[j], n.mean.at(j), n.std.at(j))
		}
	}
	return out, nil
}

// Inner takes an inner box (Task.Inner) of raw inputs to one of the network's: lower ends are
// rounded up and upper ends down. The zero Box stays what it is.
func (n *Norm) Inner(b Box) Box {
	if n == nil || b.Lo == nil {
		return b
	}
	out := Box{Lo: make([]float64, len(b.Lo)), Hi: make([]float64, len(b.Hi))}
	for j := range b.Lo {
		out.Lo[j], out.Hi[j] = n.upper(j, b.Lo[j]), n.lower(j, b.Hi[j])
	}
	return out
}

// Apply takes a task's boxes of raw inputs to those of the network.
func (n *Norm) Apply(t *Task) error {
	if n == nil {
		return nil
	}
	outer, inner := make([]Box, len(t.T)), make([]Box, len(t.Inner))
	for b := range t.T {
		var err error
		if outer[b], err = n.Outer(t.T[b]); err != nil {
			return fmt.Errorf("box %d: %w", b, err)
		}
	}
	for b := range t.Inner {
		inner[b] = n.Inner(t.Inner[b])
	}
	t.T, t.Inner, t.Ball = outer, inner, n.ball(t.Ball)
	return nil
}

// lower is a float64 <= (x - mean) / std for all mean and std in the intervals of input j,
// upper one that is >=.
func (n *Norm) lower(j int, x float64) float64 {
	d, std := addDown(x, -n.mean.at(j).Hi), n.std.at(j)
	if d < 0 {
		return divDown(d, std.Lo)
	}
	return divDown(d, std.Hi)
}

func (n *Norm) upper(j int, x float64) float64 {
	d, std := addUp(x, -n.mean.at(j).Lo), n.std.at(j)
	if d < 0 {
		return 0 - divDown(-d, std.Hi)
	}
	return 0 - divDown(-d, std.Lo)
}

// divDown is a float64 <= a/b for b > 0, the largest one unless a or the quotient is tiny.
// With q = fl(a/b), a - q b is a float64 and the fused operation is exact, if q is normal and
// |a| >= 2^-960: it is a multiple of ulp(q) ulp(b) >= |a| 2^-106. Its sign says on which side
// of a/b the quotient lies. Everything else, overflow included, takes the step down.
func divDown(a, b float64) float64 {
	const exactAbove = 0x1p-960
	q := a / b
	switch {
	case a == 0:
		return 0
	case math.Abs(a) > exactAbove && math.Abs(q) > exactAbove && math.FMA(-q, b, a) >= 0:
		return q
	}
	return down(q)
}
