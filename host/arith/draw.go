package arith

import "math"

// Normal defines where sampled weight boxes are: it returns the standard normal number with the given counter: a float32
// computed from Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011) with + - * only, so every device gives
// the same bits.
//
//	box     number of the weight box, counted over the whole run
//	stream  which of a network's arrays the weight is in
//	weight  index of the weight in that array
//
// It is where a weight box is centred and not a bound: a certificate assumes
// nothing about how a weight box was chosen (docs/theory.md, section 2.5).
func Normal(seed, box uint64, stream, weight uint32) float32 {
	return Normals(seed, box, stream, weight/4)[weight%4]
}

// Normals are the four Normal of weights 4 group, 4 group + 1, ...: one Philox gives them all.
func Normals(seed, box uint64, stream, group uint32) (n [4]float32) {
	x := Philox([4]uint32{group, stream, uint32(box), uint32(box >> 32)}, [2]uint32{uint32(seed), uint32(seed >> 32)})
	for i, bits := range x {
		n[i] = NormalApprox(bits)
	}
	return n
}

// Philox is the Philox4x32-10 bijection of a counter under a key.
func Philox(c [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		p0 := uint64(c[0]) * 0xD2511F53
		p1 := uint64(c[2]) * 0xCD9E8D57
		c = [4]uint32{uint32(p1>>32) ^ c[1] ^ key[0], uint32(p1), uint32(p0>>32) ^ c[3] ^ key[1], uint32(p0)}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return c
}

// NormalApprox maps 32 uniform bits to a standard normal number by inversion:
// the top bit is the sign, the others give the two-sided tail v in (0, 1], and
// the result is sqrt(2) erfinv(1 - v) by M. Giles's polynomials ("Approximating
// the erfinv function", GPU Computing Gems, 2011) in w = -log(v (2 - v)), with a
// second polynomial in place of his square root for the far tail. Within 1e-5 of
// the exact quantile, relative (where that is below 0.01, within 1e-7);
// |result| < 6.4. Only float32 + - * and integer
// operations in a fixed order, so that kernels/drawbox.cl has the same bits.
func NormalApprox(bits uint32) float32 {
	// k+1/2 over 2^31: 24 significant bits are kept, never 0.
	v := float32(float32(bits&0x7fffffff)*0x1p-31) + 0x1p-32
	w := -logApprox(float32(v * (2 - v)))
	var p float32
	if w < 5 {
		t := w - 2.5
		p = horner(t, normalCentral[:])
	} else {
		t := w - 12
		p = horner(t, normalTail[:])
	}
	x := float32(p * (1 - v))
	if bits>>31 != 0 {
		return -x
	}
	return x
}

func horner(t float32, c []float32) float32 {
	p := c[0]
	for _, a := range c[1:] {
		p = a + float32(p*t)
	}
	return p
}

// logApprox is log(y) for y in (2^-40, 1], by y = 2^e m, m in [3/4, 3/2), and a
// polynomial in m-1.
func logApprox(y float32) float32 {
	b := math.Float32bits(y)
	e := int32(b-0x3f400000) >> 23
	m := math.Float32frombits(b - uint32(e)<<23)
	return float32(float32(e)*0x1.62e43p-1) + horner(m-1, logCoefficients[:])
}

// Coefficients of interpolating polynomials at Chebyshev points, highest power
// first: log(1+x) on [-1/4, 1/2]; erfinv as a function of w on [0, 5] (in w-2.5)
// and on [5, 22.3] (in w-12), with the factor sqrt(2). TestNormalApprox measures
// the error.
var logCoefficients = [...]float32{
	0.048774821246014934, -0.11628150544757432, 0.15015401752562585, -0.16908588501665717, 0.19981705356829352,
	-0.24987882879613785, 0.3333323992021914, -0.500001855984106, 1.000000029553957, 4.531166518048095e-09,
}

var normalCentral = [...]float32{
	3.1969680394459927e-08, 4.839788249499785e-07, -4.885796045069582e-06, -6.194745732231644e-06,
	0.0003087411769368272, -0.0017730828188758966, -0.005907660099483536, 0.34880271668923374, 2.1233134670146705,
}

var normalTail = [...]float32{
	8.750900004482134e-11, -1.8159588811786368e-09, -1.5755344565347781e-09, 4.070577985279083e-07,
	-8.19604413916867e-06, 0.0001643856313106071, -0.004174051849238484, 0.20557779348871563, 4.66594357491947,
}
