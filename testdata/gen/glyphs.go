package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// side is the width and height of an image.
const side = 8

// glyphs draws n images of digits, 0 to 9 in turn: a glyph of the font at a
// random place, in a random brightness, with some dots weakened, on a noisy
// ground. Integers only, so every machine draws the same.
func glyphs(n int, stream uint64) (images, labels []byte) {
	rng := rand.New(rand.NewPCG(20240229, stream))
	for i := range n {
		digit := i % 10
		var image [side * side]byte
		for k := range image {
			image[k] = byte(rng.IntN(50))
		}
		left, top := rng.IntN(side-5+1), rng.IntN(side-7+1)
		ink := 150 + rng.IntN(90)
		for y, row := range font[digit] {
			for x, dot := range row {
				if dot != '#' {
					continue
				}
				strength := ink + rng.IntN(31) - 15
				if rng.IntN(12) == 0 {
					strength /= 2
				}
				image[(top+y)*side+left+x] = byte(strength)
			}
		}
		images = append(images, image[:]...)
		labels = append(labels, byte(digit))
	}
	return images, labels
}

// writeGlyphs writes n images and their labels as IDX files in gzip:
// PREFIX-images-idx3-ubyte.gz and PREFIX-labels-idx1-ubyte.gz.
func writeGlyphs(dir, prefix string, n int, stream uint64) error {
	images, labels := glyphs(n, stream)
	err := writeIDX(filepath.Join(dir, prefix+"-images-idx3-ubyte.gz"), images, n, side, side)
	if err != nil {
		return err
	}
	return writeIDX(filepath.Join(dir, prefix+"-labels-idx1-ubyte.gz"), labels, n)
}

// writeIDX writes bytes as an IDX file in gzip. The gzip has no time stamp and
// no compression: what a compressor makes of the same bytes changes with the
// version of Go, and the files are small.
func writeIDX(path string, data []byte, shape ...int) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		return err
	}
	header := []byte{0, 0, 8, byte(len(shape))}
	for _, d := range shape {
		header = binary.BigEndian.AppendUint32(header, uint32(d))
	}
	if _, err := z.Write(append(header, data...)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
