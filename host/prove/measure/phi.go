package measure

// PhiUp bounds the normal distribution function Phi(x), 1 for NaN: it is that of a number which is
// at most 1/512 larger than x. x may err by 2^-42.
func PhiUp(x float64) float64 {
	if !(x < phiEnd) {
		return 1
	}
	return phiTable[int(max(0, (x+phiEnd)*phiParts))]
}

// phiTable[k] bounds Phi on [-phiEnd + k/phiParts, -phiEnd + (k+1)/phiParts] and a little beyond it,
// the first one on all below.
const (
	phiEnd   = 9
	phiParts = 512
)

var phiTable = func() (phi [2*phiEnd*phiParts + 1]float64) {
	for k := range phi {
		phi[k] = TailUp(phiEnd - float64(k+1)/phiParts - 0x1p-40)
	}
	return phi
}()
