package gpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"psafe/gpu/cl"
	"psafe/host/bound"
	"psafe/kernels"
)

// array is n numbers on a device, in a buffer that has kernels.Padding more:
// vectors at the end are loaded whole, and only what exists is stored.
type array struct {
	device *Device
	mem    *cl.MemObject
	n      int
	// written are the bytes that were written, until they are hashed; see digest.go.
	written []byte
}

// Len is the number of entries.
func (a *array) Len() int { return a.n }

// pool hands out buffers again. Sizes are rounded up to a quarter of a power of
// two, so that a last, smaller batch finds buffers.
type pool struct {
	spares
	used  int64 // bytes of all buffers, spare ones included
	count Arrays
}

func sizeClass(bytes int) int {
	step := max(256, 1<<max(0, bits.Len(uint(bytes-1))-3))
	return (bytes + step - 1) / step * step
}

// NewArray returns memory for n numbers. See bound.Device.
func (d *Device) NewArray(n int) (bound.Array, error) {
	if d.lost != nil {
		return nil, d.lost
	}
	if d.ahead.due() { // not at a launch, which may be half of a transfer
		if err := d.Finish(); err != nil {
			return nil, err
		}
	}
	a, err := d.newArray(n)
	if err != nil {
		return nil, d.fail("NewArray", err)
	}
	return a, nil
}

func (d *Device) newArray(n int) (*array, error) {
	if n < 0 {
		panic(fmt.Sprintf("gpu: NewArray of %d numbers", n))
	}
	size := sizeClass((n + kernels.Padding) * d.precision.Bytes())
	d.pool.count.Made++
	if mem, err := d.take(size); mem != nil || err != nil {
		return &array{device: d, mem: mem, n: n}, err
	}
	if int64(size) > d.info.MaxAlloc {
		return nil, &Error{Op: "NewArray", outOfMemory: true, Err: fmt.Errorf(
			"%q has no arrays of %d bytes, at most %d", d.info.Name, size, d.info.MaxAlloc)}
	}
	if d.pool.used+int64(size) > d.limit {
		spares := d.pool.drain()
		if err := driven(d, "NewArray", func() error { return released(spares) }); err != nil {
			return nil, err
		}
	}
	if d.pool.used+int64(size) > d.limit {
		return nil, &Error{Op: "NewArray", outOfMemory: true, Err: fmt.Errorf(
			"%d bytes more than the %d in use exceed the limit of %d bytes on %q", size, d.pool.used, d.limit, d.info.Name)}
	}
	mem, err := drive(d, "NewArray", func() (*cl.MemObject, error) { return d.context.CreateEmptyBuffer(cl.MemReadWrite, size) })
	if err != nil {
		return nil, err
	}
	d.pool.used += int64(size)
	d.pool.count.Buffers++
	d.pool.count.MostBytes = max(d.pool.count.MostBytes, d.pool.used)
	a := &array{device: d, mem: mem, n: n}
	if err := d.poison(a, size); err != nil {
		d.Release(a)
		return nil, err
	}
	return a, nil
}

// Release gives an array back, at once: see the package's doc on order.
func (d *Device) Release(x bound.Array) {
	if x == nil {
		return
	}
	a := x.(*array)
	if a.mem == nil {
		panic("gpu: array released twice")
	}
	if a.written != nil {
		d.launched.written = slices.DeleteFunc(d.launched.written, func(w *array) bool { return w == a })
	}
	d.pool.dirty = append(d.pool.dirty, a.mem)
	a.mem = nil
}

// Write copies src to dst. It panics if a number is not one of the device's
// precision. The copy may take place later; src may be changed at once.
func (d *Device) Write(dst bound.Array, src []float64) error {
	if d.lost != nil {
		return d.lost
	}
	a := d.array(dst, len(src), "Write")
	if len(src) == 0 {
		return nil
	}
	var raw []byte
	if d.precision == bound.Float64 {
		raw = cl.Bytes(append([]float64(nil), src...))
	} else {
		v, other := singles(src)
		if other >= 0 {
			panic(fmt.Sprintf("gpu: Write: entry %d is %v (%x), which is no %v", other, src[other], src[other], d.precision))
		}
		raw = cl.Bytes(v)
	}
	mem := a.mem
	if err := driven(d, "Write", func() error { return d.queue.Write(mem, raw) }); err != nil {
		return d.fail("Write", err)
	}
	l := &d.launched
	if l.testing {
		return nil
	}
	if a.written == nil {
		l.written = append(l.written, a)
	}
	if a.written = raw; len(l.written) == together {
		return d.digestWritten()
	}
	return nil
}

