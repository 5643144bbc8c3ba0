// Package fallback defines every operation of bound.Device: one plain Go loop each, in the order of
// summation that all devices share, run in parallel over outputs on all cores. It works wherever Go
// does.
//
// Products are written T(x*y) throughout: the conversion keeps the compiler from
// fusing a multiplication with an addition, as it otherwise does on some
// processors, so that every processor gives the same bits.
package fallback

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/internal/fpcontrol"
	"psafe/internal/vector"
)

// Device computes in T on the processor's cores.
type Device[T bound.Real] struct {
	precision bound.Precision
	// phi and eta make the outward push of down and up, max is the largest
	// finite number, u the unit roundoff.
	phi, eta, max, u T
	// seed is a first guess of 1/d, rootSeed one of 1/sqrt(d), pow2 is 2^-k for a
	// whole number k.
	seed, rootSeed, pow2 func(T) T
	// tiny is what smaller numbers count as in rootUp.
	tiny     T
	sigmoidC sigmoidConstants[T]
	// activation is what Activate and Relax do, by kind.
	activation [network.Kinds]activation[T]
	workers    int
	// vectors are the vector instructions that may be used.
	vectors vector.Set
	memory  int64
	// nans is what new arrays are filled with, a page of it.
	nans []T
	free *freeList[T]
	// rows has room for rows of BackSubstitute (*sparseRow).
	rows *sync.Pool
	// over are asked while operations are under way whether to go on (Within).
	over []func() error
}

// New returns the fallback device of a precision, on all cores.
func New(p bound.Precision) bound.Device { return NewOn(p, runtime.GOMAXPROCS(0)) }

// NewOn is New on so many cores.
func NewOn(p bound.Precision, cores int) bound.Device {
	if p == bound.Float32 {
		return newDevice(p, cores, sigmoid32, func(d float32) float32 {
			return math.Float32frombits(0x7ef311c7 - math.Float32bits(d))
		}, func(d float32) float32 {
			return math.Float32frombits(0x5f3759df - math.Float32bits(d)>>1)
		}, func(k float32) float32 {
			return math.Float32frombits(uint32(127-int32(k)) << 23)
		}, 0x1p-100)
	}
	return newDevice(p, cores, sigmoid64, func(d float64) float64 {
		return math.Float64frombits(0x7fde623822fc16e6 - math.Float64bits(d))
	}, func(d float64) float64 {
		return math.Float64frombits(0x5fe6eb50c7b537a9 - math.Float64bits(d)>>1)
	}, func(k float64) float64 {
		return math.Float64frombits(uint64(1023-int64(k)) << 52)
	}, 0x1p-900)
}

func newDevice[T bound.Real](p bound.Precision, cores int, c sigmoidConstants[T], seed, rootSeed, pow2 func(T) T, tiny T) *Device[T] {
	vectors, err := vector.InUse()
	if err != nil {
		panic("fallback: New: " + err.Error()) // package main asks before
	}
	u := p.Unit()
	nans := make([]T, 1024)
	for i := range nans {
		nans[i] = T(math.NaN())
	}
	return &Device[T]{
		activation: activations[T](), precision: p, phi: T(u * (1 + 2*u)), eta: T(p.Eta()), max: T(p.Max()), u: T(u),
		seed: seed, rootSeed: rootSeed, pow2: pow2, tiny: tiny, sigmoidC: c,
		workers: cores, memory: 1 << 30, vectors: vectors, nans: nans, free: &freeList[T]{},
		rows: &sync.Pool{New: func() any { return new(sparseRow[T]) }},
	}
}

// Name is "cpu".
func (d *Device[T]) Name() string { return "cpu" }

// Precision is the format of T.
func (d *Device[T]) Precision() bound.Precision { return d.precision }

// TestForGraphs has nothing to do.
func (d *Device[T]) TestForGraphs() error { return nil }

// MemoryLimit is 1 GiB.
func (d *Device[T]) MemoryLimit() int64 { return d.memory }

type array[T bound.Real] struct {
	v []T
	// lists are what ConvTranspose has made of numbers that nobody has asked for since (Device.data).
	lists atomic.Pointer[convLists]
}

func (a *array[T]) Len() int { return len(a.v) }

// NewArray returns n numbers, all NaN: an operation that forgets an output
// leaves something that no comparison accepts.
func (d *Device[T]) NewArray(n int) (bound.Array, error) {
	a := &array[T]{v: d.free.take(n)}
	err := d.parallel(n, manyNumbers, func(from, to int) {
		for rest := a.v[from:to]; len(rest) > 0; { // several times as fast as number by number
			rest = rest[copy(rest, d.nans):]
		}
	})
	return a, err
}

