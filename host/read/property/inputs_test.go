package property

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// npyFile is a .npy file, version 1, of little-endian elements.
func npyFile(descr string, shape string, elements any) string {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(head)))
	b.WriteString(head)
	if err := binary.Write(&b, binary.LittleEndian, elements); err != nil {
		panic(err)
	}
	return b.String()
}

// idxFile is an IDX file.
func idxFile(kind byte, shape []uint32, elements any) string {
	var b bytes.Buffer
	b.Write([]byte{0, 0, kind, byte(len(shape))})
	for _, v := range []any{shape, elements} {
		if err := binary.Write(&b, binary.BigEndian, v); err != nil {
			panic(err)
		}
	}
	return b.String()
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// npzFile zips name, content, name, content, ...
func npzFile(parts ...string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for k := 0; k < len(parts); k += 2 {
		f, err := w.Create(parts[k])
		if err != nil {
			panic(err)
		}
		_, _ = f.Write([]byte(parts[k+1]))
	}
	_ = w.Close()
	return b.String()
}

func rats(texts ...string) (out []*big.Rat) {
	for _, s := range texts {
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			panic(s)
		}
		out = append(out, r)
	}
	return out
}

func TestReadPoints(t *testing.T) {
	bytes6 := idxFile(8, []uint32{2, 3}, []byte{0, 1, 77, 128, 254, 255})
	as255 := rats("0", "1/255", "77/255", "128/255", "254/255", "1")
	floats := rats("1", "-2.5", "0", "4")
	f4 := npyFile("<f4", "(2, 2)", []float32{1, -2.5, 0, 4})
	for _, c := range []struct {
		name, content, member string
		opt                   InputOptions
		dim                   int
		want                  []*big.Rat
		labels                []int
	}{
		{"idx", bytes6, "", InputOptions{}, 3, as255, nil},
		{"idx.gz", gzipped(bytes6), "", InputOptions{LabelColumn: "none"}, 3, as255, nil},
		{"scaled", bytes6, "", InputOptions{Scale: "0.1"}, 3, rats("0", "0.1", "7.7", "12.8", "25.4", "25.5"), nil},
		{"ratio", bytes6, "", InputOptions{Scale: "1/256"}, 3, rats("0", "1/256", "77/256", "1/2", "254/256", "255/256"), nil},
		{"sbyte", idxFile(9, []uint32{1, 2}, []int8{-1, 5}), "", InputOptions{}, 2, rats("-1", "5"), nil},
		{"short", idxFile(0xb, []uint32{1, 2}, []int16{-300, 5}), "", InputOptions{}, 2, rats("-300", "5"), nil},
		{"int", idxFile(0xc, []uint32{2}, []int32{-70000, 5}), "", InputOptions{}, 1, rats("-70000", "5"), nil},
		{"float", idxFile(0xd, []uint32{1, 1, 2}, []float32{.5, 5}), "", InputOptions{}, 2, rats("0.5", "5"), nil},
		{"double", idxFile(0xe, []uint32{1, 2}, []float64{.5, -5}), "", InputOptions{Scale: "0.3"}, 2, rats("0.15", "-1.5"), nil},
		{"a.npy", f4, "", InputOptions{}, 2, floats, nil},
		{"a.npy.gz", gzipped(f4), "", InputOptions{Scale: "1.0"}, 2, floats, nil},
		{"u1.npy", npyFile("|u1", "(2, 3)", []byte{0, 1, 77, 128, 254, 255}), "", InputOptions{}, 3, as255, nil},
		{"i8.npy", npyFile("<i8", "(3,)", []int64{7, -7, 0}), "", InputOptions{}, 1, rats("7", "-7", "0"), nil},
		{"one.npz", npzFile("x.npy", f4), "", InputOptions{}, 2, floats, nil},
		{"two.npz", npzFile("y.npy", npyFile("<i8", "(1,)", []int64{1}), "x.npy", f4), ":x", InputOptions{}, 2, floats, nil},
		{"a.csv", "0.1,-2e-3\n 5 ,.3\r\n", "", InputOptions{}, 2, rats("0.1", "-0.002", "5", "0.3"), nil},
		{"bom.csv", "\xef\xbb\xbfa,\"b\"\n0.1,2\n", "", InputOptions{Scale: "1/3"}, 2, rats("1/30", "2/3"), nil},
		{"first.csv", "3,0.1\n4,0.2\n", "", InputOptions{LabelColumn: "first"}, 1, rats("0.1", "0.2"), []int{3, 4}},
		{"last.csv", "x,y\n0.1,3.0\n0.2,4\n", "", InputOptions{LabelColumn: "last"}, 1, rats("0.1", "0.2"), []int{3, 4}},
		{"named.csv", "x,class,y\n0.1,3,1\n", "", InputOptions{LabelColumn: "class"}, 2, rats("0.1", "1"), []int{3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.name, c.content)
			p, err := ReadPoints(path+c.member, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if p.Dim != c.dim || p.N() != len(c.want)/c.dim || p.Source != path+c.member || !slices.Equal(p.Labels, c.labels) {
				t.Fatalf("dim %d, n %d, source %s, labels %v", p.Dim, p.N(), p.Source, p.Labels)
			}
			for i := range p.N() {
				lo, hi := p.At(i)
				for j := range lo {
					r := c.want[i*c.dim+j]
					what := fmt.Sprintf("point %d coordinate %d", i, j)
					if c.name == "bom.csv" || c.name == "double" { // a rounded factor of a product
						if exact(lo[j]).Cmp(r) > 0 || exact(hi[j]).Cmp(r) < 0 || math.Abs(hi[j]-lo[j]) > 1e-15 {
							t.Errorf("%s: [%v, %v] for %v", what, lo[j], hi[j], r)
						}
						continue
					}
					tight(t, what, lo[j], hi[j], r)
				}
			}
		})
	}
}

