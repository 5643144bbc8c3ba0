package bench

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/record"
	"psafe/internal/fault"
)

// Spent tells where the time of a job went, in seconds.
type Spent struct {
	// Tasks is how many records there are.
	Tasks int
	// Wall is that of the job. Opening, Waiting, Parallel and Serial add up to it, on one device with no cores beside: opening
	// devices with their self-tests, standing still for what devices compute, work of the host on all cores
	// (what lanes of the CPU compute among it), and all the rest, reading files and launching among it.
	Wall, Opening, Waiting, Parallel, Serial float64
	// Kernels is how long devices computed, beside the host or not.
	Kernels float64
	// Processor is that of the process, user and system, since its start; 0 where the system does not say.
	Processor float64
	// Launches are those of kernels, Calls what devices were asked for: operations, reads and writes. Passes are
	// those of concentration LBP.
	Launches, Calls, Passes int64
}

// Cost holds what devices say that they have done since they were opened.
type Cost struct {
	Launches         int64
	Kernels, Waiting time.Duration
}

// Job certifies as job.Each does, on the devices that job.Open gives, and says where the time went. cost asks
// the devices at the end; it gets what is true where the host waits while they compute, as for the fallback.
func Job(ctx context.Context, job certify.Job, cost func(Cost) (Cost, error)) (*Spent, error) {
	var s Spent
	var calls count
	open := job.Open
	job.Open = func(p bound.Precision) (*certify.Devices, error) {
		began := time.Now()
		devices, err := open(p)
		s.Opening = time.Since(began).Seconds()
		if err == nil {
			for i, d := range devices.List {
				devices.List[i] = counting(d, &calls)
			}
		}
		return devices, err
	}
	var passes atomic.Int64
	job.Pass = func(share float64) {
		if share == 0 {
			passes.Add(1)
		}
	}
	parallel, began := fault.Parallel(), time.Now()
	if err := job.Each(ctx, func(*record.Record) { s.Tasks++ }); err != nil {
		return nil, err
	}
	s.Wall, s.Parallel = time.Since(began).Seconds(), (fault.Parallel() - parallel).Seconds()
	done, err := cost(Cost{calls.operations.Load(), time.Duration(calls.computing.Load()), time.Duration(calls.waiting.Load())})
	if err != nil {
		return nil, &certify.DeviceError{Err: err}
	}
	s.Kernels, s.Waiting, s.Launches = done.Kernels.Seconds(), done.Waiting.Seconds(), done.Launches
	s.Serial = max(0, s.Wall-s.Opening-s.Waiting-s.Parallel)
	s.Calls, s.Passes, s.Processor = calls.operations.Load()+calls.moved.Load(), passes.Load(), processor()
	return &s, nil
}

// count is what devices were asked for, and how long operations took, in nanoseconds, and those for which nothing
// else went on.
type count struct{ operations, moved, computing, waiting atomic.Int64 }

// counted is a device whose calls are counted, or a lane of one.
type counted struct {
	bound.Device
	*count
	lane bool
}

// batched is a device that says what size of batch suits it.
type batched interface{ PreferredBatchBytes() int64 }

type countedBatched struct {
	counted
	batched
}

func counting(d bound.Device, c *count) bound.Device {
	if b, ok := d.(batched); ok {
		return countedBatched{counted{Device: d, count: c}, b}
	}
	return counted{Device: d, count: c}
}

// Lane counts what a lane of the device is asked for, if it has any.
func (c counted) Lane(n int) bound.Device {
	if lane := bound.Lane(c.Device, n); lane != nil {
		return counted{lane, c.count, true}
	}
	return nil
}

// Within lets a device look inside of its operations whether to go on, if it can.
func (c counted) Within(over func() error) bound.Device {
	if d, can := c.Device.(interface {
		Within(over func() error) bound.Device
	}); can {
		c.Device = d.Within(over)
	}
	if c.lane {
		return c
	}
	return counting(c.Device, c.count)
}

// ReadSeveral counts one call for as many arrays as the device reads with one wait.
func (c counted) ReadSeveral(to [][]float64, from []bound.Array) error {
	if d, can := c.Device.(interface {
		ReadSeveral(to [][]float64, from []bound.Array) error
	}); can {
		c.moved.Add(1)
		return d.ReadSeveral(to, from)
	}
	for i, a := range from {
		if err := c.Read(to[i], a); err != nil {
			return err
		}
	}
	return nil
}

func (c counted) Do(op bound.Operation) error {
	began := time.Now()
	defer func() {
		took := int64(time.Since(began))
		c.operations.Add(1)
		if c.computing.Add(took); !c.lane {
			c.waiting.Add(took)
		}
	}()
	return c.Device.Do(op)
}

func (c counted) Write(to bound.Array, v []float64) error {
	c.moved.Add(1)
	return c.Device.Write(to, v)
}

func (c counted) Read(v []float64, from bound.Array) error {
	c.moved.Add(1)
	return c.Device.Read(v, from)
}

// processor is how many seconds all threads of the process have computed, as Linux counts them; 0 elsewhere.
func processor() float64 {
	const first, perSecond = 11, 100 // behind the name, in parentheses; ticks of Linux
	stat, err := os.ReadFile("/proc/self/stat")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) < first+2 {
		return 0
	}
	user, _ := strconv.ParseFloat(string(fields[first]), 64)
	system, _ := strconv.ParseFloat(string(fields[first+1]), 64)
	return (user + system) / perSecond
}
