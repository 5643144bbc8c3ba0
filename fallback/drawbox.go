package fallback

import "psafe/host/bound"

// DrawBox is defined in bound.DrawBox.
func (d *Device[T]) DrawBox(a bound.DrawBox) error {
	lo, hi := d.interval(a.Box, a.Boxes*a.N, "DrawBox.Box")
	cLo, cHi := d.interval(a.Centre, a.N, "DrawBox.Centre")
	unit := d.data(a.Unit, a.N, "DrawBox.Unit")
	gamma := d.data(a.Gamma, a.Boxes, "DrawBox.Gamma")
	groups := (a.N + 3) / 4 // one Philox call gives four numbers
	d.parallel(a.Boxes*groups, 256, func(from, to int) {
		for t := from; t < to; t++ {
			b, w0 := t/groups, t%groups*4
			var n [4]float32
			if a.Sampled {
				n = normals(a.Seed, a.First+uint64(b), a.Stream, uint32(w0/4))
			}
			for w := w0; w < min(w0+4, a.N); w++ {
				i := b*a.N + w
				lo[i], hi[i] = bound.BoxEnds(cLo[w], cHi[w], unit[w], gamma[b], T(n[w-w0]))
			}
		}
	})
	return nil
}

func normals(seed, box uint64, stream, group uint32) (n [4]float32) {
	x := bound.Philox([4]uint32{group, stream, uint32(box), uint32(box >> 32)}, [2]uint32{uint32(seed), uint32(seed >> 32)})
	for i, bits := range x {
		n[i] = bound.NormalApprox(bits)
	}
	return n
}