// manyNumbers are worth a core of their own where they are only copied.
const manyNumbers = 1 << 17

// Release keeps the numbers for an array of the same length to come. Who uses the array after that
// finds that it has none.
func (d *Device[T]) Release(a bound.Array) {
	if a, ours := a.(*array[T]); ours && a != nil {
		d.free.keep(a.v)
		a.v = nil
		a.lists.Store(nil)
	}
}

// Write copies src into dst and panics if a number is not one of T.
func (d *Device[T]) Write(dst bound.Array, src []float64) error {
	v := d.sized(dst, len(src), "Write")
	return d.parallel(len(src), manyNumbers, func(from, to int) {
		dst := v[from:to]
		for i, x := range src[from:to] {
			y := T(x)
			if dst[i] = y; float64(y) != x {
				panic(fmt.Sprintf("fallback: Write: entry %d is %v (%x), which is no %v", from+i, x, x, d.precision))
			}
		}
	})
}

// Read copies src into dst. It is an error if foreign code has changed how the processor
// rounds in a thread that took part in any operation, or in this one ([fpcontrol]).
func (d *Device[T]) Read(dst []float64, src bound.Array) error {
	v := d.sized(src, len(dst), "Read")
	if err := d.parallel(len(dst), manyNumbers, func(from, to int) {
		part := dst[from:to]
		for i, x := range v[from:to][:len(part)] {
			part[i] = float64(x)
		}
	}); err != nil {
		return err
	}
	if err := fpcontrol.Err(); err != nil {
		return fmt.Errorf("fallback: Read: %w", err)
	}
	return nil
}

// data returns the numbers of an array, none of nil.
func (d *Device[T]) data(a bound.Array) []T {
	if a == nil {
		return nil
	}
	numbers := a.(*array[T])
	if numbers.lists.Load() != nil { // who has them may write them
		numbers.lists.Store(nil)
	}
	return numbers.v
}

func (d *Device[T]) interval(a bound.Interval) (lo, hi []T) { return d.data(a.Lo), d.data(a.Hi) }

// sized is data of an array that must have n numbers.
func (d *Device[T]) sized(a bound.Array, n int, what string) []T {
	if a.Len() != n {
		panic(fmt.Sprintf("fallback: %s: array has %d entries, not %d", what, a.Len(), n))
	}
	return d.data(a)
}

// down returns a number of T below x, up one above, by one or two units in the
// last place: Rump, Zimmermann, Boldo, Melquiond, "Computing predecessor and
// successor in rounding to nearest", BIT 49 (2009), Algorithm 1: with phi =
// u(1+2u), fl(x - fl(phi|x| + eta)) <= pred(x) for every finite x. So
// down(fl(y)) < y for a rounded y. Infinities stay what they are or become NaN.
func (d *Device[T]) down(x T) T { return x - (T(d.phi*abs(x)) + d.eta) }
func (d *Device[T]) up(x T) T   { return x + (T(d.phi*abs(x)) + d.eta) }

func abs[T bound.Real](x T) T { return max(-x, x) }

// lower and upper let only finite numbers through as bounds.
func (d *Device[T]) lower(x T) T {
	if x >= -d.max && x <= d.max {
		return x
	}
	return T(math.Inf(-1))
}

func (d *Device[T]) upper(x T) T { return -d.lower(-x) }

// min4 and max4 bound the product of two intervals. A NaN among the products
// is the result.
func min4[T bound.Real](aLo, aHi, bLo, bHi T) T {
	return min(min(T(aLo*bLo), T(aLo*bHi)), min(T(aHi*bLo), T(aHi*bHi)))
}

func max4[T bound.Real](aLo, aHi, bLo, bHi T) T {
	return max(max(T(aLo*bLo), T(aLo*bHi)), max(T(aHi*bLo), T(aHi*bHi)))
}

// recipApprox is about 1/x for x in [2^-100, 2^100], by Newton's iteration from
// a guess made of the bits of x; anything elsewhere.
func (d *Device[T]) recipApprox(x T) T {
	y := d.seed(x)
	for range d.newtonSteps() {
		y = T(y * (2 - T(x*y)))
	}
	return y
}

// newtonSteps: the guess is within 12 %, and each step squares the error.
func (d *Device[T]) newtonSteps() int {
	if d.precision == bound.Float32 {
		return 4
	}
	return 5
}
