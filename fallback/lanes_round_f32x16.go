//go:build goexperiment.simd && amd64

package fallback

import "math"

// downF32x16 is Device.down.
func downF32x16(d *Device[numF32x16], x vecF32x16) vecF32x16 {
	return x.Sub(absF32x16(x, signsF32x16()).Mul(fillF32x16(d.phi)).Add(fillF32x16(d.eta)))
}

// upF32x16 is Device.up.
func upF32x16(d *Device[numF32x16], x vecF32x16) vecF32x16 {
	return x.Add(absF32x16(x, signsF32x16()).Mul(fillF32x16(d.phi)).Add(fillF32x16(d.eta)))
}

// storeLowerF32x16 stores Device.lower of x.
func storeLowerF32x16(p []numF32x16, x vecF32x16, d *Device[numF32x16]) {
	inside := absF32x16(x, signsF32x16()).LessEqual(fillF32x16(d.max))
	x.Merge(fillF32x16(numF32x16(math.Inf(-1))), inside).StoreSlice(p)
}

// storeUpperF32x16 stores Device.upper of x.
func storeUpperF32x16(p []numF32x16, x vecF32x16, d *Device[numF32x16]) {
	inside := absF32x16(x, signsF32x16()).LessEqual(fillF32x16(d.max))
	x.Merge(fillF32x16(numF32x16(math.Inf(1))), inside).StoreSlice(p)
}
