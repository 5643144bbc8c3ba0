package gpu

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/gpu/cl"
	"psafe/host/bound"
	"psafe/kernels"
)

// TestDigestSizes: what is written comes back, with digests by every number of work-items,
// and more than there is room for at once.
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
		if hash(cl.Bytes(v), bound.Float32, receipt) == want {
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
		{"at + k], sum)", "at + k], sum + 1)"},
		{"at + k], sum)", "at], sum)"},
		{"at + k], sum)", "k], sum)"},
		{"i < end; i += step", "i + 1 < end; i += step"},
		{"begin = r * run", "begin = r * run + 1"},
		{"(k < 3 ? n2 : n3)", "(k < 3 ? n1 : n3)"},
		{"(k < 1 ? a0 : a1)", "a0"},
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

// TestDigestWritten: what a launch takes, or a Read, is hashed after it was written and before, several
// arrays in a launch; what nobody takes is not.
func TestDigestWritten(t *testing.T) {
	info := devices(t)[0]
	right, wrong := []float64{1, 2, 3}, cl.Bytes([]float32{1, 2, -3})
	for _, c := range []struct {
		what    string
		digests int
		noticed bool
		do      func(d *Device, in, out *array) error
	}{
		{"a launch", 2, false, func(d *Device, in, out *array) error { return square(d, in, out) }},
		{"wrong for a launch", 0, true, func(d *Device, in, out *array) error {
			return errors.Join(d.queue.Write(in.mem, wrong), square(d, in, out))
		}},
		{"right after it", 0, true, func(d *Device, in, out *array) error {
			return errors.Join(d.queue.Write(in.mem, wrong), square(d, in, out), d.queue.Write(in.mem, cl.Bytes([]float32{1, 2, 3})))
		}},
		{"wrong where it is written", 0, true, func(d *Device, in, out *array) error {
			return errors.Join(d.Write(out, right), d.queue.Write(out.mem, wrong), square(d, in, out))
		}},
		{"wrong for a Read", 0, true, func(d *Device, in, out *array) error {
			return errors.Join(d.queue.Write(in.mem, wrong), d.Read(make([]float64, 3), in), d.queue.Write(in.mem, cl.Bytes([]float32{1, 2, 3})), square(d, in, out))
		}},
		{"written, and written over by a launch", 3, false, func(d *Device, in, out *array) error {
			return errors.Join(square(d, in, out), d.Write(out, right), square(d, in, out))
		}},
		{"written again", 2, false, func(d *Device, in, out *array) error {
			return errors.Join(d.queue.Write(in.mem, wrong), d.Write(in, right), square(d, in, out))
		}},
		{"dropped", 2, false, func(d *Device, in, out *array) error {
			a, err := d.newArray(3)
			err = errors.Join(err, d.Write(a, right), d.queue.Write(a.mem, wrong))
			d.Release(a)
			return errors.Join(err, square(d, in, out))
		}},
		{"nine, of which the last is not taken", 2, false, func(d *Device, in, out *array) error {
			var err error
			for k := range together {
				a, e := d.newArray(3)
				defer d.Release(a)
				err = errors.Join(err, e, d.Write(a, []float64{1, 2, float64(4 + k)}))
			}
			return errors.Join(err, square(d, in, out))
		}},
		{"more launches than receipts", 0, false, func(d *Device, in, out *array) error {
			var err error
			for range kernels.Receipts {
				err = errors.Join(err, d.Write(in, right), square(d, in, out))
			}
			return err
		}},
		{"a launch that does not take place", 0, true, func(d *Device, in, out *array) error {
			d.launched.names, d.launched.next = append(d.launched.names, "none"), d.launched.next+1
			return square(d, in, out)
		}},
		{"nine wrong ones", 0, true, func(d *Device, in, out *array) error {
			var err error
			for range together {
				a, e := d.newArray(3)
				defer d.Release(a)
				err = errors.Join(err, e, d.Write(a, right), d.queue.Write(a.mem, wrong))
			}
			return errors.Join(err, square(d, in, out))
		}},
	} {
		d := open(t, info, bound.Float32, Options{untested: true, build: quick})
		in, err := d.newArray(3)
		check(t, err)
		out, err := d.newArray(3)
		check(t, err)
		check(t, d.Write(in, right))
		before := d.launched.next
		err = c.do(d, in, out)
		n := 0
		for i, name := range d.launched.names {
			if name == "digest" && d.launched.next-uint32(len(d.launched.names)-i) >= before {
				n++
			}
		}
		got := make([]float64, 3)
		if err = errors.Join(err, d.Read(got, out)); c.noticed != (err != nil && IsDeviceLost(err)) || !c.noticed && got[2] < 9 {
			t.Errorf("%s: %v, %v", c.what, err, got)
		}
		if c.digests > 0 && n+1 != c.digests { // and that of the Read
			t.Errorf("%s: %d digests, not %d", c.what, n+1, c.digests)
		}
		if c.noticed {
			d.launched.names = nil // Close is not to tell of it again
		}
	}
}

// square is an operation.
func square(d *Device, in, out *array) error {
	return d.Do(bound.SquareRows{Square: out, A: in, N: 3})
}