// singles are numbers in float32, of which entry other is none, -1 if there is none such.
func singles(src []float64) (v []float32, other int64) {
	v = make([]float32, len(src))
	var bad atomic.Int64 // one more than such an entry
	onCores(len(src), len(src), func(from, to int) {
		for i := from + singlesLanes(v[from:to], src[from:to]); i < to; i++ {
			x, y := src[i], float32(src[i])
			if v[i] = y; float64(y) != x && x == x {
				bad.Store(int64(i + 1))
			}
		}
	})
	return v, bad.Load() - 1
}

// Read copies src to dst, after all operations before it.
func (d *Device) Read(dst []float64, src bound.Array) error {
	return d.ReadSeveral([][]float64{dst}, []bound.Array{src})
}

// ReadSeveral is Read of several arrays, for up to together of which the host waits once.
func (d *Device) ReadSeveral(dst [][]float64, src []bound.Array) error {
	for ; len(dst) > together; dst, src = dst[together:], src[together:] {
		if err := d.ReadSeveral(dst[:together], src[:together]); err != nil {
			return err
		}
	}
	if d.lost != nil {
		return d.lost
	}
	list, fresh := make([]*array, len(src)), false
	for i, x := range src {
		list[i] = d.array(x, len(dst[i]), "Read")
		fresh = fresh || list[i].written != nil
	}
	if fresh {
		if err := d.digestWritten(); err != nil {
			return err
		}
	}
	at, receipt, err := d.digest(list...)
	if err != nil {
		return err
	}
	got, err := d.received(list)
	if err != nil {
		return d.fail("Read", err)
	}
	d.expect("Read", "gave other numbers than it holds", at, receipt, got.raws...)
	if d.launched.testing { // receipts are looked at in the end, and as soon as the ring is full
		d.ahead.waited(time.Now())
	} else if err := d.checkRing(got.ring); err != nil {
		return d.fail("Read", err)
	}
	for i, raw := range got.raws {
		if bad := d.numbers(dst[i], raw); bad >= 0 {
			if err := d.settle(); err != nil { // a receipt that was not looked at says which launch
				return d.fail("Read", err)
			}
			return d.distrust("Read", "left entry %d of %d numbers unwritten", bad, len(dst[i]))
		}
	}
	return nil
}

// received is what arrays hold, in memory that is its own, and the ring after it, but in the self-test.
type received struct {
	raws [][]byte
	ring []uint32
}

// received waits once.
func (d *Device) received(list []*array) (got received, err error) {
	mems, bytes, readRing, testing := make([]*cl.MemObject, len(list)), make([]int, len(list)), d.readRing(), d.launched.testing
	for i, a := range list {
		mems[i], bytes[i] = a.mem, a.n*d.precision.Bytes()
	}
	err = d.wait(func() error {
		got, err = drive(d, "Read", func() (r received, err error) {
			for i, mem := range mems {
				r.raws = append(r.raws, make([]byte, bytes[i]))
				if testing && i == len(mems)-1 { // with a wait, as nothing is read behind it
					err = cl.ReadBuffer(d.queue, mem, 0, r.raws[i])
				} else {
					err = d.queue.Read(mem, r.raws[i])
				}
				if err != nil {
					return r, err
				}
			}
			if !testing {
				r.ring, err = readRing()
			}
			return r, err
		})
		return err
	})
	return got, err
}

// numbers are those of an array of these bytes, of which entry bad was never written, -1 if there is none.
func (d *Device) numbers(dst []float64, raw []byte) (bad int64) {
	var unwritten atomic.Int64 // one more than an entry that is
	onCores(len(dst), len(dst), func(from, to int) {
		i := from
		if d.precision == bound.Float32 {
			i += numbersLanes(dst[from:to], raw[4*from:4*to])
		}
		for ; i < to; i++ {
			if d.precision == bound.Float64 {
				w := binary.LittleEndian.Uint64(raw[8*i:])
				if w == poison64 {
					unwritten.Store(int64(i + 1))
				}
				dst[i] = math.Float64frombits(w)
				continue
			}
			w := binary.LittleEndian.Uint32(raw[4*i:])
			if w == poison32 {
				unwritten.Store(int64(i + 1))
			}
			dst[i] = float64(math.Float32frombits(w))
		}
	})
	return unwritten.Load() - 1
}
