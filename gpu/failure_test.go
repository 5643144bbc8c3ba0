package gpu

import (
	"strings"
	"testing"

	"psafe/host/bound"
)

// TestMemoryLimit: what does not fit is an error of its own kind, buffers are used
// again, and spare ones make way.
func TestMemoryLimit(t *testing.T) {
	d := open(t, devices(t)[0], bound.Float32, Options{Memory: 1 << 20})
	if d.MemoryLimit() != 1<<20 || d.PreferredBatchBytes() > 1<<20 {
		t.Errorf("limit %d, preferred %d", d.MemoryLimit(), d.PreferredBatchBytes())
	}
	_, err := d.NewArray(1 << 18)
	if !IsOutOfMemory(err) || IsDeviceLost(err) || !strings.Contains(err.Error(), "limit of 1048576 bytes") {
		t.Errorf("beyond the limit: %v", err)
	}
	for range 100 {
		a, err := d.NewArray(100000)
		check(t, err)
		d.Release(a)
	}
	a, err := d.NewArray(200000) // the spare buffer must go first
	check(t, err)
	d.Release(a)
	if d.pool.used > 1<<20 {
		t.Errorf("%d bytes in use", d.pool.used)
	}
	// The device goes on after that.
	if _, err := propagations()[0].run(d); err != nil {
		t.Error(err)
	}
}

// TestUnwritten: memory that nothing has written is never returned, and the
// device is not trusted after that.
func TestUnwritten(t *testing.T) {
	for _, p := range precisions {
		info := devices(t)[0]
		if p == bound.Float64 && !info.FP64 {
			continue
		}
		d := open(t, info, p, Options{untested: true}) // it ends broken
		a, err := d.NewArray(10)
		check(t, err)
		check(t, d.Write(a, make([]float64, 10)))
		check(t, d.Read(make([]float64, 10), a))
		d.Release(a)
		a, err = d.NewArray(10) // the same buffer
		check(t, err)
		defer d.Release(a)
		err = d.Read(make([]float64, 10), a)
		if !IsDeviceLost(err) {
			t.Errorf("%v: reading what nobody wrote: %v", p, err)
		}
		if _, err := d.NewArray(1); !IsDeviceLost(err) || !IsDeviceLost(d.Finish()) {
			t.Errorf("%v: the device goes on", p)
		}
	}
}

// TestSelect: the ways to name a device.
func TestSelect(t *testing.T) {
	first := devices(t)[0]
	for _, s := range []string{"auto", first.ID, first.Name, strings.ToUpper(first.Name[:5])} {
		found, err := Select(s)
		if err != nil || len(found) == 0 {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"7:0", "no such device", ""} {
		_, err := Select(s)
		if err == nil || !strings.Contains(err.Error(), first.ID+" "+first.Name) {
			t.Errorf("%q: %v does not list what there is", s, err)
		}
	}
	if all, err := Select("all-gpus"); err == nil {
		for _, i := range all {
			if !i.IsGPU() {
				t.Errorf("all-gpus: %s is a %s", i.Name, i.Type)
			}
		}
	}
}

// TestProfile: launches are counted and timed.
func TestProfile(t *testing.T) {
	d := open(t, devices(t)[0], bound.Float32, Options{Profile: true})
	if _, err := propagations()[0].run(d); err != nil {
		t.Fatal(err)
	}
	list, err := d.Profile()
	check(t, err)
	names := map[string]KernelTime{}
	for _, k := range list {
		names[k.Name] = k
	}
	if k := names["drawbox"]; k.Launches != 4 || k.Seconds <= 0 || k.Bytes == 0 || k.Flops == 0 {
		t.Errorf("drawbox: %+v", k)
	}
}

// TestTooManyTasks: tasks and numbers that cannot be counted in 32 bits ask for smaller batches.
func TestTooManyTasks(t *testing.T) {
	d := open(t, devices(t)[0], bound.Float32, Options{untested: true})
	err := d.launch("benchcopy", mostTasks+1, work{}, nil)
	if !IsOutOfMemory(err) || IsDeviceLost(err) {
		t.Errorf("%v", err)
	}
	err = d.launch("squarerows", 1, work{}, nil, mostCount+1)
	if !IsOutOfMemory(err) || IsDeviceLost(err) {
		t.Errorf("%v", err)
	}
}
