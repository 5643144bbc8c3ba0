package property

import (
	"math/big"
	"testing"
)

// TestReadInputNoise: standard deviations in the units of the data, divided by the network's std, are enclosed.
func TestReadInputNoise(t *testing.T) {
	for _, text := range []string{"0.1", "1/3", "[0.1,0,2/7]"} {
		for _, std := range []string{"", "0.3", "[3,1/7,0.25]"} {
			var n *Norm
			if std != "" {
				var err error
				if n, err = ReadNorm("0.5", std, 3, nil, ""); err != nil {
					t.Fatal(err)
				}
			}
			of, err := ReadInputNoise(text, n, 3)
			if err != nil {
				t.Fatal(err)
			}
			for j := range 3 {
				exact := exactOf(text, j)
				if std != "" {
					exact = new(big.Rat).Quo(exact, exactOf(std, j))
				}
				lo, hi := new(big.Rat).SetFloat64(of.Lo[j]), new(big.Rat).SetFloat64(of.Hi[j])
				if lo.Cmp(exact) > 0 || hi.Cmp(exact) < 0 || of.Hi[j]-of.Lo[j] > 1e-15*of.Hi[j] {
					t.Errorf("%s over %q: input %d has [%v, %v], it is %v", text, std, j, of.Lo[j], of.Hi[j], exact.FloatString(20))
				}
			}
		}
	}
	for text, words := range map[string]string{"-0.1": "0 or above", "0": "is none", "[0.1,0.2]": "2 numbers", "x": "--input-noise", "[0,0,0]": "is none"} {
		_, err := ReadInputNoise(text, nil, 3)
		wantError(t, err, "--input-noise", words)
	}
}
