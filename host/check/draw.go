package check

import "math"

// philox is Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011): ten rounds on a counter of four words under a key of two.
func philox(c [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		a, b := uint64(c[0])*0xD2511F53, uint64(c[2])*0xCD9E8D57
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ key[0], uint32(b), uint32(a>>32) ^ c[3] ^ key[1], uint32(a)}
		key[0], key[1] = key[0]+0x9E3779B9, key[1]+0xBB67AE85
	}
	return c
}

// drawnNumber is the number of a sampled box for an entry of an array of parameters, a float32
// that is nearly standard normal: docs/soundness.md, DrawBox. The seed is the key; the counter
// is the entry by fours, the array and the box. Nothing rests on it: any box may be chosen.
func drawnNumber(seed, box uint64, array, weight int) float32 {
	c := [4]uint32{uint32(weight) / 4, uint32(array), uint32(box), uint32(box >> 32)}
	return quantileApprox(philox(c, [2]uint32{uint32(seed), uint32(seed >> 32)})[weight%4])
}

// quantileApprox is the number of 32 bits: a sign, and a tail v in (0, 1] of both sides, whose
// quantile is sqrt 2 erfinv(1-v), by polynomials in w = -log(v(2-v)), in float32.
func quantileApprox(bits uint32) float32 {
	v := float32(float32(bits&0x7fffffff)*0x1p-31) + 0x1p-32
	w := -log32(float32(v * (2 - v)))
	var p float32
	if w < 5 {
		p = polynomial32(w-2.5, quantileCentre[:])
	} else {
		p = polynomial32(w-12, quantileTail[:])
	}
	if x := float32(p * (1 - v)); bits>>31 == 0 {
		return x
	} else {
		return -x
	}
}

// log32 is log(y) for y in (2^-40, 1]: y = 2^e m, m in [3/4, 3/2).
func log32(y float32) float32 {
	bits := math.Float32bits(y)
	e := int32(bits-0x3f400000) >> 23
	m := math.Float32frombits(bits - uint32(e)<<23)
	return float32(float32(e)*0x1.62e43p-1) + polynomial32(m-1, log32Coefficients[:])
}

// polynomial32 is Horner's rule, highest power first, each operation rounded to float32.
func polynomial32(t float32, c []float32) float32 {
	p := c[0]
	for _, a := range c[1:] {
		p = a + float32(p*t)
	}
	return p
}

// The coefficients are part of the definition of a sampled box.
var log32Coefficients = [...]float32{
	0.048774821246014934, -0.11628150544757432, 0.15015401752562585, -0.16908588501665717, 0.19981705356829352,
	-0.24987882879613785, 0.3333323992021914, -0.500001855984106, 1.000000029553957, 4.531166518048095e-09,
}

var quantileCentre = [...]float32{
	3.1969680394459927e-08, 4.839788249499785e-07, -4.885796045069582e-06, -6.194745732231644e-06,
	0.0003087411769368272, -0.0017730828188758966, -0.005907660099483536, 0.34880271668923374, 2.1233134670146705,
}

var quantileTail = [...]float32{
	8.750900004482134e-11, -1.8159588811786368e-09, -1.5755344565347781e-09, 4.070577985279083e-07,
	-8.19604413916867e-06, 0.0001643856313106071, -0.004174051849238484, 0.20557779348871563, 4.66594357491947,
}
