package gpu

import (
	"context"
	"encoding/binary"

	"psafe/host/bound"
	"psafe/internal/fault"
	"psafe/kernels"
)

var _ = wraps("digest")

// Numbers that come from a device, and those that go to it, pass through a driver that
// may lose or change some on the way. So after each write and before each read the
// device hashes what it holds (kernels/digest.cl), and the hash must be that of the
// bytes that were handed over here. It comes back behind the ring of receipts, which
// is read after every Read anyway.

// digested is a transfer whose digest has not been looked at: its places behind the
// ring, what must be there, and what is wrong with the device otherwise.
type digested struct {
	op, otherwise string
	at            int
	want          []uint32
}

// runs of a digest: one for so many numbers, and at most so many.
const (
	digestRun  = 256
	digestRuns = 16384
)

// digests is the number of runs of an array of n numbers.
func digests(n int) int { return min(up(n, digestRun), digestRuns) }

// room makes sure that two launches and a digest of n numbers find places: what
// settle would look at must not be looked at before it is complete.
func (d *Device) room(n int) error {
	if l := &d.launched; l.used+digests(n) > kernels.Digests || len(l.names)+1 >= kernels.Receipts {
		return d.Finish()
	}
	return nil
}

// digest enqueues the hashing of an array, for which there is room, and returns where
// its digest will be and the number of the launch.
func (d *Device) digest(a *array) (at int, receipt uint32, err error) {
	l := &d.launched
	if l.testing {
		return 0, 0, nil
	}
	at, receipt = l.used, l.next
	l.used += digests(a.n)
	return at, receipt, d.launch("digest", digests(a.n), work{d.moved(a.n), 0}, arrays{{"a", a}}, uint64(a.n), uint64(up(a.n, max(digests(a.n), 1))), uint32(at))
}

// expect notes what the digest of an array of these bytes must be.
func (d *Device) expect(op, otherwise string, at int, receipt uint32, raw []byte) {
	if d.launched.testing {
		return
	}
	want := hash(raw, d.precision, receipt)
	d.launched.digested = append(d.launched.digested, digested{op, otherwise, at, want})
}

// hash is the digest of an array of these bytes by the launch with this number. See
// kernels/digest.cl.
func hash(raw []byte, p bound.Precision, receipt uint32) []uint32 {
	words := p.Bytes() / 4
	n := len(raw) / p.Bytes()
	list := make([]uint32, digests(n))
	if n == 0 {
		return list
	}
	run := up(n, len(list)) * 4 * words
	onCores(n, len(list), func(from, to int) {
		for t := from; t < to; t++ {
			place := receipt*0x7feb352d + uint32(t*run/4)*0x9e3779b1
			var sum uint32
			for own := raw[min(t*run, len(raw)):min((t+1)*run, len(raw))]; len(own) >= 4; own = own[4:] {
				x := binary.LittleEndian.Uint32(own) + place
				x = (x ^ x>>16) * 0x85ebca6b
				x = (x ^ x>>13) * 0xc2b2ae35
				sum += x ^ x>>16
				place += 0x9e3779b1
			}
			list[t] = sum
		}
	})
	return list
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

// checkDigests compares all digests with what stands behind the ring.
func (d *Device) checkDigests(behind []uint32) error {
	l := &d.launched
	for _, g := range l.digested {
		for t, want := range g.want {
			if got := behind[g.at+t]; got != want {
				return d.distrust(g.op, "%s (digest %08x, not %08x)", g.otherwise, got, want)
			}
		}
	}
	l.digested, l.used = l.digested[:0], 0
	return nil
}
