package selfcheck

import (
	"fmt"
	"math"
	"math/bits"

	"psafe/host/bound"
)

// Trace holds what the operations of one self-check query wrote, as hashes.
type Trace struct {
	Job   string
	Calls []Call
}

// Call is one operation of a query. Hash is over the bits of everything that the query's
// operations up to this one wrote, NaN being one number.
type Call struct {
	Operation string
	Hash      uint64
}

// Digest is a trace as a table of expected ones holds it: two hexadecimal digits of
// each call's hash, which only serve to find the first that differs, and then all
// digits of the last one, which everything went into.
func (t Trace) Digest() string {
	digest := make([]byte, 0, 2*len(t.Calls)+16)
	var last uint64
	for _, c := range t.Calls {
		last = c.Hash
		digest = fmt.Appendf(digest, "%02x", byte(last>>56))
	}
	return string(fmt.Appendf(digest, "%016x", last))
}

// Differs names the first call of t that wrote something else than in the trace with
// the digest want, or is "".
func (t Trace) Differs(want string) string {
	digest := t.Digest()
	if digest == want {
		return ""
	}
	for i, c := range t.Calls {
		if at := 2 * i; at+2 > len(want) || digest[at:at+2] != want[at:at+2] || i == len(t.Calls)-1 {
			return c.Operation
		}
	}
	return "nothing"
}

// recorder does everything on another device and makes the trace of it.
type recorder struct {
	bound.Device
	trace Trace
	hash  uint64
}

// Do runs an operation and hashes what it wrote.
func (r *recorder) Do(op bound.Operation) error {
	if err := r.Device.Do(op); err != nil {
		return err
	}
	var wrote []bound.Array
	var numbers [][]float64
	for _, out := range bound.Outputs(op) {
		if n := out.Array.Len(); n > 0 {
			wrote, numbers = append(wrote, out.Array), append(numbers, make([]float64, n))
		}
	}
	if len(wrote) > 0 {
		if err := bound.ReadSeveral(r.Device, numbers, wrote); err != nil {
			return err
		}
	}
	for _, v := range numbers {
		for _, x := range v {
			if x != x {
				x = math.NaN()
			}
			r.hash = bits.RotateLeft64(r.hash^math.Float64bits(x), 23) * 0x9e3779b97f4a7c15
		}
	}
	r.trace.Calls = append(r.trace.Calls, Call{bound.NameOf(op), r.hash})
	return nil
}
