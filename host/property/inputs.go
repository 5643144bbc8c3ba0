package property

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strings"

	"psafe/host/npy"
)

// InputOptions says how the numbers of a data file become inputs.
type InputOptions struct {
	// Scale is a positive decimal, or a ratio of two such as "1/255", by which
	// every number of the file is multiplied. Empty means 1/255 for files of
	// unsigned bytes (IDX ubyte, NumPy uint8) and 1 for all others.
	Scale string
	// LabelColumn says which column of a CSV file is the class: "first",
	// "last", "none" or the column's name in the header line. Empty is "none".
	// For other formats it must be empty or "none".
	LabelColumn string
}

// Points is a data file of input points. Every coordinate is a real number
// held as the interval of float64 that encloses it: the two nearest for bytes,
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
	// looked up in table, or the intervals lo, hi (the same slice if all are
	// exact).
	bytes  []byte
	table  *[256]Decimal
	lo, hi []float64
}

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
		return p.lo[from:to:to], p.hi[from:to:to]
	}
	ends := make([]float64, 2*p.Dim)
	lo, hi = ends[:p.Dim:p.Dim], ends[p.Dim:]
	for j, b := range p.bytes[from:to] {
		lo[j], hi[j] = p.table[b].Lo, p.table[b].Hi
	}
	return lo, hi
}

// ReadPoints reads a data file of points. The format is told by the content,
// not by the name, and any of them may be compressed with gzip: IDX, .npy,
// .npz with one array or named as "file.npz:array", else CSV. In IDX and NumPy
// arrays the first axis counts points and the others are flattened in C order.
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

func readPoints(path string, opt InputOptions) (*Points, error) {
	var scale *big.Rat
	if opt.Scale != "" {
		r, err := parseRatio(opt.Scale)
		if err != nil {
			return nil, fmt.Errorf("input scale %w", err)
		}
		scale = r
	}
	data, member, digest, err := load(path)
	if err != nil {
		return nil, err
	}
	p, err := decodePoints(data, member, opt, scale)
	if err != nil {
		return nil, err
	}
	p.SHA256 = digest
	return p, nil
}

// decodePoints decodes the unpacked content of a data file.
func decodePoints(data []byte, member string, opt InputOptions, scale *big.Rat) (*Points, error) {
	a, err := decodeArray(data, member)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return readCSV(data, opt.LabelColumn, scale)
	}
	if opt.LabelColumn != "" && opt.LabelColumn != "none" {
		return nil, fmt.Errorf("has no label column %s, for it is not a CSV file; name the labels' own file instead", quote(opt.LabelColumn))
	}
	return a.points(scale)
}

// array is a decoded IDX or NumPy array in C order: either bytes (unsigned) or
// data holds its elements.
type array struct {
	shape []int
	bytes []byte
	data  []float64
}

// points views the first axis as points. scale nil means the default.
func (a *array) points(scale *big.Rat) (*Points, error) {
	if len(a.shape) == 0 {
		return nil, errors.New("holds a single number; give an array whose first axis counts points")
	}
	p := &Points{n: a.shape[0], Dim: 1, Shape: a.shape[1:]}
	for _, d := range p.Shape {
		p.Dim *= d
	}
	if p.n == 0 || p.Dim == 0 {
		return nil, fmt.Errorf("has shape %v and so no data; give at least one point", a.shape)
	}
	if a.bytes == nil {
		return p, p.setFloats(a.data, a.data, scale)
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

var errScaled = errors.New("input scale takes numbers beyond the range of float64; use a smaller one")

// setFloats stores the intervals [lo, hi] times scale (nil for 1) as p's
// coordinates, rounded outward, once all are known to be finite. It keeps lo
// and hi if there is no scale.
func (p *Points) setFloats(lo, hi []float64, scale *big.Rat) error {
	for k := range lo {
		if !(math.Abs(lo[k]) <= math.MaxFloat64 && math.Abs(hi[k]) <= math.MaxFloat64) {
			return fmt.Errorf("point %d: coordinate %d is %v; every number must be finite", k/p.Dim, k%p.Dim, lo[k])
		}
	}
	p.lo, p.hi = lo, hi
	if scale == nil || scale.Cmp(big.NewRat(1, 1)) == 0 {
		return nil
	}
	sLo, sHi, ok := roundRat(scale)
	if !ok {
		return errScaled
	}
	p.lo, p.hi = make([]float64, len(lo)), make([]float64, len(lo))
	for k := range lo {
		a, _, ok1 := mulOut(lo[k], Decimal{sLo, sHi})
		_, b, ok2 := mulOut(hi[k], Decimal{sLo, sHi})
		if !ok1 || !ok2 {
			return fmt.Errorf("point %d: coordinate %d: %w", k/p.Dim, k%p.Dim, errScaled)
		}
		p.lo[k], p.hi[k] = a, b
	}
	return nil
}

// maxUnpacked is what a data file may hold, in bytes after decompression.
const maxUnpacked = 2 << 30

// load reads the file, decompressed if it is gzip. If there is no such file and
// path has the form "file.npz:array", it reads that file and returns the array's
// name too.
func load(path string) (data []byte, member, digest string, err error) {
	name := FileOf(path)
	if name != path {
		if member = path[len(name)+1:]; member == "" {
			return nil, "", "", errors.New("names no array after the colon; write file.npz:array")
		}
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, "", "", reason(err)
	}
	defer file.Close()
	if data, err = readLimited(file, maxUnpacked); err != nil {
		return nil, "", "", err
	}
	digest = fmt.Sprintf("%x", sha256.Sum256(data))
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, "", "", fmt.Errorf("damaged gzip file: %w; get it again", err)
		}
		if data, err = readLimited(z, maxUnpacked); err != nil {
			return nil, "", "", fmt.Errorf("damaged gzip file: %w; get it again", err)
		}
	}
	return data, member, digest, nil
}

