//go:build goexperiment.simd && amd64

package gpu

import (
	"simd/archsimd"

	"psafe/internal/vector"
)

// What the host does with every number that is transferred, eight at a time. Each function does as much from
// the start on as it can, and says how much.

const eightWords = 32 // bytes

// inLanes reports whether there are vectors of so many bits.
func inLanes() bool {
	v, err := vector.InUse()
	return err == nil && v != vector.None
}

// hashLanes sums words of bytes, of which place is what the first is hashed with.
func hashLanes(raw []byte, place uint32) (sum uint32, bytes int) {
	if len(raw) < eightWords || !inLanes() {
		return 0, 0
	}
	var places [8]uint32
	for i := range places {
		places[i] = place + uint32(i)*spread
	}
	at, step, all := archsimd.LoadUint32x8(&places), archsimd.BroadcastUint32x8(spread&(1<<29-1)<<3), archsimd.Uint32x8{}
	first, second := archsimd.BroadcastUint32x8(mixFirst), archsimd.BroadcastUint32x8(mixSecond)
	for ; bytes+eightWords <= len(raw); bytes += eightWords {
		x := archsimd.LoadUint8x32Slice(raw[bytes:]).AsUint32x8().Add(at)
		x = x.Xor(x.ShiftAllRight(16)).Mul(first)
		x = x.Xor(x.ShiftAllRight(13)).Mul(second)
		all, at = all.Add(x.Xor(x.ShiftAllRight(16))), at.Add(step)
	}
	all.Store(&places)
	for _, x := range places {
		sum += x
	}
	return sum, bytes
}

// numbersLanes takes float32 to numbers, where none is poison.
func numbersLanes(dst []float64, raw []byte) (n int) {
	if len(raw) < eightWords || !inLanes() {
		return 0
	}
	unwritten := archsimd.BroadcastUint32x8(poison32)
	for ; 4*n+eightWords <= len(raw); n += 8 {
		x := archsimd.LoadUint8x32Slice(raw[4*n:]).AsUint32x8()
		if x.Equal(unwritten).ToBits() != 0 {
			return n
		}
		y := x.AsFloat32x8()
		y.GetLo().ConvertToFloat64().StoreSlice(dst[n:])
		y.GetHi().ConvertToFloat64().StoreSlice(dst[n+4:])
	}
	return n
}

// singlesLanes takes numbers to float32, where all are such.
func singlesLanes(dst []float32, src []float64) (n int) {
	if len(src) < 8 || !inLanes() {
		return 0
	}
	for ; n+4 <= len(src); n += 4 {
		x := archsimd.LoadFloat64x4Slice(src[n:])
		y := x.ConvertToFloat32()
		if y.ConvertToFloat64().NotEqual(x).ToBits() != 0 { // or NaN
			return n
		}
		y.StoreSlice(dst[n:])
	}
	return n
}
