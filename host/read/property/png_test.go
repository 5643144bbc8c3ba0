package property

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// pngOf is an image of w x h, with the colours that at says.
func pngOf(t testing.TB, img interface {
	image.Image
	Set(x, y int, c color.Color)
}, at func(x, y int) color.Color) string {
	t.Helper()
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			img.Set(x, y, at(x, y))
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var pixels = image.Rect(0, 0, 3, 2)

func colour(x, y int) color.Color {
	return color.NRGBA{byte(100*y + x), byte(10 + x), byte(250 - y), 255}
}

// TestPNG: pixels are the bytes of the file, row by row, channels last.
func TestPNG(t *testing.T) {
	var rgb, grey []byte
	for y := range 2 {
		for x := range 3 {
			rgb = append(rgb, byte(100*y+x), byte(10+x), byte(250-y))
			grey = append(grey, byte(80*y+x))
		}
	}
	greyAt := func(x, y int) color.Color { return color.Gray{byte(80*y + x)} }
	palette := color.Palette{}
	for y := range 2 {
		for x := range 3 {
			palette = append(palette, colour(x, y))
		}
	}
	for name, c := range map[string]struct {
		file string
		want []byte
	}{
		"grey": {pngOf(t, image.NewGray(pixels), greyAt), grey}, "rgb": {pngOf(t, image.NewRGBA(pixels), colour), rgb},
		"opaque alpha": {pngOf(t, image.NewNRGBA(pixels), colour), rgb}, "palette": {pngOf(t, image.NewPaletted(pixels, palette), colour), rgb},
		"two greys": {pngOf(t, image.NewPaletted(pixels, color.Palette{color.Gray{0}, color.Gray{255}}), func(x, y int) color.Color { return color.Gray{byte(255 * (x % 2))} }),
			[]byte{0, 0, 0, 255, 255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 255, 0, 0, 0}},
	} {
		p, err := ReadPoints(write(t, "x.png", c.file), InputOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.N() != 1 || !slices.Equal(p.Shape, []int{2, 3, len(c.want) / 6}) || !slices.Equal(p.bytes, c.want) || !p.channelsLast {
			t.Errorf("%s: shape %v, %v, want %v", name, p.Shape, p.bytes, c.want)
		}
		if lo, hi := p.At(0); lo[1] != p.table[c.want[1]].Lo || hi[1] != p.table[c.want[1]].Hi {
			t.Errorf("%s: At is %v to %v", name, lo, hi)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(c.file))); p.SHA256 != want {
			t.Errorf("%s: digest %s", name, p.SHA256)
		}
	}
}

// bigPNG is a file that promises so many pixels and has none.
func bigPNG(w, h uint32) string {
	head := fmt.Sprintf("IHDR%s%s\x08\x02\x00\x00\x00", be(w), be(h))
	return pngMagic + be(13) + head + be(crc32.ChecksumIEEE([]byte(head)))
}

func be(n uint32) string { return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) }

func TestPNGRefuses(t *testing.T) {
	half := func(x, y int) color.Color { return color.NRGBA{9, 9, 9, byte(255 - x)} }
	good := pngOf(t, image.NewRGBA(pixels), colour)
	for name, c := range map[string]struct {
		file string
		dim  int
		want string
	}{
		"alpha":             {pngOf(t, image.NewNRGBA(pixels), half), 0, "pixel (1, 0) is not opaque"},
		"16 bits and alpha": {pngOf(t, image.NewNRGBA64(pixels), func(x, y int) color.Color { return color.NRGBA64{9, 9, 9, uint16(65535 - x)} }), 0, "pixel (1, 0) is not opaque"},
		"cut":               {good[:len(good)/2], 0, "damaged PNG"},
		"header":            {good[:20], 0, "PNG header is damaged"},
		"behind":            {good + "x", 0, "goes on after its last element"},
		"dim":               {good, 7, "points have 18 coordinates, the network takes 7"},
		"size":              {good, 27, "give points of that network; images of shape [2 3 3] have to be scaled or cut to its size first"},
		"coloured":          {good, 6, "images of shape [2 3 3] may be coloured ones, for a network of one channel"},
		"grey":              {good, 54, "images of shape [2 3 3] may be grey ones, for a network of three channels"},
		"bomb":              {bigPNG(1<<30, 1<<30), 0, "has 1073741824 x 1073741824 pixels"},
		"none":              {bigPNG(0, 5), 0, "has 0 x 5 pixels"},
		"sum":               {good[:40] + "\x01" + good[41:], 0, "damaged PNG"},
	} {
		path := write(t, "x.png", c.file)
		_, err := ReadPoints(path, InputOptions{Dim: c.dim})
		wantError(t, err, path+": ", c.want)
		if name == "alpha" {
			_, err = ReadLabels(path)
			wantError(t, err, path)
		}
	}
	_, err := ReadPoints(write(t, "x.png", good), InputOptions{LabelColumn: "last"})
	wantError(t, err, "no label column")
}