func TestReadPointsErrors(t *testing.T) {
	f8 := npyFile("<f8", "(1, 2)", []float64{1, math.NaN()})
	var last, none = InputOptions{LabelColumn: "last"}, InputOptions{}
	for _, c := range []struct {
		name, content, member string
		opt                   InputOptions
		want                  []string
	}{
		{"scale", "1,2", "", InputOptions{Scale: "abc"}, []string{"input scale", `"abc"`}},
		{"scale0", "1,2", "", InputOptions{Scale: "0"}, []string{"input scale", "positive"}},
		{"huge", "1,2e300", "", InputOptions{Scale: "1e300"}, []string{"point 0: coordinate 1", "range"}},
		{"hugebyte", idxFile(8, []uint32{1}, []byte{1}), "", InputOptions{Scale: "1e308"}, []string{"range"}},
		{"nan", f8, "", none, []string{"point 0: coordinate 1", "NaN"}},
		{"object", npyFile("|O", "(1,)", []byte{0x80, 2, '.'}), "", none, []string{"Python objects"}},
		{"npycut", f8[:len(f8)-1], "", none, []string{"save it again"}},
		{"scalar", npyFile("<f8", "()", []float64{1}), "", none, []string{"single number"}},
		{"empty.npy", npyFile("<f8", "(0, 4)", []float64{}), "", none, []string{"shape [0 4]"}},
		{"empty2.npy", npyFile("<f8", "(4, 0)", []float64{}), "", none, []string{"shape [4 0]"}},
		{"npylabel", npyFile("<f8", "(1,)", []float64{1}), "", last, []string{"label column", `"last"`}},
		{"two.npz", npzFile("y.npy", f8, "x.npy", f8), "", none, []string{"2 arrays", `"y", "x"`}},
		{"key.npz", npzFile("y.npy", f8), ":z", none, []string{`no array "z"`, `"y"`}},
		{"nokey.npz", npzFile("y.npy", f8), ":", none, []string{"after the colon"}},
		{"fake.npz", "1,2", ":z", none, []string{"not a .npz"}},
		{"cut.npz", npzFile("y.npy", f8)[:50], "", none, []string{"zip"}},
		{"none.npz", npzFile(), "", none, []string{"no array"}},
		{"cut.gz", gzipped(strings.Repeat("1,2\n", 99))[:20], "", none, []string{"damaged gzip"}},
		{"cut2.gz", "\x1f\x8b", "", none, []string{"damaged gzip"}},
		{"idx3", "\x00\x00\x08", "", none, []string{"cut short at 3"}},
		{"idxtype", "\x00\x00\x07\x01", "", none, []string{"0x07"}},
		{"idxaxes", "\x00\x00\x08\x00", "", none, []string{"0 axes"}},
		{"idxhead", "\x00\x00\x08\x02\x00\x00", "", none, []string{"2 axes"}},
		{"idxbig", idxFile(8, []uint32{1 << 31, 1 << 31, 1 << 31}, []byte{1}), "", none, []string{"more than the 1"}},
		{"idxlong", idxFile(8, []uint32{1}, []byte{1, 2}), "", none, []string{"needs 1 bytes", "there are 2"}},
		{"idxzero", idxFile(8, []uint32{0, 1 << 31, 1 << 31, 1 << 31}, []byte{}), "", none, []string{"no data"}},
		{"idxnan", idxFile(0xd, []uint32{1}, []float32{float32(math.Inf(1))}), "", none, []string{"Inf"}},
		{"empty", "", "", none, []string{"no point"}},
		{"header", "a,b\n", "", none, []string{"no point"}},
		{"binary", "\x89BMP\r\n\x1a\n\x00", "", none, []string{"not text"}},
		{"image", "\x89PNG\r\n\x1a\n\x00", "", none, []string{"PNG header is damaged"}},
		{"mixed", "1.O,2\n1,2\n", "", none, []string{"line 1", "column 1", `"1.O"`}},
		{"field", "1,2\n\n1,x\n", "", none, []string{"line 3: column 2", `"x"`}},
		{"inf", "1,2\n1,inf\n", "", none, []string{"line 2: column 2", `"inf"`}},
		{"ragged", "1,2\n1\n", "", none, []string{"line 2", "fields"}},
		{"quote", "1,\"2\n", "", none, []string{"line"}},
		{"fraction", "1,2.5\n", "", last, []string{"line 1: column 2", "not a class"}},
		{"tenth", "1,0.1\n", "", last, []string{"line 1: column 2", "not a class"}},
		{"negative", "1,-1\n", "", last, []string{"line 1: column 2", "not a class"}},
		{"only", "1\n", "", last, []string{"only column"}},
		{"pandas header", "0,1\n0.8,0.2\n", "", none, []string{"line 1", "is 0,1, which may be the header that pandas writes", "0.0,1"}},
		{"pandas header of whole numbers", "0,1,2\n7,8,9\n", "", none, []string{"header=False"}},
		{"pandas header of one column", "0\r\n0.8\r\n", "", none, []string{"line 1", "header=False"}},
		{"pandas header and marked", "\xef\xbb\xbf0,1,2\n1,2,3\n", "", last, []string{"is 0,1,2, which"}},
		{"pandas header and a word", "0,1,class\n0.8,0.2,1\n", "", last, []string{"line 1: is a header that names columns by numbers"}},
		{"pandas index", ",a,b\n0,0.8,0.2\n", "", none, []string{"line 1: column 1 has no name", "index=False"}},
		{"pandas index and header", ",0,1\n0,0.8,0.2\n", "", none, []string{"column 1 has no name"}},
		{"class names", "0.8,0.2,setosa\n", "", last, []string{"line 1: column 3 holds names of classes (\"setosa\")"}},
		{"class names first", "setosa,0.8,0.2\n", "", InputOptions{LabelColumn: "first"}, []string{"line 1: column 1 holds names of classes"}},
		{"class names with header", "a,b,kind\n0.8,0.2,setosa\n", "", InputOptions{LabelColumn: "kind"}, []string{"line 2: column 3 holds names of classes"}},
		{"semicolons", "0.8;0.2\n", "", none, []string{"line 1", "semicolons"}},
		{"semicolons and a header", "fixed acidity;pH\n0.8;0.2\n", "", none, []string{"line 1", "semicolons"}},
		{"semicolons and decimal commas", "0,8;0,2\n", "", none, []string{"line 1", "semicolons"}},
		{"tabs", "a\tb\n1\t2\n", "", none, []string{"line 1", "tabs"}},
		{"savetxt", "8.0e-01 2.0e-01\n", "", none, []string{"line 1", "spaces", `delimiter=","`}},
		{"savetxt with a header", "# a b\n8.0e-01 2.0e-01\n", "", InputOptions{Dim: 2}, []string{"line 1", "spaces"}},
		{"nohead", "1,2\n", "", InputOptions{LabelColumn: "class"}, []string{"no header", `"class"`}},
		{"nocol", "a,b\n1,2\n", "", InputOptions{LabelColumn: "class"}, []string{"line 1", `"class"`}},
		{"near", "speed,class\n1,2\n", "", InputOptions{LabelColumn: "clas"}, []string{`the header has "speed", "class"; did you mean "class"?`}},
		{"torch.pt", zipOf(t, "x/data.pkl"), "", none, []string{"is a file of torch.save", "numpy.save"}},
		{"twice", "a,a\n1,2\n", "", InputOptions{LabelColumn: "a"}, []string{"columns 1 and 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.name, c.content) + c.member
			_, err := ReadPoints(path, c.opt)
			wantError(t, err, append(c.want, path+": ")...)
		})
	}
	_, err := ReadPoints("no/such\nfile", none)
	wantError(t, err, `"no/such\nfile": cannot open`)
}

