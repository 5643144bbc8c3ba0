package property

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"psafe/internal/infile"
)

// InputOptions describe how the numbers of a data file become inputs.
type InputOptions struct {
	// Scale is a positive decimal, or a ratio of two such as "1/255", by which
	// every number of the file is multiplied. Empty means 1/255 for files of
	// unsigned bytes (IDX ubyte, NumPy uint8, PNG), 1/65535 for PNG of 16 bits and 1 for all
	// others.
	Scale string
	// LabelColumn says which column of a CSV file is the class: "first",
	// "last", "none" or the column's name in the header line. Empty is "none".
	// For other formats it must be empty or "none".
	LabelColumn string
	// Dim is how many coordinates a point must have, 0 for any number. Files with another
	// are refused by their headers.
	Dim int
}

const (
	// maxPoints bounds the points of a file, and the labels.
	maxPoints = 1 << 24
	// maxNumbers bounds the coordinates of all points where they are no bytes: 2 GiB.
	maxNumbers = 1 << 28
	// maxCSVNumbers bounds those of a CSV file, which become two numbers each: 1 GiB.
	maxCSVNumbers = 1 << 26
)

// Points is a data file of input points. Every coordinate is a real number
// held as the interval of float64 that encloses it: the two nearest for bytes and for PNG,
// for CSV, and wherever the scale is 1.
type Points struct {
	// Source is the file, as the user named it.
	Source string
	// Dim is the number of coordinates of a point, at least 1.
	Dim int
	// Shape is the shape of one point before it was flattened in C order, with
	// the product Dim: [28 28] for MNIST. It is empty for points that are
	// single numbers.
	Shape []int
	// Labels are the classes of a CSV file with a label column, else nil.
	Labels []int
	// SHA256 is the lower-case hexadecimal digest of the file as it was read,
	// before unpacking.
	SHA256 string

	n int
	// The coordinates of all points, one after the other: either bytes, to be
	// looked up in table, or intervals in blocks of so many points, the last of
	// which may have fewer.
	bytes  []byte
	table  *[256]Decimal
	blocks []block
	per    int
	// order is, for each coordinate, the number of the file's that it is, nil if they are in
	// its order; channelsLast says that the axes of Shape are those of a PNG.
	order        []int32
	channelsLast bool
}

// block holds the intervals of some points; lo and hi are the same slice if all are exact.
type block struct{ lo, hi []float64 }

// N is the number of points, at least 1.
func (p *Points) N() int { return p.n }

// At returns the intervals that enclose the coordinates of point i, which must
// be in 0 <= i < N (it panics otherwise). The caller must not write to them.
func (p *Points) At(i int) (lo, hi []float64) {
	if i < 0 || i >= p.n {
		panic(fmt.Sprintf("property: Points.At: point %d of %d", i, p.n))
	}
	from, to := i*p.Dim, (i+1)*p.Dim
	if p.table == nil {
		b := p.blocks[i/p.per]
		from, to = i%p.per*p.Dim, (i%p.per+1)*p.Dim
		if p.order != nil {
			return p.shuffled(b.lo[from:to]), p.shuffled(b.hi[from:to])
		}
		return b.lo[from:to:to], b.hi[from:to:to]
	}
	ends := make([]float64, 2*p.Dim)
	lo, hi = ends[:p.Dim:p.Dim], ends[p.Dim:]
	for j, b := range p.bytes[from:to] {
		lo[j], hi[j] = p.table[b].Lo, p.table[b].Hi
	}
	if p.order != nil {
		return p.shuffled(lo), p.shuffled(hi)
	}
	return lo, hi
}

// ReadPoints reads a data file of points. The format is told by the content,
// not by the name, and any of them may be compressed with gzip: IDX, .npy,
// .npz with one array or named as "file.npz:array", PNG, else CSV. In IDX and NumPy
// arrays the first axis counts points and the others are flattened in C order. A
// folder is its PNG files in the order of their names, and "a.png,b.png" a list.
//
// Damaged files, files without points or coordinates, NaN and infinities,
// products with the scale beyond the range of float64, and options that do not
// fit are errors of one line that starts with the file.
func ReadPoints(path string, opt InputOptions) (*Points, error) {
	p, err := readPoints(path, opt)
	if err != nil {
		return nil, inFile(path, err)
	}
	p.Source = path
	return p, nil
}

