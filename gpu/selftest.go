package gpu

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/bound/selfcheck"
)

var _ = wraps("selftest")

// selfTest refuses a device whose numbers are not those that the proofs are
// about. It takes a thousand small launches, or three for all networks, and half a thousand more on GPUs, most of
// whose cost is that drivers compile kernels when they are first used, which a certificate needs anyway.
func (d *Device) selfTest() error {
	if err := d.testArithmetic(); err != nil {
		return err
	}
	if err := d.testPoison(); err != nil {
		return err
	}
	jobs := selfcheck.Full
	if d.chains {
		jobs = selfcheck.Chains
	}
	if err := d.testJobs(jobs); err != nil || d.shape.Lanes > 1 {
		return err
	}
	// Sums there are too short for two stages, which most sums have on GPUs.
	d.allInStages = true
	defer func() { d.allInStages = false }()
	return d.testJobs(selfcheck.Brief)
}

// TestForGraphs is the rest of a self-test that was for chains of dense layers alone.
func (d *Device) TestForGraphs() error {
	if !d.chains {
		return nil
	}
	defer func(was time.Duration) { d.driver.patience = was }(d.driver.patience)
	d.driver.patience = max(d.driver.patience, opening)
	if err := d.digestWritten(); err != nil { // those that wait are no part of the test
		return err
	}
	if err := d.Finish(); err != nil {
		return err
	}
	d.chains = false // its networks are no chains either
	if err := d.testJobs(selfcheck.Graphs); err != nil {
		d.chains = true
		return d.fail("TestForGraphs", err)
	}
	return nil
}

// testJobs compares everything that the operations write in a few small jobs with what
// the fallback writes: they are chosen to take the branches of the kernels between
// them, and TestSelfTestBranches breaks some to see it.
func (d *Device) testJobs(jobs func(bound.Device) ([]selfcheck.Trace, error)) error {
	// The jobs compare everything that comes back with a table: digests of the thousands
	// of small arrays, and the ring read after each, would double the time and find nothing more.
	d.launched.testing = true
	defer func() { d.launched.testing = false }()
	got, err := jobs(d)
	if err == nil {
		err = d.Finish()
	}
	if err != nil {
		return err
	}
	for _, t := range got {
		want, known := expected(expectedTraces, d.precision, t.Job)
		if !known {
			return d.distrust("self-test", "has nothing to be compared with in the job %q in %v: "+
				"gpu/selftest.txt lacks it (go test ./gpu -run SelfTestTable -update)", t.Job, d.precision)
		}
		if operation := t.Differs(want); operation != "" {
			return d.distrust("self-test", "computes %s in %v with other bits than all devices must, in the job %q: psafe refuses it",
				operation, d.precision, t.Job)
		}
	}
	return nil
}

// expectedTraces are the digests of selfcheck.Full on the fallback, a line for each
// precision and job. TestSelfTestTable makes the file.
//
//go:embed selftest.txt
var expectedTraces string

// traceLine is a line of the table.
func traceLine(p bound.Precision, job, digest string) string {
	return fmt.Sprintf("%v, %s: %s\n", p, job, digest)
}

// expected looks a job up in the table.
func expected(table string, p bound.Precision, job string) (digest string, known bool) {
	_, rest, known := strings.Cut("\n"+table, "\n"+strings.TrimSuffix(traceLine(p, job, ""), "\n"))
	digest, _, _ = strings.Cut(rest, "\n")
	return digest, known
}

// testArithmetic compares single operations with Go's, and says what is wrong
// with a device that has another arithmetic.
func (d *Device) testArithmetic() error {
	if d.precision == bound.Float64 {
		return arithmetic[float64](d)
	}
	return arithmetic[float32](d)
}

