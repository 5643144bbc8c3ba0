package gpu

import (
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/bound/selfcheck"
	"psafe/internal/testscale"
	"psafe/kernels"
)

// inStages runs f with all sums in two stages.
func inStages(d *Device, f func()) {
	d.allInStages = true
	defer func() { d.allInStages = false }()
	f()
}

// TestStages: sums in two stages have the bits of the fallback in the jobs of the self-check, some of
// which have sums of several blocks; the self-test launches every kernel of a stage, even that of chains; and
// the profile tells of each what it moves and computes, for its shares of the device's limits.
func TestStages(t *testing.T) {
	onDevices(t, func(t *testing.T, info Info, p bound.Precision) {
		d := keep(t, info, p, onGPUs, builds(t))
		if !stagesAgree(t, d) {
			t.Error("other bits than the fallback's")
		}
		check(t, d.ForgetProfile())
		d.chains = true
		check(t, d.selfTest())
		d.chains = false
		times, err := d.Profile()
		check(t, err)
		known := map[string]KernelTime{}
		for _, k := range times {
			known[k.Name] = k
		}
		onCPUs := kernels.Shape{Lanes: 16}.Kernels()
		for _, k := range onGPUs.Kernels() {
			one := slices.ContainsFunc(onCPUs, func(c kernels.Kernel) bool { return c.Name == k.Name })
			if of := known[k.Name]; !one && !k.Tiled && (of.Launches == 0 || of.Bytes == 0 || of.Flops == 0) {
				t.Errorf("the profile says of %s: %+v", k.Name, of)
			}
		}
	})
}

func stagesAgree(t *testing.T, d *Device) (agree bool) {
	t.Helper()
	check := selfcheck.Brief
	if testscale.Deep(t) {
		check = selfcheck.Full
	}
	want, err := check(fallback.New(d.precision))
	if err != nil {
		t.Fatal(err)
	}
	inStages(d, func() {
		got, err := check(d)
		if err != nil {
			t.Log(err)
		}
		agree = err == nil && slices.EqualFunc(got, want, func(a, b selfcheck.Trace) bool { return a.Digest() == b.Digest() }) && blocksAgree(t, d)
	})
	return agree
}

// blocksAgree compares the products of matrices, whose sums are short in the self-check, on sums of
// two blocks.
func blocksAgree(t *testing.T, d *Device) bool {
	t.Helper()
	of := func(dev bound.Device, operation string, seed uint64) []seen {
		c := newCornerCase(t, dev, seed)
		c.sizes = []int{34, 37}
		got, err := cornerOperations[operation](c)
		check(t, err)
		return got
	}
	reference := fallback.New(d.precision)
	for _, operation := range []string{"Affine", "BackSubstitute", "MergeRows"} {
		for seed := range uint64(3) {
			if diff := differs(of(d, operation, seed), of(reference, operation, seed)); diff != "" {
				t.Logf("%s, seed %d: %s", operation, seed, diff)
				return false
			}
		}
	}
	return true
}

// TestInStages: where work-items are few and sums long, on GPUs alone.
func TestInStages(t *testing.T) {
	gpu, cpu := &Device{shape: onGPUs}, &Device{}
	cpu.shape.Lanes = 8
	for _, c := range []struct {
		d            *Device
		tasks, parts int
		want         bool
	}{{gpu, 16, 512, true}, {gpu, 16, 3, false}, {gpu, manyTasks, 512, false}, {cpu, 16, 512, false}} {
		if got := c.d.inStages(c.tasks, c.parts); got != c.want {
			t.Errorf("%d lanes, %d tasks, sums of %d parts: %v", c.d.shape.Lanes, c.tasks, c.parts, got)
		}
	}
}