// TestPNG16: numbers of 16 bits are divided by 65535, or multiplied by the scale.
func TestPNG16(t *testing.T) {
	at := func(x, y int) color.Color {
		return color.NRGBA64{uint16(20000*y + x), uint16(1000 + x), uint16(65535 - y), 65535}
	}
	grey := func(x, y int) color.Color { return color.Gray16{uint16(30000*y + x)} }
	for name, c := range map[string]struct {
		file, scale string
		channels    int
		second      int64 // the number at (1, 0), channel 0, and what it is divided by
		by          int64
	}{
		"rgb":   {pngOf(t, image.NewRGBA64(pixels), at), "", 3, 1, 65535},
		"alpha": {pngOf(t, image.NewNRGBA64(pixels), at), "1/3", 3, 1, 3},
		"grey":  {pngOf(t, image.NewGray16(pixels), grey), "", 1, 1, 65535},
		"scale": {pngOf(t, image.NewGray16(pixels), grey), "1", 1, 1, 1},
	} {
		p, err := ReadPoints(write(t, "x.png", c.file), InputOptions{Scale: c.scale})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lo, hi := p.At(0)
		want, exact := new(big.Rat).SetFrac64(c.second, c.by).Float64()
		if len(lo) != 6*c.channels || !slices.Equal(p.Shape, []int{2, 3, c.channels}) || !p.channelsLast ||
			!(lo[c.channels] <= want && want <= hi[c.channels]) || exact != (lo[c.channels] == hi[c.channels]) || math.Nextafter(lo[c.channels], 2) < hi[c.channels] {
			t.Errorf("%s: shape %v, %v to %v, want %v", name, p.Shape, lo, hi, want)
		}
	}
	one, two := write(t, "a.png", pngOf(t, image.NewGray16(pixels), grey)), write(t, "b.png", pngOf(t, image.NewGray16(pixels), grey))
	p, err := ReadPoints(one+","+two, InputOptions{})
	if err != nil || p.N() != 2 {
		t.Fatal(err)
	}
	if lo, _ := p.At(1); lo[3] == 0 || len(lo) != 6 {
		t.Errorf("the second image is %v", lo)
	}
	_, err = ReadPoints(one+","+write(t, "c.png", pngOf(t, image.NewGray(pixels), grey)), InputOptions{})
	wantError(t, err, "give images of one depth")
	dot := write(t, "d.png", pngOf(t, image.NewGray16(image.Rect(0, 0, 1, 1)), grey))
	_, err = ReadLabels(dot)
	wantError(t, err, "is neither an IDX nor a NumPy file of labels")
	_, err = ReadRegion(RegionText{Eps: write(t, "d.npy", pngOf(t, image.NewGray16(image.Rect(0, 0, 1, 1)), grey))}, 1)
	wantError(t, err, "has shape [1 1 1 1]")
}

