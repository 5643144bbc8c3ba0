package gauss

// PhiUp bounds the normal distribution function Phi(x), 1 for NaN: it is that of a number which is
// at most 1/512 larger than x. x may err by 2^-42.
func PhiUp(x float64) float64 {
	if !(x < PhiEnd) {
		return 1
	}
	return phiTable[int(max(0, (x+PhiEnd)*phiParts))]
}

const (
	// PhiEnd is where the table of PhiUp ends, phiParts how many entries it has for each unit.
	PhiEnd   = 9
	phiParts = 512
)

// phiTable[k] bounds Phi on [-PhiEnd + k/phiParts, -PhiEnd + (k+1)/phiParts] and a little beyond it,
// the first one on all below.
var phiTable = func() (phi [2*PhiEnd*phiParts + 1]float64) {
	for k := range phi {
		phi[k] = TailUp(PhiEnd - float64(k+1)/phiParts - 0x1p-40)
	}
	return phi
}()
