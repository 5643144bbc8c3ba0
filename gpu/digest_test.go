package gpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/gpu/cl"
	"psafe/host/bound"
)

// TestDigestSizes: what is written comes back, with digests of every number of runs,
// and of more than there is room for at once.
func TestDigestSizes(t *testing.T) {
	info := devices(t)[0]
	for _, p := range precisions {
		if p == bound.Float64 && !info.FP64 {
			continue
		}
		d := open(t, info, p, Options{untested: true, build: builds(t)})
		random := rand.New(rand.NewPCG(1, uint64(p.Bytes())))
		sizes := []int{0, 1, digestRun - 1, digestRun, digestRun + 1, 5*digestRun + 7, digestRun*digestRuns - 1, digestRun*digestRuns + 13}
		for range 1100 {
			sizes = append(sizes, 1+random.IntN(300))
		}
		for range 9 { // more than kernels.Digests in all
			sizes = append(sizes, digestRun*digestRuns/2)
		}
		drawn := make([]float64, slices.Max(sizes)+len(sizes))
		for i := range drawn {
			drawn[i] = p.Nearest(random.NormFloat64())
		}
		var arrays []bound.Array
		var numbers [][]float64
		for i, n := range sizes {
			a, err := d.NewArray(n)
			check(t, err)
			v := drawn[i:][:n] // no two begin alike
			check(t, d.Write(a, v))
			arrays, numbers = append(arrays, a), append(numbers, v)
		}
		for i, a := range arrays {
			got := make([]float64, sizes[i])
			check(t, d.Read(got, a))
			if !slices.Equal(got, numbers[i]) {
				t.Errorf("%v: %d numbers came back as others", p, sizes[i])
			}
			d.Release(a)
		}
	}
}

// TestHash: a digest changes with every number, every bit, their order and the launch.
func TestHash(t *testing.T) {
	v := make([]float32, 3*digestRun+5)
	for i := range v {
		v[i] = float32(math.Sin(float64(i)))
	}
	want := hash(cl.Bytes(v), bound.Float32, 7)
	changed := func(what string, receipt uint32, change func()) {
		old := slices.Clone(v)
		change()
		if slices.Equal(hash(cl.Bytes(v), bound.Float32, receipt), want) {
			t.Errorf("%s: the same digest", what)
		}
		copy(v, old)
	}
	changed("another launch", 8, func() {})
	changed("minus signs lost", 7, func() {
		for i := range v {
			v[i] = float32(math.Abs(float64(v[i])))
		}
	})
	for i := range v {
		changed("a bit", 7, func() { v[i] = math.Float32frombits(math.Float32bits(v[i]) ^ 1<<(i%32)) })
		changed("two exchanged", 7, func() { j := (i + 1) % len(v); v[i], v[j] = v[j], v[i] })
	}
}

// TestDigestMutants: a device that hashes otherwise does not open.
func TestDigestMutants(t *testing.T) {
	info := devices(t)[0]
	for _, m := range []struct{ old, new string }{
		{"mix(as_uint(a[i])", "mix(as_uint(fabs(a[i]))"},
		{"+ fresh);\n#endif", ");\n#endif"},
		{"receipts[RECEIPTS + at + t] = sum;", "receipts[RECEIPTS + at + t] = sum + 1;"},
		{"receipts[RECEIPTS + at + t] = sum;", "receipts[RECEIPTS + t] = sum;"},
		{"i < end; i++", "i + 1 < end; i++"},
	} {
		d, err := OpenInfo(info, bound.Float32, Options{sources: mutate(t, "digest", m.old, m.new), build: builds(t)})
		if err == nil {
			d.Close()
			t.Errorf("%q in place of %q: accepted", m.new, m.old)
		} else if text := err.Error(); !strings.Contains(text, "other numbers than it") || !IsDeviceLost(err) {
			t.Errorf("%q in place of %q: %v", m.new, m.old, err)
		}
	}
}
