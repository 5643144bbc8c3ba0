//go:build goexperiment.simd && amd64

package fallback

//go:generate go test . -run LanesGenerated -update

import "simd/archsimd"

// The four shapes of vectors: F32x16 and F64x8 of AVX-512, F32x8 and F64x4 of AVX2. The loops
// are written for F32x16, in the files lanes_*_f32x16.go; those of the other shapes are copies
// with another name for each name that ends in F32x16 (TestLanesGenerated makes them). So what
// differs between shapes is here.
type (
	numF32x16  = float32
	vecF32x16  = archsimd.Float32x16
	wordF32x16 = archsimd.Uint32x16 // the bits of each lane
	pairF32x16 = archsimd.Uint64x8  // the bits of two lanes

	numF32x8  = float32
	vecF32x8  = archsimd.Float32x8
	wordF32x8 = archsimd.Uint32x8
	pairF32x8 = archsimd.Uint64x4

	numF64x8  = float64
	vecF64x8  = archsimd.Float64x8
	wordF64x8 = archsimd.Uint64x8

	numF64x4  = float64
	vecF64x4  = archsimd.Float64x4
	wordF64x4 = archsimd.Uint64x4
)

// How many lanes there are, and the bits of a mask that has all.
const (
	widthF32x16, allF32x16 = 16, 0xffff
	widthF32x8, allF32x8   = 8, 0xff
	widthF64x8, allF64x8   = 8, 0xff
	widthF64x4, allF64x4   = 4, 0xf
)

func fillF32x16(x float32) vecF32x16 { return archsimd.BroadcastFloat32x16(x) }
func fillF32x8(x float32) vecF32x8   { return archsimd.BroadcastFloat32x8(x) }
func fillF64x8(x float64) vecF64x8   { return archsimd.BroadcastFloat64x8(x) }
func fillF64x4(x float64) vecF64x4   { return archsimd.BroadcastFloat64x4(x) }

func loadF32x16(p []float32) vecF32x16 { return archsimd.LoadFloat32x16Slice(p) }
func loadF32x8(p []float32) vecF32x8   { return archsimd.LoadFloat32x8Slice(p) }
func loadF64x8(p []float64) vecF64x8   { return archsimd.LoadFloat64x8Slice(p) }
func loadF64x4(p []float64) vecF64x4   { return archsimd.LoadFloat64x4Slice(p) }

func signsF32x16() wordF32x16 { return archsimd.BroadcastUint32x16(1 << 31) }
func signsF32x8() wordF32x8   { return archsimd.BroadcastUint32x8(1 << 31) }
func signsF64x8() wordF64x8   { return archsimd.BroadcastUint64x8(1 << 63) }
func signsF64x4() wordF64x4   { return archsimd.BroadcastUint64x4(1 << 63) }

// flip changes the signs of lanes that are set in signs.
func flipF32x16(x vecF32x16, signs wordF32x16) vecF32x16 {
	return x.AsUint32x16().Xor(signs).AsFloat32x16()
}
func flipF32x8(x vecF32x8, signs wordF32x8) vecF32x8 {
	return x.AsUint32x8().Xor(signs).AsFloat32x8()
}
func flipF64x8(x vecF64x8, signs wordF64x8) vecF64x8 {
	return x.AsUint64x8().Xor(signs).AsFloat64x8()
}
func flipF64x4(x vecF64x4, signs wordF64x4) vecF64x4 {
	return x.AsUint64x4().Xor(signs).AsFloat64x4()
}

// abs takes the signs away.
func absF32x16(x vecF32x16, signs wordF32x16) vecF32x16 {
	return x.AsUint32x16().AndNot(signs).AsFloat32x16()
}
func absF32x8(x vecF32x8, signs wordF32x8) vecF32x8 {
	return x.AsUint32x8().AndNot(signs).AsFloat32x8()
}
func absF64x8(x vecF64x8, signs wordF64x8) vecF64x8 {
	return x.AsUint64x8().AndNot(signs).AsFloat64x8()
}
func absF64x4(x vecF64x4, signs wordF64x4) vecF64x4 {
	return x.AsUint64x4().AndNot(signs).AsFloat64x4()
}

// finite says whether a sum of numbers shows none that is not finite.
func finiteF32x16(sum vecF32x16) bool { return sum.Sub(sum).Equal(vecF32x16{}).ToBits() == allF32x16 }
func finiteF32x8(sum vecF32x8) bool   { return sum.Sub(sum).Equal(vecF32x8{}).ToBits() == allF32x8 }
func finiteF64x8(sum vecF64x8) bool   { return sum.Sub(sum).Equal(vecF64x8{}).ToBits() == allF64x8 }
func finiteF64x4(sum vecF64x4) bool   { return sum.Sub(sum).Equal(vecF64x4{}).ToBits() == allF64x4 }

