package property

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"psafe/internal/testscale"
)

// stream is content of a length that nobody knows.
func stream(t *testing.T, content string) *source {
	t.Helper()
	s, err := newSource(struct{ io.Reader }{strings.NewReader(content)}, -1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every format gives the same points from a file, out of gzip and from a pipe, and its
// digest is that of the file.
func TestSources(t *testing.T) {
	f4 := npyFile("<f4", "(2, 2)", []float32{1, -2.5, 0, 4})
	for name, content := range map[string]string{
		"idx":   idxFile(8, []uint32{2, 3}, []byte{0, 1, 77, 128, 254, 255}),
		"float": idxFile(0xd, []uint32{1, 2}, []float32{.5, 5}),
		"npy":   f4,
		"u1":    npyFile("|u1", "(2, 3)", []byte{0, 1, 77, 128, 254, 255}),
		"npz":   npzFile("x.npy", f4),
		"csv":   "0.1,-2e-3\n 5 ,.3\r\n",
	} {
		want, err := decodePoints(textSource(t, content), "", InputOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		packed := gzipped(content)
		for _, s := range []*source{stream(t, content), textSource(t, packed), stream(t, packed)} {
			got, err := decodePoints(s, "", InputOptions{}, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got.n != want.n || got.Dim != want.Dim {
				t.Fatalf("%s: %d points of %d, want %d of %d", name, got.n, got.Dim, want.n, want.Dim)
			}
			for i := range got.n {
				lo, hi := got.At(i)
				wantLo, wantHi := want.At(i)
				if fmt.Sprint(lo, hi) != fmt.Sprint(wantLo, wantHi) {
					t.Errorf("%s: point %d", name, i)
				}
			}
		}
		one := textSource(t, packed)
		if _, err := decodePoints(one, "", InputOptions{}, nil); err != nil {
			t.Fatal(err)
		}
		digest, err := one.finish()
		other := stream(t, packed)
		_, _ = io.Copy(io.Discard, other.raw)
		if again, err2 := other.finish(); err != nil || err2 != nil || digest != again || len(digest) != 64 {
			t.Errorf("%s: digests %s, %s; %v, %v", name, digest, again, err, err2)
		}
	}
}

func TestSpool(t *testing.T) {
	content := make([]byte, 2*spoolPiece+7)
	for i := range content {
		content[i] = byte(i % 251)
	}
	s, err := newSpool(iotest.HalfReader(bytes.NewReader(content)))
	if err != nil || s.size != int64(len(content)) {
		t.Fatalf("%d bytes, %v", s.size, err)
	}
	if err := iotest.TestReader(io.NewSectionReader(s, 0, s.size), content); err != nil {
		t.Error(err)
	}
	if n, err := s.ReadAt(make([]byte, 9), s.size-4); n != 4 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
	broken := iotest.TimeoutReader(bytes.NewReader(content))
	if _, err := newSpool(broken); err != iotest.ErrTimeout {
		t.Error(err)
	}
}

// One point without an axis that counts points is told from points of another network.
func TestOnePoint(t *testing.T) {
	one := npyFile("<f8", "(2, 1, 3)", []float64{1, 2, 3, 4, 5, 6})
	_, err := decodePoints(textSource(t, one), "", InputOptions{Dim: 6}, nil)
	wantError(t, err, "points have 3 coordinates, the network takes 6; give points of that network; shape [2 1 3] is that of one point: put an axis of length 1 in front")
}

// A network says how many coordinates a point has.
func TestDim(t *testing.T) {
	for name, content := range map[string]string{
		"idx": idxFile(8, []uint32{2, 3}, []byte{0, 1, 77, 128, 254, 255}),
		"npy": npyFile("<f8", "(1, 3)", []float64{1, 2, 3}),
		"csv": "1,2,3\n",
	} {
		if _, err := decodePoints(textSource(t, content), "", InputOptions{Dim: 3}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err := decodePoints(textSource(t, content), "", InputOptions{Dim: 2}, nil)
		wantError(t, err, "points have 3 coordinates, the network takes 2")
	}
}

// An array behind the first eight of a .npz is found.
func TestNinthArray(t *testing.T) {
	var parts []string
	for i := range 12 {
		parts = append(parts, fmt.Sprintf("a%d.npy", i), npyFile("<f8", "(1,)", []float64{float64(i)}))
	}
	path := write(t, "many.npz", npzFile(parts...))
	p, err := ReadPoints(path+":a11", InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lo, _ := p.At(0); lo[0] != 11 {
		t.Errorf("read %v", lo)
	}
	_, err = ReadPoints(path, InputOptions{})
	wantError(t, err, "12 arrays", `"a7"`)
	if strings.Contains(err.Error(), `"a8"`) {
		t.Errorf("too long a list: %v", err)
	}
}

func TestPlainText(t *testing.T) {
	long := strings.Repeat("é,", 5000)
	for _, c := range []struct{ text, want string }{
		{long, ""}, {"", ""}, {"\"a\nb\",1\n2,3\n", ""},
		{"a\x00b", "not text"}, {strings.Repeat("1\n", 5000) + "\xff", "not text"}, {"1\xc3", "not text"},
		{strings.Repeat("a", maxLine+1), "line 1: is longer than"},
		{"1\n\"" + strings.Repeat("a\n", maxLine/2), "line 2: is longer than"},
		{"1\n1\n" + strings.Repeat(",", maxColumns), "line 3: has more than"},
	} {
		for k, r := range []io.Reader{strings.NewReader(c.text), iotest.DataErrReader(strings.NewReader(c.text)), iotest.OneByteReader(strings.NewReader(c.text))} {
			if k == 2 && len(c.text) > maxLine && !testscale.Deep(t) {
				continue // 32 million reads
			}
			got, err := io.ReadAll(&plainText{r: r})
			if c.want == "" {
				if err != nil || string(got) != c.text {
					t.Errorf("%.20q: %d of %d bytes, %v", c.text, len(got), len(c.text), err)
				}
				continue
			}
			wantError(t, err, c.want)
		}
	}
}

// Sets of one class share memory in a file of properties.
func TestSharedSets(t *testing.T) {
	text := `{"kind": "argmax_is", "class": 1, "boxes": [[[0,1]]]}`
	tasks, err := parseTasks([]byte(`{"properties": [`+text+`,`+text+`,`+strings.Replace(text, "_is", "_is_never", 1)+`]}`), 3)
	if err != nil {
		t.Fatal(err)
	}
	if &tasks[0].S.Rows[0] != &tasks[1].S.Rows[0] || &tasks[0].S.Rows[0] == &tasks[2].S.Rows[0] {
		t.Error("sets of properties are not shared by kind and class")
	}
}

func TestManyOutputs(t *testing.T) {
	_, _, err := ParseSpec("argmax_is:0", 1<<20)
	wantError(t, err, "in rows of 1048576 coefficients", "fewer outputs")
	if _, err := (&Points{n: 3, Dim: 1 << 40}).Choose(":", 2, 1); err != nil {
		wantError(t, err, `index ":"`, "3 points of 1099511627776 coordinates")
	}
	if got, err := (&Points{n: 3, Dim: 1}).Choose("1:", 2, 1); err != nil || fmt.Sprint(got) != "[1 2]" {
		t.Errorf("%v, %v", got, err)
	}
}
