package gpu

import (
	"time"

	"psafe/kernels"
)

var _ = wraps("benchcopy", "benchfma")

// The yardsticks: what the device can do at best, measured with two kernels that
// do nothing else, in the device's precision.

// MeasureCopy returns the rate, in GB/s of bytes read plus bytes written, at which
// the device copies arrays that are too large for its caches.
func (d *Device) MeasureCopy() (float64, error) {
	run := kernels.CopyRun(d.shape.Lanes)
	bytes := min(d.limit/4, d.info.MaxAlloc, 256<<20)
	if d.info.IsGPU() {
		bytes = min(d.limit/4, d.info.MaxAlloc, 2<<30)
	}
	tasks := int(bytes) / d.precision.Bytes() / run
	n := tasks * run
	from, err := d.newArray(n)
	if err != nil {
		return 0, d.fail("MeasureCopy", err)
	}
	defer d.Release(from)
	to, err := d.newArray(n)
	if err != nil {
		return 0, d.fail("MeasureCopy", err)
	}
	defer d.Release(to)
	return d.best(5, 2*d.moved(n), func() error {
		return d.launch("benchcopy", tasks, work{2 * d.moved(n), 0}, arrays{{"to", to}, {"from", from}})
	})
}

// MeasureFMA returns the rate, in GFLOP/s, of fused multiplications and additions
// (2 operations each) on registers.
func (d *Device) MeasureFMA() (float64, error) {
	tasks, rounds := 64*d.info.ComputeUnits, 1<<14
	if d.info.IsGPU() {
		tasks = 2048 * d.info.ComputeUnits
	}
	to, err := d.newArray(tasks * d.shape.Lanes)
	if err != nil {
		return 0, d.fail("MeasureFMA", err)
	}
	defer d.Release(to)
	flops := 2 * int64(kernels.FMAChains) * int64(d.shape.Lanes) * int64(rounds) * int64(tasks)
	return d.best(5, flops, func() error {
		return d.launch("benchfma", tasks, work{d.moved(tasks * d.shape.Lanes), flops}, arrays{{"to", to}}, 0.999, 0.5, rounds)
	})
}

// best runs a launch a few times, the first as a warm-up, and returns the best
// rate in 10^9 units per second.
func (d *Device) best(times int, units int64, launch func() error) (float64, error) {
	rate := 0.0
	for i := range times + 1 {
		start := time.Now()
		if err := launch(); err != nil {
			return 0, err
		}
		if err := d.Finish(); err != nil {
			return 0, err
		}
		if i > 0 {
			rate = max(rate, float64(units)/since(start)/1e9)
		}
	}
	return rate, nil
}
