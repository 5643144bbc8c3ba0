package gpu

import (
	"fmt"
	"math"
	"time"

	"psafe/gpu/cl"
	"psafe/kernels"
)

// kernel is a compiled kernel and what its source says of it.
type kernel struct {
	kernels.Kernel
	compiled *cl.Kernel
}

// local is the number of work-items of the kernel's work-groups.
func (d *Device) local(k kernels.Kernel) int {
	if k.Tiled {
		return kernels.Group
	}
	return d.shape.Local
}

// launched remembers the launches whose receipts have not been looked at. Each
// launch has a number, which the kernel's first work-item writes into a ring on
// the device, at the number modulo the ring's length. After the queue has been
// waited for, the ring must hold the numbers: a launch that the driver accepted
// and did not run is found, at the price of reading 4 KiB. What single
// work-items fail to do shows as poison in small arrays; see array.go.
type launched struct {
	ring  *cl.MemObject
	next  uint32
	names []string // of launches next-len(names) .. next-1
	// used places behind the ring have digests added, of the transfers in digested, to what they held
	// before; see digest.go.
	used     int
	before   [kernels.Digests]uint32
	digested []digested
	// written are the arrays that were written and not hashed yet.
	written []*array
	// testing leaves digests out: what the self-test reads it compares with a table.
	testing bool
}

func (l *launched) init(d *Device) (err error) {
	if l.ring, err = d.context.CreateEmptyBuffer(cl.MemReadWrite, 4*(kernels.Receipts+kernels.Digests)); err != nil {
		return err
	}
	l.next = 1
	return cl.FillBuffer(d.queue, l.ring, 0, kernels.Receipts+kernels.Digests, uint32(0))
}

// work is what a launch moves and computes, for Profile: bytes of the arrays it
// must read and write at least once, operations of the definition.
type work struct{ bytes, flops int64 }

// mostTasks is how many tasks a launch can have: kernels number them in 32 bits, and
// groups are filled up. mostCount is the largest of its other counts, to which kernels add
// a run of vectors.
const (
	mostTasks = math.MaxUint32 - 1024
	mostCount = math.MaxInt32 - 1024
)

// launch enqueues a kernel over tasks 0 .. tasks-1, which are work-items or, in tiled
// kernels, work-groups. The arguments of its source that are arrays it finds in on by their names, the
// others are numbers, in order. Mistakes panic.
func (d *Device) launch(name string, tasks int, w work, on arrays, numbers ...any) error {
	if d.lost != nil {
		return d.lost
	}
	if tasks <= 0 {
		return nil
	}
	if tasks > mostTasks {
		return d.fail(name, &Error{Op: name, Err: fmt.Errorf("%d tasks are more than can be numbered: use smaller batches", tasks), outOfMemory: true})
	}
	for i, a := range numbers {
		if n, ok := a.(int); ok && n > mostCount {
			return d.fail(name, &Error{Op: name, Err: fmt.Errorf("number %d is %d, more than a kernel counts: use smaller batches", i, n), outOfMemory: true})
		}
	}
	k, l := d.kernels[name], &d.launched
	if k == nil {
		panic(fmt.Sprintf("gpu: a program of %d lanes has no kernel %s", d.shape.Lanes, name))
	}
	all, fresh := make([]any, 0, len(k.Args)+3), false
	for i, arg := range k.Args {
		switch {
		case arg.Type == kernels.In || arg.Type == kernels.Out:
			a, there := on.of(arg.Name)
			if !there {
				panic(fmt.Sprintf("gpu: kernel %s takes an array %s, which nothing here has", name, arg.Name))
			}
			if a == nil {
				all = append(all, d.none)
			} else {
				all, fresh = append(all, a.mem), fresh || a.written != nil
			}
		case len(numbers) > 0:
			all = append(all, d.argument(k.Kernel, i, numbers[0]))
			numbers = numbers[1:]
		default:
			panic(fmt.Sprintf("gpu: kernel %s has no number for %s", name, arg.Name))
		}
	}
	if len(numbers) > 0 {
		panic(fmt.Sprintf("gpu: kernel %s takes %d numbers less", name, len(numbers)))
	}
	if fresh && name != "digest" {
		if err := d.digestWritten(); err != nil {
			return err
		}
	}
	if len(l.names) == kernels.Receipts {
		if err := d.Finish(); err != nil {
			return err
		}
	}
	all = append(all, uint32(tasks), l.ring, l.next)
	local := d.local(k.Kernel)
	global := up(tasks, local) * local
	if k.Tiled {
		global = tasks * local
	}
	keep := d.profile.on
	event, err := drive(d, name, func() (*cl.Event, error) {
		for i, a := range all {
			if err := k.compiled.SetArg(i, a); err != nil {
				return nil, err
			}
		}
		return d.queue.EnqueueNDRangeKernel(k.compiled, global, local, keep)
	})
	if err != nil {
		return d.fail(name, err)
	}
	l.next++
	l.names = append(l.names, name)
	if keep {
		d.profile.pending = append(d.profile.pending, timed{name, event, w})
	}
	d.ahead.launched(w, time.Now())
	return nil
}