func readPoints(path string, opt InputOptions) (p *Points, err error) {
	var scale *big.Rat
	if opt.Scale != "" {
		r, err := parseRatio(opt.Scale)
		if err != nil {
			return nil, fmt.Errorf("input scale %w", err)
		}
		scale = r
	}
	if images, err := imageFiles(path); err != nil {
		return nil, err
	} else if images != nil {
		return readImages(images, opt, scale)
	}
	digest, err := openSource(path, func(s *source, member string) error {
		p, err = decodePoints(s, member, opt, scale)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.SHA256 = digest
	return p, nil
}

// decodePoints decodes the content of a data file.
func decodePoints(s *source, member string, opt InputOptions, scale *big.Rat) (*Points, error) {
	a, err := decodeArray(s, member, func(shape []int, bytes bool) error { return fits(shape, bytes, opt.Dim) })
	if err != nil {
		return nil, err
	}
	if a == nil {
		return readCSV(s, opt, scale)
	}
	if opt.LabelColumn != "" && opt.LabelColumn != "none" {
		return nil, errNoColumn(opt.LabelColumn)
	}
	p, err := a.points(scale)
	if err == nil {
		p.channelsLast = a.png
	}
	return p, err
}

// fits returns, before they are read, why the elements of an array of that shape cannot be points
// of dim coordinates.
func fits(shape []int, bytes bool, dim int) error {
	if len(shape) == 0 {
		return errors.New("holds a single number; give an array whose first axis counts points")
	}
	coordinates, all := 1, shape[0]
	for _, d := range shape[1:] {
		coordinates, all = coordinates*d, all*d // no overflow: there are as many bytes
	}
	if all == 0 {
		return fmt.Errorf("has shape %v and so no data; give at least one point", shape)
	}
	if err := fitsDim(coordinates, dim); err != nil {
		return fmt.Errorf("%w%s", err, unfit(shape, coordinates, dim))
	}
	if shape[0] > maxPoints {
		return fmt.Errorf("holds %d points, the limit is %d; split it", shape[0], maxPoints)
	}
	if !bytes && all > maxNumbers {
		return fmt.Errorf("holds %d numbers, the limit is %d unless they are bytes; split it", all, maxNumbers)
	}
	return nil
}

// unfit returns what an array of that shape may be in place of points of dim coordinates.
func unfit(shape []int, coordinates, dim int) string {
	switch {
	case len(shape) > 1 && shape[0] > 1 && coordinates*shape[0] == dim: // no overflow: see fits
		return fmt.Sprintf("; shape %v is that of one point: put an axis of length 1 in front, which counts points", shape)
	case len(shape) > 2 && coordinates == dim/3 && dim%3 == 0:
		return fmt.Sprintf("; images of shape %v may be grey ones, for a network of three channels", shape[1:])
	case len(shape) > 2 && dim == coordinates/3 && coordinates%3 == 0:
		return fmt.Sprintf("; images of shape %v may be coloured ones, for a network of one channel", shape[1:])
	case len(shape) > 2:
		return fmt.Sprintf("; images of shape %v have to be scaled or cut to its size first", shape[1:])
	}
	return ""
}

// fitsDim compares the coordinates of points with what the network takes, if it is known.
func fitsDim(coordinates, dim int) error {
	if dim > 0 && coordinates != dim {
		return fmt.Errorf("points have %d coordinates, the network takes %d; give points of that network", coordinates, dim)
	}
	return nil
}

// points views the first axis as points. scale nil means the default.
func (a *array) points(scale *big.Rat) (*Points, error) {
	p := &Points{n: a.shape[0], Dim: 1, Shape: a.shape[1:]}
	for _, d := range p.Shape {
		p.Dim *= d
	}
	if a.wide != nil {
		return p, p.setWide(a.wide, scale)
	}
	if a.bytes == nil {
		p.blocks, p.per = []block{{a.data, a.data}}, p.n
		return p, p.setScale(scale)
	}
	if scale == nil {
		scale = big.NewRat(1, 255)
	}
	p.bytes, p.table = a.bytes, new([256]Decimal)
	for b := range p.table {
		lo, hi, ok := roundRat(new(big.Rat).Mul(scale, new(big.Rat).SetInt64(int64(b))))
		if !ok {
			return nil, errScaled
		}
		p.table[b] = Decimal{lo, hi}
	}
	return p, nil
}

// setWide makes intervals of numbers up to 65535 times scale, nil for 1/65535: the nearest two
// float64, once for each number.
func (p *Points) setWide(numbers []uint16, scale *big.Rat) error {
	if scale == nil {
		scale = big.NewRat(1, 65535)
	}
	if err := infile.Afford(int64(len(numbers)) * 16); err != nil {
		return err
	}
	b := block{make([]float64, len(numbers)), make([]float64, len(numbers))}
	known := map[uint16]Decimal{}
	for k, v := range numbers {
		d, is := known[v]
		if !is {
			var ok bool
			if d.Lo, d.Hi, ok = roundRat(new(big.Rat).Mul(scale, new(big.Rat).SetInt64(int64(v)))); !ok {
				return errScaled
			}
			known[v] = d
		}
		b.lo[k], b.hi[k] = d.Lo, d.Hi
	}
	p.blocks, p.per = []block{b}, p.n
	return nil
}

var errScaled = errors.New("input scale takes numbers beyond the range of float64; use a smaller one")

// setScale multiplies p's intervals by scale (nil for 1), rounded outward, once all are
// known to be finite. It keeps them if there is no scale.
func (p *Points) setScale(scale *big.Rat) error {
	for b, of := range p.blocks {
		for k, lo := range of.lo {
			if !(math.Abs(lo) <= math.MaxFloat64 && math.Abs(of.hi[k]) <= math.MaxFloat64) {
				return fmt.Errorf("%s is %v; every number must be finite", p.place(b, k), lo)
			}
		}
	}
	if scale == nil || scale.Cmp(big.NewRat(1, 1)) == 0 {
		return nil
	}
	sLo, sHi, ok := roundRat(scale)
	if !ok {
		return errScaled
	}
	for i := range p.blocks {
		lo, hi := p.blocks[i].lo, p.blocks[i].hi
		to := hi
		if &lo[0] == &hi[0] {
			if err := infile.Afford(int64(len(lo)) * 8); err != nil {
				return err
			}
			to = make([]float64, len(lo))
		}
		for k := range lo {
			a, _, ok1 := mulOut(lo[k], Decimal{sLo, sHi})
			_, b, ok2 := mulOut(hi[k], Decimal{sLo, sHi})
			if !ok1 || !ok2 {
				return fmt.Errorf("%s: %w", p.place(i, k), errScaled)
			}
			lo[k], to[k] = a, b
		}
		p.blocks[i].hi = to
	}
	return nil
}

// place names entry k of block b.
func (p *Points) place(b, k int) string {
	return fmt.Sprintf("point %d: coordinate %d", b*p.per+k/p.Dim, k%p.Dim)
}

// inFile puts the file's name in front of err, on one line whatever its bytes.
func inFile(path string, err error) error {
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' }) {
		path = fmt.Sprintf("%q", path)
	}
	return fmt.Errorf("%s: %w", path, err)
}
