// Code generated from lanes_round_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "math"

// downF64x4 is Device.down.
func downF64x4(d *Device[numF64x4], x vecF64x4) vecF64x4 {
	return x.Sub(absF64x4(x, signsF64x4()).Mul(fillF64x4(d.phi)).Add(fillF64x4(d.eta)))
}

// upF64x4 is Device.up.
func upF64x4(d *Device[numF64x4], x vecF64x4) vecF64x4 {
	return x.Add(absF64x4(x, signsF64x4()).Mul(fillF64x4(d.phi)).Add(fillF64x4(d.eta)))
}

// storeLowerF64x4 stores Device.lower of x.
func storeLowerF64x4(p []numF64x4, x vecF64x4, d *Device[numF64x4]) {
	inside := absF64x4(x, signsF64x4()).LessEqual(fillF64x4(d.max))
	x.Merge(fillF64x4(numF64x4(math.Inf(-1))), inside).StoreSlice(p)
}

// storeUpperF64x4 stores Device.upper of x.
func storeUpperF64x4(p []numF64x4, x vecF64x4, d *Device[numF64x4]) {
	inside := absF64x4(x, signsF64x4()).LessEqual(fillF64x4(d.max))
	x.Merge(fillF64x4(numF64x4(math.Inf(1))), inside).StoreSlice(p)
}
