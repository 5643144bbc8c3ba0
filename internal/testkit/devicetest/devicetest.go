// Package devicetest tests any bound.Device.
//
// Run asks whether the bounds of a device are bounds: inputs are drawn with a
// bias to corners, the exact real result is computed beside them (exact.go), and
// the device's answer must lie on the right side of it with zero tolerance, and
// within a stated budget of it, or "-Inf..+Inf" would pass.
//
// RunAgainst asks whether a device returns the bits of another one, on the same
// inputs. Package fallback is the definition, so a device of package gpu is
// tested by both.
//
// Environment:
//
//	PSAFE_TEST_SEED  runs only the case of this seed, which a failure prints
//
// Package testscale says how many cases there are.
package devicetest

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testscale"
)

// Option changes what Run and RunAgainst do.
type Option func(*options)

type options struct {
	factor float64
	once   bool
}

// Factor multiplies the number of cases, beside testscale.Factor: for a device
// on which a launch is slow.
func Factor(f float64) Option { return func(o *options) { o.factor *= f } }

// Once lets RunAgainst call an operation once a case: for a simulator that looks at accesses, and
// whose numbers others are asked for twice.
func Once() Option { return func(o *options) { o.once = true } }

func newOptions(t *testing.T, opts []Option) *options {
	o := &options{factor: testscale.Factor(t)}
	for _, f := range opts {
		f(o)
	}
	return o
}

// operation is an operation of bound.Device as the suite knows it: its name, how
// many cases, and how to draw one.
type operation struct {
	name  string
	cases int
	draw  func(*gen) opCase
}

// opCase is one call of an operation: the inputs, how to run them on a device, and
// what the outputs must satisfy.
type opCase interface {
	// call runs the operation; env knows the outputs.
	call(e *env) error
	// check compares the outputs, in the order in which call made them, with the
	// exact result.
	check(c *checker, out []output)
}

var operations = []operation{
	{"DrawBox", 300, drawDrawBox},
	{"MergeRows", 500, drawMergeRows},
	{"Affine", 900, drawAffine},
	{"Activate", 500, drawActivate},
	{"Relax", 900, drawRelax},
	{"RelaxRows", 1500, drawRelaxRows},
	{"BackSubstitute", 700, drawBackSubstitute},
	{"Concretize", 900, drawConcretize},
	{"Intersect", 300, drawIntersect},
	{"SquareRows", 300, drawSquareRows},
	{"NoiseRows", 600, drawNoiseRows},
	{"Widen", 400, drawWiden},
	{"Vary", 400, drawVary},
	{"PoolStar", 300, drawPoolStar},
	{"PoolLines", 900, drawPoolLines},
	{"Gather", 300, drawGather},
	{"GatherSum", 600, drawGatherSum},
	{"ConvTranspose", 600, drawConvTranspose},
	{"PlaceRows", 600, drawPlaceRows},
	{"PairNoise", 400, drawPairNoise},
	{"SharedVar", 600, drawSharedVar},
	{"ShareBox", 600, drawShareBox},
	{"ShareRows", 300, drawShareRows},
	{"SplitRows", 600, drawSplitRows},
}

// Run tests every operation of dev against the exact result, and then whole
// propagations, stage by stage.
func Run(t *testing.T, dev bound.Device, opts ...Option) {
	o := newOptions(t, opts)
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			o.forSeeds(t, op.cases, func(seed uint64) bool {
				c := op.draw(newGen(seed, dev.Precision()))
				out := o.call(t, dev, c, seed)
				k := &checker{p: dev.Precision(), again: func(other opCase) []output { return o.call(t, dev, other, seed) }}
				if out != nil {
					c.check(k, out)
				}
				if k.failure != "" {
					t.Errorf("seed %d: %s\n%s", seed, k.failure, dump(c))
				}
				return !t.Failed()
			})
		})
	}
	t.Run("Propagate", func(t *testing.T) { runNetworks(t, dev, o) })
}

// RunAgainst demands that dev returns the bits of reference for every output of
// every operation.
func RunAgainst(t *testing.T, dev, reference bound.Device, opts ...Option) {
	if dev.Precision() != reference.Precision() {
		t.Fatalf("%s computes in %v, %s in %v", dev.Name(), dev.Precision(), reference.Name(), reference.Precision())
	}
	o := newOptions(t, opts)
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			o.forSeeds(t, op.cases, func(seed uint64) bool {
				g := newGen(seed, dev.Precision())
				g.large = seed%4 == 3
				c := op.draw(g)
				got, want := o.call(t, dev, c, seed), o.call(t, reference, c, seed)
				if got != nil && want != nil {
					if diff := compare(got, want); diff != "" {
						t.Errorf("seed %d: %s\n%s", seed, diff, dump(c))
					}
				}
				return !t.Failed()
			})
		})
	}
}

// forSeeds calls f with the seeds of a subtest until it returns false.
func (o *options) forSeeds(t *testing.T, cases int, f func(seed uint64) bool) {
	if text := os.Getenv("PSAFE_TEST_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("PSAFE_TEST_SEED: %v", err)
		}
		f(seed)
		return
	}
	n := int(math.Ceil(float64(cases) * o.factor))
	for seed := range uint64(n) {
		if !f(seed) {
			return
		}
	}
}

// compare returns the first difference of two lists of outputs, or "". All NaNs
// are the same: their bits are nobody's business.
func compare(got, want []output) string {
	for k, w := range want {
		for i, x := range w.v {
			y := got[k].v[i]
			same := math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
			if !same {
				return fmt.Sprintf("%s[%d] of %d is %x (%v), reference has %x (%v)", w.name, i, len(w.v), y, y, x, x)
			}
		}
	}
	return ""
}

// call runs a case twice (unless Once), with outputs that hold different poison before,
// and demands the same bits: an output that is not written, or is added to,
// shows, and so does a result that depends on the order of work-items.
func (o *options) call(t *testing.T, dev bound.Device, c opCase, seed uint64) []output {
	var first []output
	poisons := []float64{-0x1.5p40, 0x1.8p55}
	if o.once {
		poisons = poisons[:1]
	}
	for _, poison := range poisons {
		e := &env{dev: dev, poison: poison}
		out, err := e.do(c)
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, dump(c))
			return nil
		}
		if first == nil {
			first = out
		} else if diff := compare(out, first); diff != "" {
			t.Errorf("seed %d: two runs differ: %s\n%s", seed, diff, dump(c))
			return nil
		}
	}
	return first
}

// dump prints a case with every number in hexadecimal, cut where it gets long.
func dump(c opCase) string {
	const most = 3000
	text := strings.ReplaceAll(fmt.Sprintf("%+x", c), "0x0p+00", "0")
	if len(text) > most {
		text = fmt.Sprintf("%s ... (%d more bytes)", text[:most], len(text)-most)
	}
	return text
}