// FileOf is the file that the name of an input stands for: the name itself, or
// what stands before the colon in "file.npz:array" if there is no file of the
// whole name.
func FileOf(path string) string {
	k := strings.LastIndex(path, ".npz:")
	if k < 0 {
		return path
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return path[:k+len(".npz")]
}

// readLimited reads all of r, at most limit bytes.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, reason(err)
	}
	if n > limit {
		return nil, fmt.Errorf("is larger than the limit of %d bytes; split it", limit)
	}
	return buf.Bytes(), nil
}

// reason is the error without the path that package os puts in front.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("cannot %s: %w", pathErr.Op, pathErr.Err)
	}
	return err
}

// inFile puts the file's name in front of err, on one line whatever its bytes.
func inFile(path string, err error) error {
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' }) {
		path = fmt.Sprintf("%q", path)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// decodeArray decodes an IDX or NumPy file; it returns nil for anything else.
// member is the array of a .npz file, empty if the user named none.
func decodeArray(data []byte, member string) (*array, error) {
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) || bytes.HasPrefix(data, []byte("PK\x05\x06")) {
		var err error
		if data, err = pickMember(data, member); err != nil {
			return nil, err
		}
	} else if member != "" {
		return nil, fmt.Errorf("is not a .npz file and has no array %s; leave the array's name out", quote(member))
	} else if isIDX(data) {
		return decodeIDX(data)
	}
	if !bytes.HasPrefix(data, []byte("\x93NUMPY")) && member == "" {
		return nil, nil
	}
	a, err := npy.Read(data)
	if _, isObject := errors.AsType[*npy.ObjectError](err); isObject {
		return nil, errors.New("holds Python objects, not numbers; save it as an array of float64 or uint8")
	} else if err != nil {
		return nil, fmt.Errorf("%w; save it again as an array of float64 or uint8", err)
	}
	out := &array{shape: a.Shape, data: a.Data}
	if strings.HasSuffix(a.DType, "u1") {
		out.bytes, out.data = make([]byte, len(a.Data)), nil
		for k, v := range a.Data {
			out.bytes[k] = byte(v)
		}
	}
	return out, nil
}

// pickMember returns the .npy file of a zip that is called name, or its only
// one if name is empty.
func pickMember(data []byte, name string) ([]byte, error) {
	members, err := npy.ReadZip(data)
	if err != nil {
		return nil, fmt.Errorf("%w; save it again with numpy.savez", err)
	}
	var names []string
	for _, m := range members {
		if m.Name == name || name == "" && len(members) == 1 {
			return m.File, nil
		}
		if names = append(names, quote(m.Name)); len(names) == 8 {
			break
		}
	}
	list := strings.Join(names, ", ")
	if name != "" {
		return nil, fmt.Errorf("has no array %s, it has: %s; name one of them", quote(name), list)
	}
	if len(members) == 0 {
		return nil, errors.New("holds no array; save one with numpy.savez")
	}
	return nil, fmt.Errorf("has %d arrays: %s; choose one as in file.npz:array", len(members), list)
}