// zipOf is a zip with one member.
func zipOf(t *testing.T, member string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	if _, err := z.Create(member); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReadLabels(t *testing.T) {
	for name, content := range map[string]string{
		"idx":    idxFile(8, []uint32{3}, []byte{7, 2, 255}),
		"idx.gz": gzipped(idxFile(0xc, []uint32{3}, []int32{7, 2, 255})),
		"npy":    npyFile("<i8", "(3, 1)", []int64{7, 2, 255}),
		"f.npy":  npyFile("<f8", "(3,)", []float64{7, 2, 255}),
	} {
		got, err := ReadLabels(write(t, name, content))
		if err != nil || !slices.Equal(got, []int{7, 2, 255}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, c := range map[string][2]string{
		"csv":      {"1\n2\n", "neither"},
		"wide":     {idxFile(8, []uint32{1, 2}, []byte{1, 2}), "shape [1 2]"},
		"none":     {idxFile(8, []uint32{0}, []byte{}), "shape [0]"},
		"scalar":   {npyFile("<i8", "()", []int64{1}), "shape []"},
		"negative": {npyFile("<i8", "(2,)", []int64{1, -1}), "label of point 1: -1"},
		"fraction": {npyFile("<f8", "(2,)", []float64{1, 1.5}), "label of point 1: 1.5"},
		"nan":      {npyFile("<f8", "(1,)", []float64{math.NaN()}), "NaN"},
	} {
		path := write(t, name, c[0])
		_, err := ReadLabels(path)
		wantError(t, err, path+": ", c[1])
	}
}

func TestMNIST(t *testing.T) {
	start := time.Now()
	p, err := ReadPoints(dataFile(t, "mnist/t10k-images-idx3-ubyte.gz"), InputOptions{})
	t.Logf("loading took %v", time.Since(start))
	if err != nil {
		t.Fatal(err)
	}
	if p.N() != 10000 || p.Dim != 784 || !slices.Equal(p.Shape, []int{28, 28}) {
		t.Errorf("%d images of %d, shape %v", p.N(), p.Dim, p.Shape)
	}
	lo, hi := p.At(0)
	for j := range lo {
		b := p.bytes[j]
		tight(t, fmt.Sprint("pixel ", j), lo[j], hi[j], big.NewRat(int64(b), 255))
	}
	labels, err := ReadLabels(dataFile(t, "mnist/t10k-labels-idx1-ubyte.gz"))
	if err != nil || len(labels) != 10000 || !slices.Equal(labels[:5], []int{7, 2, 1, 0, 4}) {
		t.Errorf("%d labels, %v", len(labels), err)
	}
	eps, _ := NewDecimal("0.05")
	if box, err := p.Ball(9999, eps, &[2]Decimal{exactly(0), exactly(1)}); err != nil || len(box.Lo) != 784 {
		t.Error(err)
	}
}

// FuzzReadPoints looks for panics and for points that are not finite.
func FuzzReadPoints(f *testing.F) {
	f.Add([]byte("a,b\n0.1,2\n"), "last", "1/3")
	f.Add([]byte(idxFile(8, []uint32{2, 2}, []byte{1, 2, 3, 4})), "", "")
	f.Add([]byte(idxFile(0xd, []uint32{2, 1}, []float32{1, 2})), "", "0.1")
	f.Add([]byte(npyFile("<f4", "(2, 2)", []float32{1, -2.5, 0, 4})), "none", "2")
	f.Fuzz(func(t *testing.T, data []byte, column, scaleText string) {
		scale, err := parseRatio(scaleText)
		if err != nil {
			scale = nil
		}
		opt := InputOptions{LabelColumn: column}
		s, err := newSource(bytes.NewReader(data), int64(len(data)))
		var p *Points
		if err == nil {
			p, err = decodePoints(s, "", opt, scale)
		}
		// A stream of unknown length gives the same.
		s2, err2 := newSource(struct{ io.Reader }{bytes.NewReader(data)}, -1)
		var p2 *Points
		if err2 == nil {
			p2, err2 = decodePoints(s2, "", opt, scale)
		}
		if (err == nil) != (err2 == nil) {
			t.Fatalf("of known length: %v; of unknown length: %v", err, err2)
		}
		if err == nil && (p.n != p2.n || p.Dim != p2.Dim || !slices.Equal(p.Labels, p2.Labels)) {
			t.Fatalf("%d points of %d as a stream, %d of %d", p2.n, p2.Dim, p.n, p.Dim)
		}
		if err != nil {
			wantError(t, err)
			return
		}
		for i := range min(p.N(), 1000) { // a gzip of a few bytes may hold millions
			lo, hi := p.At(i)
			if _, err := BallLinf(lo, hi, exactly(0), nil); err != nil || len(lo) != p.Dim {
				t.Fatal(err)
			}
		}
	})
}

// FuzzReadLabels looks for panics and for labels that are no classes, of content that has
// a length and of a stream.
func FuzzReadLabels(f *testing.F) {
	f.Add([]byte(idxFile(8, []uint32{3}, []byte{7, 2, 255})))
	f.Add([]byte(gzipped(idxFile(0xc, []uint32{2}, []int32{7, 2}))))
	f.Add([]byte(npyFile("<i8", "(2, 1)", []int64{7, 2})))
	f.Add([]byte(npzFile("x.npy", npyFile("<f8", "(1,)", []float64{3}))))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, s := range []func() (*source, error){
			func() (*source, error) { return newSource(bytes.NewReader(data), int64(len(data))) },
			func() (*source, error) { return newSource(struct{ io.Reader }{bytes.NewReader(data)}, -1) },
		} {
			s, err := s()
			var labels []int
			if err == nil {
				labels, err = decodeLabels(s, "")
			}
			if err != nil {
				wantError(t, err)
				continue
			}
			if len(labels) == 0 || slices.Min(labels) < 0 || slices.Max(labels) > maxLabel {
				t.Fatalf("labels %v", labels)
			}
		}
	})
}
