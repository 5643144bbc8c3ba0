package arith

// The softmax of one network whose class c is ahead of the others by margins M_k = f_c - f_k of
// which lower bounds t_k are known (docs/theory.md, section 9.1). All that follows grows with each M_k.

// SigmoidUp returns an upper bound of 1/(1 + e^t), the share of class k where class c is ahead of
// it by t: softmax_k <= softmax_k/(softmax_c + softmax_k). It is 1 for -Inf and NaN.
func SigmoidUp(t float64) float64 {
	switch {
	case t >= 0:
		y := ExpUp(-t)
		return min(1, Up(y/Down(1+y))) // grows with y
	case t < 0:
		return min(1, Up(1/Down(1+ExpDown(t))))
	}
	return 1
}

// SoftmaxDown returns a lower bound of softmax_c >= 1/(1 + sum_k e^(-t_k)). It is 0 where a margin
// is -Inf or NaN.
func SoftmaxDown(t []float64) float64 {
	most := 0.0 // both sides of the fraction are multiplied by e^-most, so that nothing overflows
	for _, x := range t {
		if !(x >= -MostMargin) {
			return 0
		}
		most = max(most, -x)
	}
	own := -most
	sum := ExpUp(own)
	for _, x := range t {
		sum = Up(sum + ExpUp(Up(-x-most)))
	}
	return min(1, max(0, Down(ExpDown(own)/sum)))
}

// MostMargin is more than the exponential tells from 0.
const MostMargin = 700

// SoftmaxGapDown returns a lower bound of softmax_c - softmax_j:
//
//	softmax_c (1 - e^(-M_j)) >= SoftmaxDown(t) (1 - e^(-t_j))   if t_j >= 0
//	tanh(M_j/2) >= -(1 - e^(t_j))/(1 + e^(t_j))                 if t_j < 0
//
// where softmax_c = s and softmax_j = s e^(-M_j), and for M_j < 0 the difference is least where all
// that is not of the others is shared by c and j. It is -1 where margin j is -Inf or NaN, and SoftmaxDown
// has already said what it knows.
func SoftmaxGapDown(softmaxDown, tj float64) float64 {
	switch {
	case tj >= 0:
		return max(0, Down(softmaxDown*max(0, Down(1-ExpUp(-tj)))))
	case tj < 0:
		y := ExpDown(tj)
		return max(-1, -Up(Up(1-y)/Down(1+y)))
	}
	return -1
}