// seed is Device.seed.
func seedF32x16(x vecF32x16) vecF32x16 {
	return archsimd.BroadcastUint32x16(0x7ef311c7).Sub(x.AsUint32x16()).AsFloat32x16()
}
func seedF32x8(x vecF32x8) vecF32x8 {
	return archsimd.BroadcastUint32x8(0x7ef311c7).Sub(x.AsUint32x8()).AsFloat32x8()
}
func seedF64x8(x vecF64x8) vecF64x8 {
	return archsimd.BroadcastUint64x8(0x7fde623822fc16e6).Sub(x.AsUint64x8()).AsFloat64x8()
}
func seedF64x4(x vecF64x4) vecF64x4 {
	return archsimd.BroadcastUint64x4(0x7fde623822fc16e6).Sub(x.AsUint64x4()).AsFloat64x4()
}

// rootSeed is Device.rootSeed.
func rootSeedF32x16(x vecF32x16) vecF32x16 {
	return archsimd.BroadcastUint32x16(0x5f3759df).Sub(x.AsUint32x16().ShiftAllRight(1)).AsFloat32x16()
}
func rootSeedF32x8(x vecF32x8) vecF32x8 {
	return archsimd.BroadcastUint32x8(0x5f3759df).Sub(x.AsUint32x8().ShiftAllRight(1)).AsFloat32x8()
}
func rootSeedF64x8(x vecF64x8) vecF64x8 {
	return archsimd.BroadcastUint64x8(0x5fe6eb50c7b537a9).Sub(x.AsUint64x8().ShiftAllRight(1)).AsFloat64x8()
}
func rootSeedF64x4(x vecF64x4) vecF64x4 {
	return archsimd.BroadcastUint64x4(0x5fe6eb50c7b537a9).Sub(x.AsUint64x4().ShiftAllRight(1)).AsFloat64x4()
}

// What drawing needs of numbers of 32 bits.

func wordsF32x16(x uint32) wordF32x16 { return archsimd.BroadcastUint32x16(x) }
func wordsF32x8(x uint32) wordF32x8   { return archsimd.BroadcastUint32x8(x) }
func pairsF32x16(x uint64) pairF32x16 { return archsimd.BroadcastUint64x8(x) }
func pairsF32x8(x uint64) pairF32x8   { return archsimd.BroadcastUint64x4(x) }

// multiply multiplies the lower words of pairs, whose upper words are 0.
func multiplyF32x16(x, y pairF32x16) pairF32x16 { return x.Mul(y) }
func multiplyF32x8(x, y pairF32x8) pairF32x8    { return x.AsUint32x8().MulEvenWiden(y.AsUint32x8()) }

func asWordsF32x16(x pairF32x16) wordF32x16 { return x.AsUint32x16() }
func asWordsF32x8(x pairF32x8) wordF32x8    { return x.AsUint32x8() }
func bitsF32x16(x vecF32x16) wordF32x16     { return x.AsUint32x16() }
func bitsF32x8(x vecF32x8) wordF32x8        { return x.AsUint32x8() }
func floatF32x16(x wordF32x16) vecF32x16    { return x.AsFloat32x16() }
func floatF32x8(x wordF32x8) vecF32x8       { return x.AsFloat32x8() }

// convert is the number of which a word is the two's complement.
func convertF32x16(x wordF32x16) vecF32x16 { return x.AsInt32x16().ConvertToFloat32() }
func convertF32x8(x wordF32x8) vecF32x8    { return x.AsInt32x8().ConvertToFloat32() }

// exponent shifts right by 23 bits and keeps the sign.
func exponentF32x16(x wordF32x16) wordF32x16 { return x.AsInt32x16().ShiftAllRight(23).AsUint32x16() }
func exponentF32x8(x wordF32x8) wordF32x8    { return x.AsInt32x8().ShiftAllRight(23).AsUint32x8() }

// counterOrder is in which lanes normals has its groups: interleaving puts even lanes first.
var (
	counterOrderF32x16 = [8]uint64{0, 4, 1, 5, 2, 6, 3, 7}
	counterOrderF32x8  = [4]uint64{0, 2, 1, 3}
)

func countersF32x16() pairF32x16 { return archsimd.LoadUint64x8(&counterOrderF32x16) }
func countersF32x8() pairF32x8   { return archsimd.LoadUint64x4(&counterOrderF32x8) }

// drawn are lanes of numbers drawn, as this shape's.
func drawnF32x16(n []float32) vecF32x16 { return archsimd.LoadFloat32x16Slice(n) }
func drawnF32x8(n []float32) vecF32x8   { return archsimd.LoadFloat32x8Slice(n) }
func drawnF64x8(n []float32) vecF64x8   { return archsimd.LoadFloat32x8Slice(n).ConvertToFloat64() }
func drawnF64x4(n []float32) vecF64x4   { return archsimd.LoadFloat32x4Slice(n).ConvertToFloat64() }