// operands are a, b and c of kernels/selftest.cl: what distinguishes roundings
// and fused operations, subnormal arguments and results, overflow, and both
// zeros.
func operands(p bound.Precision) (a, b, c []float64) {
	u, eta, most := p.Unit(), p.Eta(), p.Max()
	add := func(x, y, z float64) { a, b, c = append(a, x), append(b, y), append(c, z) }
	add(1+2*u, 1+2*u, -(1 + 4*u)) // fused: 4 u u, rounded twice: 0
	add(1+2*u, 1-u, -1)           // fused: u - 2 u u, rounded twice: 0 or 2 u
	add(1, u, -1)                 // tie to even
	add(1+2*u, u, 1)              // tie to even, upwards
	add(3, 1.0/4, math.Copysign(0, -1))
	add(eta, 1, eta)          // subnormal operands
	add(eta*12345, 0.5, -eta) // subnormal result, tie
	add(2*eta/u, u, eta)      // product underflows gradually
	add(most, 1+2*u, -most)   // product overflows
	add(-most, 0.5, most)     // no overflow
	add(math.Copysign(0, -1), 1, 0)
	for i := range 53 {
		x := float64(int64(arith.Philox([4]uint32{uint32(i)}, [2]uint32{})[0])) - 0x1p31
		add(p.Nearest(x*0x1p-31), p.Nearest(1+x*x*0x1p-70), p.Nearest(-x*0x1.1p-31))
	}
	return a, b, c
}

func arithmetic[T bound.Real](d *Device) error {
	a, b, c := operands(d.precision)
	n := len(a)
	var in [3]*array
	var out [7]*array
	for i, v := range [][]float64{a, b, c} {
		x, err := d.newArray(n)
		if err != nil {
			return err
		}
		defer d.Release(x)
		if err := d.Write(x, v); err != nil {
			return err
		}
		in[i] = x
	}
	for i := range out {
		x, err := d.newArray(n)
		if err != nil {
			return err
		}
		defer d.Release(x)
		out[i] = x
	}
	var on arrays
	for i, a := range slices.Concat(in[:], out[:]) {
		on = on.with([]string{"a", "b", "c", "sum", "difference", "product", "twice", "below", "smaller", "larger"}[i], a)
	}
	if err := d.launch("selftest", up(n, d.shape.Lanes), work{}, on, n); err != nil {
		return err
	}
	u := T(d.precision.Unit())
	phi, eta := u*(1+2*u), T(d.precision.Eta())
	for k, op := range []struct {
		text string
		f    func(a, b, c T) T
	}{
		{"a + b", func(a, b, _ T) T { return a + b }},
		{"a - b", func(a, b, _ T) T { return a - b }},
		{"a * b", func(a, b, _ T) T { return T(a * b) }},
		{"a * b + c in two roundings", func(a, b, c T) T { return T(a*b) + c }},
		{"down(a * b)", func(a, b, _ T) T { x := T(a * b); return x - (T(phi*max(x, -x)) + eta) }},
		{"min(a * b, a * c)", func(a, b, c T) T { return min(T(a*b), T(a*c)) }},
		{"max(a * b, a * c)", func(a, b, c T) T { return max(T(a*b), T(a*c)) }},
	} {
		got, err := bound.ReadAll(d, out[k])
		if err != nil {
			return err
		}
		for i := range got {
			want := float64(op.f(T(a[i]), T(b[i]), T(c[i])))
			eitherZero := k >= 5 && got[i] == 0 && want == 0 // round.cl, least
			if math.Float64bits(got[i]) != math.Float64bits(want) && want == want && !eitherZero {
				return d.distrust("self-test", "computes %s = %x for a = %x, b = %x, c = %x in %v, not %x%s: psafe refuses it",
					op.text, got[i], a[i], b[i], c[i], d.precision, want, diagnosis(d.precision, got[i], want))
			}
		}
	}
	return nil
}

// diagnosis guesses why got is not want.
func diagnosis(p bound.Precision, got, want float64) string {
	least := p.Eta() / p.Unit() // twice the least normal number
	switch {
	case got == 0 && want != 0 && math.Abs(want) < least:
		return " (it flushes subnormal numbers to zero)"
	case math.Abs(got-want) <= 8*p.Unit():
		return " (it rounds otherwise, or fuses multiplication and addition)"
	}
	return ""
}
