package bound

import (
	"fmt"
	"math"
	"math/bits"
)

// Trace is what the operations of one self-check query wrote, as hashes.
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

// recorder does everything on another device and makes the trace of it. Only the
// Memory is embedded: an operation that is added to Device and not here does not compile.
type recorder struct {
	Memory
	dev   Device
	trace Trace
	hash  uint64
}

var _ Device = (*recorder)(nil)

// record runs an operation and hashes what it wrote.
func record[A Operation](r *recorder, args A, run func(A) error) error {
	if err := run(args); err != nil {
		return err
	}
	for _, out := range args.Outputs() {
		if out.Array == nil {
			continue
		}
		v, err := ReadAll(r, out.Array)
		if err != nil {
			return err
		}
		for _, x := range v {
			if x != x {
				x = math.NaN()
			}
			r.hash = bits.RotateLeft64(r.hash^math.Float64bits(x), 23) * 0x9e3779b97f4a7c15
		}
	}
	r.trace.Calls = append(r.trace.Calls, Call{NameOf(args), r.hash})
	return nil
}

func (r *recorder) DrawBox(a DrawBox) error               { return record(r, a, r.dev.DrawBox) }
func (r *recorder) MergeRows(a MergeRows) error           { return record(r, a, r.dev.MergeRows) }
func (r *recorder) Affine(a Affine) error                 { return record(r, a, r.dev.Affine) }
func (r *recorder) Activate(a Activate) error             { return record(r, a, r.dev.Activate) }
func (r *recorder) Relax(a Relax) error                   { return record(r, a, r.dev.Relax) }
func (r *recorder) RelaxRows(a RelaxRows) error           { return record(r, a, r.dev.RelaxRows) }
func (r *recorder) BackSubstitute(a BackSubstitute) error { return record(r, a, r.dev.BackSubstitute) }
func (r *recorder) Concretize(a Concretize) error         { return record(r, a, r.dev.Concretize) }
func (r *recorder) Intersect(a Intersect) error           { return record(r, a, r.dev.Intersect) }
func (r *recorder) SquareRows(a SquareRows) error         { return record(r, a, r.dev.SquareRows) }
func (r *recorder) NoiseRows(a NoiseRows) error           { return record(r, a, r.dev.NoiseRows) }
func (r *recorder) Widen(a Widen) error                   { return record(r, a, r.dev.Widen) }
func (r *recorder) Vary(a Vary) error                     { return record(r, a, r.dev.Vary) }
func (r *recorder) PoolStar(a PoolStar) error             { return record(r, a, r.dev.PoolStar) }
func (r *recorder) PoolLines(a PoolLines) error           { return record(r, a, r.dev.PoolLines) }
func (r *recorder) Gather(a Gather) error                 { return record(r, a, r.dev.Gather) }
func (r *recorder) GatherSum(a GatherSum) error           { return record(r, a, r.dev.GatherSum) }
func (r *recorder) PlaceRows(a PlaceRows) error           { return record(r, a, r.dev.PlaceRows) }
func (r *recorder) PairNoise(a PairNoise) error           { return record(r, a, r.dev.PairNoise) }
func (r *recorder) SharedVar(a SharedVar) error           { return record(r, a, r.dev.SharedVar) }
func (r *recorder) ShareBox(a ShareBox) error             { return record(r, a, r.dev.ShareBox) }
func (r *recorder) ShareRows(a ShareRows) error           { return record(r, a, r.dev.ShareRows) }
func (r *recorder) SplitRows(a SplitRows) error           { return record(r, a, r.dev.SplitRows) }
