// Code generated from lanes_round_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "math"

// downF64x8 is Device.down.
func downF64x8(d *Device[numF64x8], x vecF64x8) vecF64x8 {
	return x.Sub(absF64x8(x, signsF64x8()).Mul(fillF64x8(d.phi)).Add(fillF64x8(d.eta)))
}

// upF64x8 is Device.up.
func upF64x8(d *Device[numF64x8], x vecF64x8) vecF64x8 {
	return x.Add(absF64x8(x, signsF64x8()).Mul(fillF64x8(d.phi)).Add(fillF64x8(d.eta)))
}

// storeLowerF64x8 stores Device.lower of x.
func storeLowerF64x8(p []numF64x8, x vecF64x8, d *Device[numF64x8]) {
	inside := absF64x8(x, signsF64x8()).LessEqual(fillF64x8(d.max))
	x.Merge(fillF64x8(numF64x8(math.Inf(-1))), inside).StoreSlice(p)
}

// storeUpperF64x8 stores Device.upper of x.
func storeUpperF64x8(p []numF64x8, x vecF64x8, d *Device[numF64x8]) {
	inside := absF64x8(x, signsF64x8()).LessEqual(fillF64x8(d.max))
	x.Merge(fillF64x8(numF64x8(math.Inf(1))), inside).StoreSlice(p)
}
