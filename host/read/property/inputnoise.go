package property

import (
	"fmt"
	"math"
	"slices"
)

// InputNoise holds bounds of the standard deviations of the noise of a network's inputs.
type InputNoise struct {
	Lo, Hi []float64
	// SHA256 is the digest of the file that they were read from, empty if there is none.
	SHA256 string
}

// ReadInputNoise reads what --input-noise says, a vector for so many inputs (ParseVector) in the units of the
// data, and divides it by the standard deviations of n: the network takes (x + xi - mean) / std. Errors are one
// line that begins with the flag.
func ReadInputNoise(text string, n *Norm, inputs int) (*InputNoise, error) {
	v, err := ParseVector(text)
	if err == nil {
		err = v.fits(inputs)
	}
	if err != nil {
		return nil, fmt.Errorf("--input-noise: %w", err)
	}
	of := &InputNoise{SHA256: v.SHA256}
	for j := range inputs {
		sd := v.at(j)
		lo, hi := sd.Lo, sd.Hi
		if n != nil {
			lo, hi = divDown(lo, n.std.at(j).Hi), 0-divDown(-hi, n.std.at(j).Lo)
		}
		if !(sd.Lo >= 0 && hi <= math.MaxFloat64) {
			return nil, fmt.Errorf("--input-noise: that of input %d is %v: give standard deviations, 0 or above, in the units of the data", j, sd)
		}
		of.Lo, of.Hi = append(of.Lo, max(0, lo)), append(of.Hi, hi)
	}
	if slices.Max(of.Hi) == 0 {
		return nil, fmt.Errorf("--input-noise %.40q is none: give standard deviations above 0, or leave it out", text)
	}
	return of, nil
}