// TestImages: folders and lists of images, in their order, with the digest that the shell
// gives.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	var lines string
	for k, name := range []string{"a.png", "b.png", "c10.png", "c9.png"} { // the order of bytes
		content := pngOf(t, image.NewGray(pixels), func(x, y int) color.Color { return color.Gray{byte(10*k + x)} })
		lines += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.WriteFile(filepath.Join(dir, "labels.csv"), []byte("1\n"), 0o600)
	p, err := ReadPoints(dir, InputOptions{Dim: 6})
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(lines))); p.N() != 4 || p.SHA256 != want || p.bytes[2*6] != 20 || p.Source != dir {
		t.Errorf("%d images, digest %s, %v", p.N(), p.SHA256, p.bytes)
	}
	list := filepath.Join(dir, "c9.png") + "," + filepath.Join(dir, "a.png")
	if p, err = ReadPoints(list, InputOptions{}); err != nil || p.N() != 2 || p.bytes[0] != 30 || p.bytes[6] != 0 {
		t.Errorf("a list: %v, %v", p, err)
	}
	if files := FilesOf(list); len(files) != 2 || files[1] != filepath.Join(dir, "a.png") {
		t.Errorf("the files of the list are %q", files)
	}
	_, err = ReadPoints(dir, InputOptions{LabelColumn: "last"})
	wantError(t, err, "no label column")
	_, err = ReadPoints(list+",none.png", InputOptions{})
	wantError(t, err, `"none.png": cannot open`)
	if err := os.WriteFile(filepath.Join(dir, "d.png"), []byte(pngOf(t, image.NewRGBA(pixels), colour)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = ReadPoints(dir, InputOptions{})
	wantError(t, err, dir+`: "d.png": has shape [2 3 3], the first image [2 3 1]`)
	if err := os.WriteFile(filepath.Join(dir, "a.png"), []byte("1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = ReadPoints(dir, InputOptions{})
	wantError(t, err, dir+`: "a.png": is no PNG file`)
	_, err = ReadPoints(t.TempDir(), InputOptions{})
	wantError(t, err, "is a folder without a file whose name ends in .png")
}

// TestInOrder: images are reordered so that each coordinate is where the network has it.
func TestInOrder(t *testing.T) {
	raw := &array{shape: []int{2, 2, 4, 3}, data: make([]float64, 48)}
	for k := range raw.data {
		raw.data[k] = float64(k)
	}
	p, err := raw.points(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Source = "x.npy"
	if _, err = p.InOrder("last"); err == nil {
		t.Error("an axis of 2 and one of 3 are told apart") // both may be channels
	}
	wantError(t, err, "of which nobody can tell")
	p.channelsLast = true
	q, err := p.InOrder("last")
	if err != nil || q != p {
		t.Errorf("what is in order is %v, %v", q, err)
	}
	if q, err = p.InOrder("first"); err != nil || !slices.Equal(q.Shape, []int{3, 2, 4}) {
		t.Fatalf("%v, %v", q, err)
	}
	for i := range 2 {
		lo, hi := q.At(i)
		for c := range 3 {
			for y := range 2 {
				for x := range 4 {
					if want := float64(24*i + (y*4+x)*3 + c); lo[(c*2+y)*4+x] != want || hi[(c*2+y)*4+x] != want {
						t.Errorf("point %d channel %d row %d column %d is %v, want %v", i, c, y, x, lo[(c*2+y)*4+x], want)
					}
				}
			}
		}
	}
	if back, _ := q.reordered("last").At(1); !slices.Equal(back, raw.data[24:]) {
		t.Errorf("there and back again: %v", back)
	}
	bytesOf := &array{shape: []int{1, 5, 5, 3}, bytes: make([]byte, 75)}
	for k := range bytesOf.bytes {
		bytesOf.bytes[k] = byte(k)
	}
	if p, err = bytesOf.points(nil); err == nil {
		p, err = p.InOrder("first")
	}
	if err != nil {
		t.Fatal(err)
	}
	if lo, _ := p.At(0); lo[25] != p.table[1].Lo || lo[1] != p.table[3].Lo {
		t.Errorf("bytes: %v", lo)
	}
	for _, bad := range [][]int{{12}, {5, 5, 5}, {2, 2, 2, 2}} {
		_, err := (&Points{Source: "x", Shape: bad}).InOrder("first")
		wantError(t, err, fmt.Sprint(bad))
	}
	_, err = p.InOrder("middle")
	wantError(t, err, `"middle" is neither first nor last`)
	flat := &Points{Shape: []int{5, 5}}
	if q, err := flat.InOrder("first"); err != nil || q != flat {
		t.Errorf("one channel: %v", err)
	}
}

func TestOrderOf(t *testing.T) {
	for _, c := range []struct {
		is, want []int
		order    string
		err      string
	}{
		{[]int{28, 28}, []int{1, 28, 28}, "", ""}, {[]int{28, 28, 1}, []int{1, 28, 28}, "", ""}, {[]int{784}, []int{1, 28, 28}, "", ""},
		{[]int{32, 32, 3}, []int{3, 32, 32}, "first", ""}, {[]int{3, 32, 32}, []int{32, 32, 3}, "last", ""}, {[]int{3, 32, 32}, []int{3, 32, 32}, "", ""},
		{[]int{4, 6, 3}, []int{3, 6, 4}, "", "give them in that shape"}, {[]int{28, 28}, []int{1, 14, 56}, "", "points of x have shape [28 28], the posterior's file says [1 14 56]"},
		{[]int{28, 28}, []int{784}, "", ""}, {[]int{2, 2}, nil, "", ""},
	} {
		order, err := (&Points{Source: "x", Shape: c.is}).OrderOf(c.want)
		if order != c.order || (err != nil) != (c.err != "") {
			t.Errorf("%v for %v: %q, %v", c.is, c.want, order, err)
		}
		if c.err != "" {
			wantError(t, err, c.err)
		}
	}
}

// FuzzPNG looks for panics, errors of more than one line and points that are not as promised.
func FuzzPNG(f *testing.F) {
	f.Add([]byte(pngOf(f, image.NewRGBA(pixels), colour)))
	f.Add([]byte(pngOf(f, image.NewGray(pixels), colour)))
	f.Add([]byte(bigPNG(1<<12, 1<<12)))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := decodePoints(textSource(t, pngMagic+string(bytes.TrimPrefix(file, []byte(pngMagic)))), "", InputOptions{}, nil)
		if err != nil {
			wantError(t, err)
			return
		}
		if p.N() != 1 || len(p.bytes) != p.Dim || len(p.Shape) != 3 {
			t.Fatalf("%d points of shape %v and %d bytes", p.N(), p.Shape, len(p.bytes))
		}
	})
}
