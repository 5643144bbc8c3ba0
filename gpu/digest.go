package gpu

import (
	"context"
	"encoding/binary"
	"sync/atomic"

	"psafe/host/bound"
	"psafe/internal/fault"
	"psafe/kernels"
)

var _ = wraps("digest")

// Numbers that come from a device, and those that go to it, pass through a driver that
// may lose or change some on the way. So before the first launch that takes an array that was
// written, and before each read, the device hashes what it holds (kernels/digest.cl), several arrays in
// a launch, and the hash must be that of the bytes that were handed over here. It comes back behind
// the ring of receipts, which is read after every Read anyway. What was written and has been dropped, or
// written again, before anything took it is nobody's number.

// digested is a transfer whose digest has not been looked at: its place behind the
// ring, by what that must have grown, and what is wrong with the device otherwise.
type digested struct {
	op, otherwise string
	at            int
	want          uint32
}

// together is how many arrays one launch hashes.
const together = kernels.Digests / kernels.Receipts

// A work-item hashes so many numbers at least, on CPUs and on GPUs, and there are at most digestRuns
// of them for an array.
const (
	digestRun      = 256
	digestRunOnGPU = 4
	digestRuns     = 16384
)

// digestWritten has the arrays hashed that were written and not taken by a launch since.
func (d *Device) digestWritten() error {
	l := &d.launched
	if len(l.written) == 0 {
		return nil
	}
	at, receipt, err := d.digest(l.written...)
	if err != nil {
		return err // they go on waiting
	}
	raws := make([][]byte, len(l.written))
	for i, a := range l.written {
		raws[i], a.written = a.written, nil
	}
	l.written = l.written[:0]
	d.expect("Write", "holds other numbers than it was given", at, receipt, raws...)
	return nil
}

// digest enqueues the hashing of up to together arrays, and returns the first of the places where their
// digests will be and the number of the launch.
func (d *Device) digest(list ...*array) (at int, receipt uint32, err error) {
	l := &d.launched
	if l.testing {
		return 0, 0, nil
	}
	if len(l.names) == kernels.Receipts { // what settle looks at must be complete
		if err := d.Finish(); err != nil {
			return 0, 0, err
		}
	}
	var on [together]namedArray
	var numbers [together + 3]any
	most, all := 1, 0
	for k := range on {
		on[k].name, numbers[k] = eight[k], uint64(0)
		if k < len(list) {
			on[k].array, numbers[k] = list[k], uint64(list[k].n)
			most, all = max(most, list[k].n), all+list[k].n
		}
	}
	least := digestRun
	if d.shape.Lanes == 1 {
		least = digestRunOnGPU
	}
	runs := min(up(most, least), digestRuns)
	numbers[together], numbers[together+1], numbers[together+2] = uint32(runs), uint64(up(most, runs)), uint32(l.used)
	at, receipt = l.used, l.next
	l.used += len(list)
	return at, receipt, d.launch("digest", len(list)*runs, work{d.moved(all), 0}, on[:], numbers[:]...)
}

// expect notes what the digests of arrays of these bytes must be.
func (d *Device) expect(op, otherwise string, at int, receipt uint32, raws ...[]byte) {
	l := &d.launched
	for i, raw := range raws {
		if !l.testing {
			l.digested = append(l.digested, digested{op, otherwise, at + i, hash(raw, d.precision, receipt)})
		}
	}
}

// The numbers of kernels/digest.cl.
const spread, mixFirst, mixSecond = 0x9e3779b1, 0x85ebca6b, 0xc2b2ae35

// hash is the digest of an array of these bytes by the launch with this number. See
// kernels/digest.cl.
func hash(raw []byte, p bound.Precision, receipt uint32) uint32 {
	var all atomic.Uint32
	onCores(len(raw)/p.Bytes(), len(raw)/4, func(from, to int) {
		place := receipt*0x7feb352d + uint32(from)*spread
		sum, done := hashLanes(raw[4*from:4*to], place)
		place += uint32(done/4) * spread
		for own := raw[4*from+done : 4*to]; len(own) >= 4; own = own[4:] {
			x := binary.LittleEndian.Uint32(own) + place
			x = (x ^ x>>16) * mixFirst
			x = (x ^ x>>13) * mixSecond
			sum += x ^ x>>16
			place += spread
		}
		all.Add(sum)
	})
	return all.Load()
}

// coreNumbers is from how many numbers on that the host's part of a transfer is done on all cores, and
// about how many a core takes at a time.
const coreNumbers = 1 << 16

// onCores has f do 0 to parts-1 of work on n numbers, which are numbered from from to to-1 at a time.
func onCores(n, parts int, f func(from, to int)) {
	if n < 2*coreNumbers {
		f(0, parts)
		return
	}
	pieces := min(up(n, coreNumbers), parts)
	each := up(parts, pieces)
	fault.OnCores(context.Background(), up(parts, each), func(i int) { f(i*each, min((i+1)*each, parts)) })
}

// checkDigests compares by how much all digests have grown with what stands behind the ring now.
func (d *Device) checkDigests(behind []uint32) error {
	l := &d.launched
	for _, g := range l.digested {
		if got := behind[g.at] - l.before[g.at]; got != g.want {
			return d.distrust(g.op, "%s (digest %08x, not %08x)", g.otherwise, got, g.want)
		}
	}
	copy(l.before[:], behind)
	l.digested, l.used = l.digested[:0], 0
	return nil
}
