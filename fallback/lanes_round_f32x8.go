// Code generated from lanes_round_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "math"

// downF32x8 is Device.down.
func downF32x8(d *Device[numF32x8], x vecF32x8) vecF32x8 {
	return x.Sub(absF32x8(x, signsF32x8()).Mul(fillF32x8(d.phi)).Add(fillF32x8(d.eta)))
}

// upF32x8 is Device.up.
func upF32x8(d *Device[numF32x8], x vecF32x8) vecF32x8 {
	return x.Add(absF32x8(x, signsF32x8()).Mul(fillF32x8(d.phi)).Add(fillF32x8(d.eta)))
}

// storeLowerF32x8 stores Device.lower of x.
func storeLowerF32x8(p []numF32x8, x vecF32x8, d *Device[numF32x8]) {
	inside := absF32x8(x, signsF32x8()).LessEqual(fillF32x8(d.max))
	x.Merge(fillF32x8(numF32x8(math.Inf(-1))), inside).StoreSlice(p)
}

// storeUpperF32x8 stores Device.upper of x.
func storeUpperF32x8(p []numF32x8, x vecF32x8, d *Device[numF32x8]) {
	inside := absF32x8(x, signsF32x8()).LessEqual(fillF32x8(d.max))
	x.Merge(fillF32x8(numF32x8(math.Inf(1))), inside).StoreSlice(p)
}
