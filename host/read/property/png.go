package property

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"psafe/internal/infile"
)

const (
	pngMagic = "\x89PNG\r\n\x1a\n"
	// maxPixels bounds an image, maxImages those of a folder or a list.
	maxPixels = 1 << 26
	maxImages = 1 << 20
)

// decodePNG decodes an image to one point of shape (H, W, C), with C = 1 for grey and 3 for
// colours, bytes (or, of 16 bits, whole numbers up to 65535) as they are in the file: gamma and
// profiles of colour are not looked at. Grey of fewer than 8 bits is stretched to 0..255, as the
// format says. Pixels that are not opaque are refused.
func decodePNG(s *source, fits func(shape []int, bytes bool) error) (*array, error) {
	head, err := s.Peek(len(pngMagic) + 8 + 10)
	if err != nil || string(head[len(pngMagic)+4:len(pngMagic)+8]) != "IHDR" {
		return nil, or(err, errors.New("PNG header is damaged; get the file again"))
	}
	head = head[len(pngMagic)+8:]
	w, h := int(binary.BigEndian.Uint32(head)), int(binary.BigEndian.Uint32(head[4:]))
	channels := 3
	if grey := head[9]&2 == 0; grey {
		channels = 1
	}
	wide := head[8] == 16
	switch {
	case w < 1 || h < 1 || w > maxPixels/h:
		return nil, fmt.Errorf("has %d x %d pixels, the limit is %d; scale it down", w, h, maxPixels)
	}
	if err := fits([]int{1, h, w, channels}, !wide); err != nil {
		return nil, err
	}
	perPixel := int64(4 + channels)
	if wide {
		perPixel = int64(8 + (2+16)*channels) // the image, its numbers and their intervals
	}
	if err := infile.Afford(int64(w) * int64(h) * perPixel); err != nil {
		return nil, err
	}
	img, err := png.Decode(s)
	if err != nil {
		return nil, fmt.Errorf("damaged PNG: %w; get it again", err)
	}
	a := &array{png: true, shape: []int{1, h, w, channels}}
	if wide {
		a.wide = make([]uint16, 0, w*h*channels)
	} else {
		a.bytes = make([]byte, 0, w*h*channels)
	}
	for y := range h {
		for x := range w {
			c, opaque := pixel(img, x, y)
			if !opaque {
				return nil, fmt.Errorf("pixel (%d, %d) is not opaque, and no network sees what is behind it; save it without alpha", x, y)
			}
			for _, v := range c[:channels] {
				if wide {
					a.wide = append(a.wide, v)
				} else {
					a.bytes = append(a.bytes, byte(v))
				}
			}
		}
	}
	return a, s.ended()
}

// pixel is the colour of an image of 8 or 16 bits, exactly.
func pixel(img image.Image, x, y int) (c [3]uint16, opaque bool) {
	switch v := img.At(x, y).(type) {
	case color.Gray:
		return [3]uint16{uint16(v.Y), uint16(v.Y), uint16(v.Y)}, true
	case color.RGBA: // premultiplied: exact where it is opaque
		return [3]uint16{uint16(v.R), uint16(v.G), uint16(v.B)}, v.A == 0xff
	case color.NRGBA:
		return [3]uint16{uint16(v.R), uint16(v.G), uint16(v.B)}, v.A == 0xff
	case color.Gray16:
		return [3]uint16{v.Y, v.Y, v.Y}, true
	case color.RGBA64:
		return [3]uint16{v.R, v.G, v.B}, v.A == 0xffff
	case color.NRGBA64:
		return [3]uint16{v.R, v.G, v.B}, v.A == 0xffff
	}
	return c, false
}

// FilesOf are the files that the name of an input stands for: those of a list of PNG files
// with commas between them, or that of FileOf. A folder is one name.
func FilesOf(path string) []string {
	if _, err := os.Stat(path); err != nil && strings.Contains(path, ",") {
		files := strings.Split(path, ",")
		if !slices.ContainsFunc(files, func(f string) bool { return !isPNG(f) }) {
			return files
		}
	}
	return []string{FileOf(path)}
}

// isPNG reports whether a file is called one.
func isPNG(name string) bool { return strings.HasSuffix(name, ".png") }

// imageFiles are the PNG files of a folder, by name, or of a list; nil if path is neither.
func imageFiles(path string) ([]string, error) {
	if files := FilesOf(path); len(files) > 1 {
		return files, nil
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, nil
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil, errors.New("is a folder that cannot be read")
	}
	var files []string
	for _, e := range entries {
		if isPNG(e.Name()) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, errors.New("is a folder without a file whose name ends in .png; name a data file, or a folder of PNG files")
	}
	return files, nil
}

// readImages reads one point of each file. The digest is that of
//
//	sha256sum FILE... | sha256sum
//
// run where the files are, in their order: of lines with the digest, two spaces and the name.
func readImages(files []string, opt InputOptions, scale *big.Rat) (*Points, error) {
	if len(files) > maxImages {
		return nil, fmt.Errorf("holds %d images, the limit is %d; split it", len(files), maxImages)
	}
	digests := sha256.New()
	var all *array
	for _, file := range files {
		name := filepath.Base(file)
		digest, err := openSource(file, func(s *source, member string) error {
			if !s.begins(pngMagic) {
				return errors.New("is no PNG file; leave it out")
			}
			a, err := decodePNG(s, func(shape []int, bytes bool) error { return fits(shape, bytes, opt.Dim) })
			if err != nil {
				return err
			}
			if all == nil {
				all = &array{shape: a.shape}
			}
			if !slices.Equal(a.shape[1:], all.shape[1:]) {
				return fmt.Errorf("has shape %v, the first image %v; give images of one shape", a.shape[1:], all.shape[1:])
			}
			return all.join(a)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quote(name), err)
		}
		fmt.Fprintf(digests, "%s  %s\n", digest, name)
	}
	if opt.LabelColumn != "" && opt.LabelColumn != "none" {
		return nil, errNoColumn(opt.LabelColumn)
	}
	all.shape = append([]int{len(files)}, all.shape[1:]...)
	p, err := all.points(scale)
	if err != nil {
		return nil, err
	}
	p.channelsLast = true
	p.SHA256 = fmt.Sprintf("%x", digests.Sum(nil))
	return p, nil
}

// join puts the image of another file behind those of a.
func (a *array) join(b *array) error {
	switch {
	case len(a.wide)+len(a.bytes) > 0 && (a.wide == nil) != (b.wide == nil):
		return errors.New("has not as many bits for each channel as the first image; give images of one depth")
	case len(a.bytes)+len(b.bytes) > maxUnpacked:
		return errTooLarge
	case len(a.wide)+len(b.wide) > maxNumbers:
		return fmt.Errorf("with the images before it there are more than %d numbers of 16 bits; split them", maxNumbers)
	}
	a.bytes, a.wide = append(a.bytes, b.bytes...), append(a.wide, b.wide...)
	return nil
}

// errNoColumn refuses a label column of what is no CSV file.
func errNoColumn(column string) error {
	return fmt.Errorf("has no label column %s, for it is not a CSV file; name the labels' own file instead", quote(column))
}
