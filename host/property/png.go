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
// colours, bytes as they are in the file: gamma and profiles of colour are not looked at. Grey
// of fewer than 8 bits is stretched to 0..255, as the format says. 16 bits, and pixels that are
// not opaque, are refused.
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
	switch {
	case head[8] == 16:
		return nil, errors.New("has 16 bits for each channel; save it with 8, or as .npy")
	case w < 1 || h < 1 || w > maxPixels/h:
		return nil, fmt.Errorf("has %d x %d pixels, the limit is %d; scale it down", w, h, maxPixels)
	}
	if err := fits([]int{1, h, w, channels}, true); err != nil {
		return nil, err
	}
	if err := infile.Afford(int64(w) * int64(h) * int64(4+channels)); err != nil {
		return nil, err
	}
	img, err := png.Decode(s)
	if err != nil {
		return nil, fmt.Errorf("damaged PNG: %w; get it again", err)
	}
	a := &array{png: true, shape: []int{1, h, w, channels}, bytes: make([]byte, 0, w*h*channels)}
	for y := range h {
		for x := range w {
			c, opaque := pixel(img, x, y)
			if !opaque {
				return nil, fmt.Errorf("pixel (%d, %d) is not opaque, and no network sees what is behind it; save it without alpha", x, y)
			}
			a.bytes = append(a.bytes, c[:channels]...)
		}
	}
	return a, s.ended()
}

// pixel is the colour of an image of 8 bits, exactly.
func pixel(img image.Image, x, y int) (c [3]byte, opaque bool) {
	switch v := img.At(x, y).(type) {
	case color.Gray:
		return [3]byte{v.Y, v.Y, v.Y}, true
	case color.RGBA: // premultiplied: exact where it is opaque
		return [3]byte{v.R, v.G, v.B}, v.A == 255
	case color.NRGBA:
		return [3]byte{v.R, v.G, v.B}, v.A == 255
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

// isPNG says whether a file is called one.
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
			if len(all.bytes)+len(a.bytes) > maxUnpacked {
				return errTooLarge
			}
			all.bytes = append(all.bytes, a.bytes...)
			return nil
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

// errNoColumn refuses a label column of what is no CSV file.
func errNoColumn(column string) error {
	return fmt.Errorf("has no label column %s, for it is not a CSV file; name the labels' own file instead", quote(column))
}
