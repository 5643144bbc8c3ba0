// Package recordtest makes many result records, as of a large campaign, for tests: plausible ones,
// and lines that every reader takes. Only tests import it.
package recordtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/host/record"
)

// radii and posteriors are those of a campaign.
var radii = []string{"0.005", "2/255", "0.01", "0.02", "0.05"}

const posteriors = 4

var require = property.MustExact("0.9")

// Record is the record of task i of n: of four posteriors, five radii and n/20 inputs, as they
// come in a campaign, one posterior after the other. Bounds at a larger radius are never
// tighter than those at a smaller one, so that no two records contradict each other.
func Record(i, n int) *record.Record {
	each := max(1, n/posteriors)
	inputs := max(1, each/len(radii))
	input, radius, of := i%each%inputs, min(i%each/inputs, len(radii)-1), min(i/each, posteriors-1)
	rng := rand.New(rand.NewPCG(uint64(of), uint64(input)))
	label := rng.IntN(10)
	// What an input fails with at the smallest radius, and what it grows by with the next.
	fails := math.Pow(10, -8*rng.Float64())
	grows := 1 + 20*rng.Float64()
	for range radius {
		fails = min(1, fails*grows)
	}
	seconds, peak := math.Round(1e6*(0.001+0.01*rng.Float64()))/1e6, int64(27<<20+rng.IntN(1<<20))
	lower, tau := 1-fails, fails/3
	r := &record.Record{
		Index: input, Label: &label, Property: fmt.Sprintf("argmax_is:%d", label), Eps: radii[radius], Clip: []string{"0", "1"}, Flags: "--method auto", Method: "clbp",
		Cells: 1, Tau: tau, PLower: record.Down(lower), PUpper: 1, Precision: "float32", Device: "NVIDIA H100 80GB HBM3 (OpenCL 3.0 CUDA)", Seconds: &seconds, PeakBytes: &peak,
		Posterior: fmt.Sprintf("posteriors/mnist-512-512-%d.npz", of), PosteriorSHA256: digest("posterior", of), PosteriorScale: "sd", Activations: []string{"relu", "relu"},
		Inputs: "t10k-images-idx3-ubyte.gz", InputsSHA256: digest("inputs", 0), Version: "0.2.0", Numerics: prove.Numerics, ID: digest("id", i)[:32], Task: i, Tasks: n, Run: digest("run", n)[:16],
		Proof: &claim.Proof{Tau: []float64{tau}},
	}
	if lower > 0 {
		log10 := record.Down(math.Nextafter(math.Log10(lower)*(1+1e-12), math.Inf(-1)))
		r.Log10PLower = &log10
	} else {
		r.Proof, r.Tau, r.PUpper = nil, 0, record.Up(0.5*rng.Float64())
	}
	r.Decide(require)
	return r
}

func digest(what string, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", what, i))
	return hex.EncodeToString(sum[:])
}

// Write writes the n records as lines.
func Write(w io.Writer, n int) error {
	for i := range n {
		if err := Record(i, n).Write(w); err != nil {
			return err
		}
	}
	return nil
}

// Lines returns what Write writes.
func Lines(n int) string {
	var b strings.Builder
	if err := Write(&b, n); err != nil {
		panic("recordtest: " + err.Error())
	}
	return b.String()
}
