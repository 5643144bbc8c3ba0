package property

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// pointSteps is the number of steps of a written point in each coordinate of its box.
const pointSteps = math.MaxUint16

// EncodePoint writes a point of the box in base64: for each coordinate the nearest of
// 65,535 steps from Lo to Hi, a little-endian uint16. What DecodePoint reads is near x, and
// no more than that is promised. It panics if x has not as many coordinates as the box.
func (b Box) EncodePoint(x []float64) string {
	if len(x) != len(b.Lo) {
		panic(fmt.Sprintf("property: EncodePoint: a point of %d coordinates for a box of %d", len(x), len(b.Lo)))
	}
	steps := make([]byte, 0, 2*len(x))
	for j, v := range x {
		share := (v - b.Lo[j]) / (b.Hi[j] - b.Lo[j]) // NaN where the box has no width
		k := 0.0
		if share > 0 {
			k = math.Round(min(share, 1) * pointSteps)
		}
		steps = binary.LittleEndian.AppendUint16(steps, uint16(k))
	}
	return base64.StdEncoding.EncodeToString(steps)
}

// DecodePoint reads a point that EncodePoint wrote of the same box: coordinate j is
//
//	Lo[j] + (k/65535) (Hi[j] - Lo[j])
//
// with each operation rounded to nearest, so that every reader has the same number. It may
// lie outside of the box by a rounding, and is NaN or infinite where the width overflows:
// Task.Witness asks nothing of its point.
func (b Box) DecodePoint(text string) ([]float64, error) {
	steps, err := base64.StdEncoding.DecodeString(text)
	// A text is read only as it is written: the decoder alone would skip line ends.
	if err != nil || len(steps) != 2*len(b.Lo) || base64.StdEncoding.EncodeToString(steps) != text {
		return nil, fmt.Errorf("point %.40q is not %d coordinates of 16 bits in base64", text, len(b.Lo))
	}
	x := make([]float64, len(b.Lo))
	for j := range x {
		share := float64(binary.LittleEndian.Uint16(steps[2*j:])) / pointSteps
		x[j] = b.Lo[j] + float64(share*(b.Hi[j]-b.Lo[j]))
	}
	return x, nil
}
