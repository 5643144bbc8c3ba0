package arith

import (
	"math"
	"math/bits"
	"sync"
)

// Circle has the Fourier transforms that make the masses of a sum of independent terms, modulo N
// points, the product of those of the terms.
//
// Rounding errors: let P_i >= 0 be the masses of term i on the circle, a_i >= sum P_i. A transform
// of t = log2 N stages errs by at most delta = t eta/(1 - t eta) of its 2-norm, eta = mu + 4.01 u
// (sqrt 2 + mu) for factors that err by at most mu (Higham, Accuracy and Stability of Numerical
// Algorithms, theorem 24.2). Two terms share one, P_i + i P_j, and are parted by sums of two
// numbers, halved: each of the two errs by at most (delta + 2u) sqrt(N) (a_i + a_j) in its 2-norm,
// and is at most a_i everywhere. With all a_i in [1, a] (a_i + a_j)/a_i is at most 1 + a. On a
// circle of 2^16 points at most 32 masses of a term coincide, whose additions bring 31 u a_i, so
// that the product of all n, each factor of which brings less than 3 u more, errs by at most
//
//	sqrt(N) A n ((1 + a)(delta + 2u) + 35 u)(1 + 2^-10),   A = product of the a_i,
//
// and its transform back by sqrt(N) A delta more; in masses all that is divided by sqrt(N). So a
// sum of masses with weights of [0, 1] errs by at most sqrt(N) times that (Cauchy and Schwarz):
// ErrorUp.
type Circle struct {
	N       int
	factors []complex128 // exp(-2 pi i k/n), k < n/2
	partner []int32      // where the coefficient of -k is, for where that of k is
}

// circles has the circles that are in use, by log2 n.
var circles [24]struct {
	once sync.Once
	c    *Circle
}

// factorErr bounds the error of Circle.factors: math.Sincos is within an ulp of the sine and the
// cosine of a number that is within 1.5 u of an angle of at most pi. TestCircleFactors measures
// them.
const factorErr = 16 * Unit

// CircleOf is the circle of 2^log points.
func CircleOf(log int) *Circle {
	at := &circles[log]
	at.once.Do(func() {
		n := 1 << log
		c := &Circle{N: n, factors: make([]complex128, n/2), partner: make([]int32, n)}
		for k := range c.factors {
			sin, cos := math.Sincos(2 * math.Pi * (float64(k) / float64(n)))
			c.factors[k] = complex(cos, -sin)
		}
		for k := range n {
			c.partner[reversed(k, log)] = int32(reversed((n-k)&(n-1), log))
		}
		at.c = c
	})
	return at.c
}

func reversed(k, log int) int { return int(bits.Reverse64(uint64(k)) >> (64 - log)) }

// Forward transforms z; the coefficient of k is then where the reversed bits of k say. Two stages
// are done in one pass over z, with the operations that they have one after the other.
func (c *Circle) Forward(z []complex128) {
	half, stride := c.N/2, 1
	for ; half > 1; half, stride = half/4, stride*4 {
		q := half / 2
		for from := 0; from < c.N; from += 2 * half {
			a0, a1, a2, a3 := z[from:from+q], z[from+q:from+2*q], z[from+2*q:from+3*q], z[from+3*q:from+4*q]
			a1, a2, a3 = a1[:len(a0)], a2[:len(a0)], a3[:len(a0)]
			for k := range a0 {
				at := k * stride
				sum0, diff0 := a0[k]+a2[k], (a0[k]-a2[k])*c.factors[at]
				sum1, diff1 := a1[k]+a3[k], (a1[k]-a3[k])*c.factors[at+q*stride]
				w := c.factors[2*at]
				a0[k], a1[k] = sum0+sum1, (sum0-sum1)*w
				a2[k], a3[k] = diff0+diff1, (diff0-diff1)*w
			}
		}
	}
	if half == 1 {
		for k := 0; k < c.N; k += 2 {
			z[k], z[k+1] = z[k]+z[k+1], z[k]-z[k+1]
		}
	}
}

// Backward is the inverse, times n.
func (c *Circle) Backward(z []complex128) {
	for half, stride := 1, c.N/2; half < c.N; half, stride = half*2, stride/2 {
		for from := 0; from < c.N; from += 2 * half {
			a, b := z[from:from+half], z[from+half:from+2*half]
			b = b[:len(a)]
			for k := range a {
				w := c.factors[k*stride]
				x, y := a[k], b[k]*complex(real(w), -imag(w))
				a[k] = x + y
				b[k] = x - y
			}
		}
	}
}

// ErrorUp is the bound above for n terms, the product of the a_i and the largest, all at least 1.
func (c *Circle) ErrorUp(n int, product, largest float64) float64 {
	t := float64(bits.Len(uint(c.N)) - 1)
	eta := factorErr + 4.01*Unit*(1.42+factorErr)
	delta := 1.01 * t * eta
	each := float64(n)*((1+largest)*(delta+2*Unit)+35*Unit) + delta
	return Up(Up(each*1.01*product) * Up(math.Sqrt(float64(c.N))))
}

// Multiply multiplies product by the transforms of the real and, if two, the imaginary part of what z is
// the transform of.
func (c *Circle) Multiply(product, z []complex128, two bool) {
	for k, other := range c.partner {
		x, y := z[k], z[other]
		y = complex(real(y), -imag(y))
		a := complex((real(x)+real(y))/2, (imag(x)+imag(y))/2)
		if two {
			d := x - y // 2i times the other transform
			a *= complex(imag(d)/2, -real(d)/2)
		}
		product[k] *= a
	}
}
