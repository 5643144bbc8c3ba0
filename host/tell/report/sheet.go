package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"

	"psafe/host/read/property"
)

// sheet is all images of a set side by side in one picture, Across in a row.
type sheet struct {
	Picture string `json:"picture"` // data:image/png
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Across  int    `json:"across"`
	// Range says which numbers are black and white.
	Range string `json:"range"`
	// Shrunk is how many pixels of the data, in both directions, one of the picture is the
	// mean of.
	Shrunk int `json:"shrunk"`
}

// mostSide is the longest side of a picture; larger images are drawn smaller.
const mostSide = 64

// grid holds where the pixels of an image are among the coordinates of a point.
type grid struct {
	height, width, channels int
	// Steps between neighbours.
	row, col, channel int
}

// gridOf returns how points of that shape are drawn: as grey or coloured images, or not at all.
func gridOf(shape []int) (g grid, ok bool) {
	colours := func(n int) bool { return n == 1 || n == 3 }
	switch {
	case len(shape) == 2:
		g = grid{shape[0], shape[1], 1, shape[1], 1, 0}
	case len(shape) == 3 && colours(shape[2]):
		g = grid{shape[0], shape[1], shape[2], shape[1] * shape[2], shape[2], 1}
	case len(shape) == 3 && colours(shape[0]):
		g = grid{shape[1], shape[2], shape[0], shape[2], 1, shape[1] * shape[2]}
	}
	return g, min(g.height, g.width) >= 4
}

// drawSheet draws points as images.
func drawSheet(points *property.Points, g grid, indices []int) (*sheet, error) {
	lo, hi := rangeOf(points, indices)
	shrunk := (max(g.height, g.width) + mostSide - 1) / mostSide
	s := &sheet{Width: (g.width + shrunk - 1) / shrunk, Height: (g.height + shrunk - 1) / shrunk, Shrunk: shrunk,
		Across: int(math.Ceil(math.Sqrt(float64(len(indices))))), Range: fmt.Sprintf("%.6g is black, %.6g is white", lo, hi)}
	frame := image.Rect(0, 0, s.Across*s.Width, (len(indices)+s.Across-1)/s.Across*s.Height)
	grey, rgb := image.NewGray(frame), (*image.NRGBA)(nil)
	var picture image.Image = grey
	if g.channels == 3 {
		rgb = image.NewNRGBA(frame)
		for k := 3; k < len(rgb.Pix); k += 4 {
			rgb.Pix[k] = 255
		}
		picture = rgb
	}
	for n, i := range indices {
		x := middles(points, i)
		left, top := n%s.Across*s.Width, n/s.Across*s.Height
		for v := range s.Height {
			for u := range s.Width {
				var c [3]uint8
				for k := range g.channels {
					c[k] = shade(g.mean(x, v*shrunk, u*shrunk, k, shrunk), lo, hi)
				}
				if rgb != nil {
					rgb.SetNRGBA(left+u, top+v, color.NRGBA{c[0], c[1], c[2], 255})
				} else {
					grey.SetGray(left+u, top+v, color.Gray{c[0]})
				}
			}
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, picture); err != nil {
		return nil, err
	}
	s.Picture = "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	return s, nil
}

// mean returns the mean of a square of pixels of one channel, cut to the image.
func (g *grid) mean(x []float64, top, left, channel, side int) float64 {
	sum, n := 0.0, 0.0
	for v := top; v < min(top+side, g.height); v++ {
		for u := left; u < min(left+side, g.width); u++ {
			sum += x[v*g.row+u*g.col+channel*g.channel]
			n++
		}
	}
	return sum / n
}

// middles are the coordinates of a point, near enough to be looked at.
func middles(points *property.Points, i int) []float64 {
	lo, hi := points.At(i)
	x := make([]float64, len(lo))
	for j := range x {
		x[j] = lo[j]/2 + hi[j]/2
	}
	return x
}

// rangeOf are the numbers that are drawn black and white: 0 and 1, or 0 and 255, if all are
// between them, else the least and the largest.
func rangeOf(points *property.Points, indices []int) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, i := range indices {
		for _, x := range middles(points, i) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	switch {
	case lo >= 0 && hi <= 1:
		return 0, 1
	case lo >= 0 && hi <= 255:
		return 0, 255
	}
	return lo, hi
}

// shade is a number between lo and hi as one from 0 to 255.
func shade(x, lo, hi float64) uint8 {
	if hi <= lo {
		return 0
	}
	share := (x/2 - lo/2) / (hi/2 - lo/2) // halves do not overflow
	return uint8(math.Round(255 * max(0, min(1, share))))
}
