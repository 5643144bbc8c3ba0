package gpu

import (
	"strings"
	"testing"

	"psafe/gpu/cl"
	"psafe/host/bound"
	"psafe/internal/testscale"
)

// poisonMutants are mistakes in the kernel poison.
var poisonMutants = []struct{ what, file, old, new string }{
	{noMistake, "poison", "", ""},
	{"zeros", "poison", "as_float(0x7fc5afe5U)", "0.0f"},
	{"another NaN", "poison", "as_float(0x7fc5afe5U)", "as_float(0x7fc00000U)"},
	{"the last left out", "poison", "(k < 7 ? n6 : n7)", "(k < 7 ? n6 : 0)"},
	{"the third left out", "poison", "(k < 3 ? n2 : n3)", "(k < 3 ? 0 : n3)"},
	{"half of it", "poison", "i < min(i0 + EW * VW, n)", "i < min(i0 + EW * VW, n / 2)"},
	{"one buffer only", "poison", "const int k = (int)quotient(t, runs)", "const int k = 0 * (int)quotient(t, runs)"},
}

// TestPoisonMutants: a device that leaves something of what it hands out again as it was is not
// opened.
func TestPoisonMutants(t *testing.T) {
	info := devices(t)[0]
	for _, m := range testscale.Few(t, poisonMutants, 2) {
		d, err := OpenInfo(info, bound.Float32, Options{sources: mutate(t, m.file, m.old, m.new), build: quick})
		if err == nil {
			check(t, d.Close())
		}
		if caught := err != nil && strings.Contains(err.Error(), "nothing has written"); caught != (m.what != noMistake) {
			t.Errorf("%s: %v", m.what, err)
		}
	}
}

// TestPoisonTogether: of arrays that are made, used and dropped again and again, many are poisoned
// in a launch, and none is handed out with what it held.
func TestPoisonTogether(t *testing.T) {
	d := open(t, devices(t)[0], bound.Float32, Options{untested: true})
	before := d.Arrays()
	for round := range 40 {
		var held []bound.Array
		for k := range 10 {
			a, err := d.NewArray(1 + 37*k*k)
			check(t, err)
			check(t, d.poisonedWhole(t, a.(*array)))
			check(t, d.Write(a, make([]float64, a.Len())))
			held = append(held, a)
		}
		for _, a := range held {
			d.Release(a)
		}
		if after := d.Arrays(); round == 39 && (after.Made-before.Made != 400 || after.Fills-before.Fills > 400/4) {
			t.Errorf("%d arrays, %d fills", after.Made-before.Made, after.Fills-before.Fills)
		}
	}
}

func (d *Device) poisonedWhole(t *testing.T, a *array) error {
	raw := make([]uint32, a.n)
	if err := cl.ReadBuffer(d.queue, a.mem, 0, raw); err != nil {
		return err
	}
	for i, w := range raw {
		if w != poison32 {
			t.Fatalf("word %d of an array of %d numbers is %08x", i, a.n, w)
		}
	}
	return nil
}