// argument converts a number to what the source says argument i is.
func (d *Device) argument(k kernels.Kernel, i int, v any) any {
	bad := func() any {
		panic(fmt.Sprintf("gpu: kernel %s: argument %s is %q, got %T %v", k.Name, k.Args[i].Name, k.Args[i].Type, v, v))
	}
	switch t := k.Args[i].Type; x := v.(type) {
	case float64:
		if t != kernels.Real {
			return bad()
		}
		if d.shape.Real64 {
			return x
		}
		return float32(x)
	case int:
		if t != kernels.Int || x < 0 {
			return bad()
		}
		return int32(x)
	case bool:
		if t != kernels.Int {
			return bad()
		}
		if x {
			return int32(1)
		}
		return int32(0)
	case uint32:
		if t != kernels.Uint {
			return bad()
		}
		return x
	case uint64:
		if t != kernels.Long {
			return bad()
		}
		return x
	}
	return bad()
}

// settle is called when the queue is known to be empty: it checks receipts and digests.
func (d *Device) settle() error {
	if len(d.launched.names) == 0 {
		d.ahead.waited(time.Now())
		return nil
	}
	ring, err := drive(d, "Read", d.readRing())
	if err != nil {
		return err
	}
	return d.checkRing(ring)
}

// readRing has the ring and the digests behind it read, after all that was enqueued before.
func (d *Device) readRing() func() ([]uint32, error) {
	n := kernels.Receipts + d.launched.used
	return func() ([]uint32, error) {
		ring := make([]uint32, n)
		return ring, cl.ReadBuffer(d.queue, d.launched.ring, 0, ring)
	}
}

// checkRing checks receipts and digests, and collects times.
func (d *Device) checkRing(ring []uint32) error {
	d.ahead.waited(time.Now())
	l := &d.launched
	for i, name := range l.names {
		number := l.next - uint32(len(l.names)) + uint32(i)
		if got := ring[number%kernels.Receipts]; got != number {
			return d.distrust(name, "accepted the kernel and did not run it (launch %d, receipt %d)", number, got)
		}
	}
	l.names = l.names[:0]
	if err := d.checkDigests(ring[kernels.Receipts:]); err != nil {
		return err
	}
	return d.collect()
}

// up is a/b rounded up.
func up(a, b int) int { return (a + b - 1) / b }

// moved counts the bytes of n numbers.
func (d *Device) moved(n int) int64 { return int64(n) * int64(d.precision.Bytes()) }

// runs is the number of tasks of an elementwise kernel of n numbers.
func (d *Device) runs(n int) int { return up(n, d.shape.Lanes*d.shape.Run) }
