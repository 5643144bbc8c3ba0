package gpu

import (
	"errors"

	"psafe/gpu/cl"
	"psafe/host/bound"
)

var _ = wraps("poison")

// poison32 and poison64 are the quiet NaNs that arrays are filled with. No
// operation makes them from anything else, and Read refuses to return them.
const (
	poison32 = 0x7fc5afe5
	poison64 = 0x7ff8c5afe55afe5c
)

// smallBytes is the size up to which an array is poisoned whenever it is handed
// out; larger ones only when their memory is new, as filling the end-points of
// weight boxes would cost a pass over memory each. So margins, bounds and
// constants of a batch are always checked entry by entry, and the large arrays
// between them by the launches' receipts.
const smallBytes = 64 << 10

// eight are the names of as many arrays of a kernel.
var eight = [...]string{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"}

// poisonedTogether is how many buffers one launch of the kernel poison fills.
const poisonedTogether = 8

// spares are buffers that were given back. Those in dirty, the last one given back at its end, still
// hold what they held; those in clean have been poisoned since and belong to nobody. A pass makes and
// drops small arrays by the thousand: poisoning each in a command of its own takes longer than
// what is computed in it.
type spares struct {
	dirty []*cl.MemObject
	clean map[int][]*cl.MemObject // by size
}

// take returns a spare buffer of a size that has been poisoned, nil if there is none of that size.
func (d *Device) take(size int) (*cl.MemObject, error) {
	s := &d.pool.spares
	if len(s.clean[size]) == 0 {
		for i := len(s.dirty) - 1; i >= 0; i-- {
			if s.dirty[i].Size() == size {
				last := len(s.dirty) - 1
				s.dirty[i], s.dirty[last] = s.dirty[last], s.dirty[i]
				if err := d.poisonSpares(); err != nil {
					return nil, err
				}
				break
			}
		}
	}
	list := s.clean[size]
	if len(list) == 0 {
		return nil, nil
	}
	s.clean[size] = list[:len(list)-1]
	return list[len(list)-1], nil
}

// poisonSpares poisons the buffers at the end of dirty, in one launch. What used them before comes
// before it in the queue.
func (d *Device) poisonSpares() error {
	s := &d.pool.spares
	from := max(0, len(s.dirty)-poisonedTogether)
	batch := s.dirty[from:]
	on, sizes, most, total := make(arrays, poisonedTogether), make([]any, poisonedTogether, poisonedTogether+1), 0, 0
	for i := range poisonedTogether {
		on[i].name, sizes[i] = eight[i], 0
		if i < len(batch) {
			n := min(batch[i].Size(), smallBytes) / d.precision.Bytes()
			on[i].array, sizes[i] = &array{device: d, mem: batch[i], n: n}, n
			most, total = max(most, n), total+n
		}
	}
	runs := d.runs(most)
	d.pool.count.Fills++
	d.pool.count.FilledBytes += d.moved(total)
	if err := d.launch("poison", len(batch)*runs, work{d.moved(total), 0}, on, append(sizes, runs)...); err != nil {
		return err
	}
	if s.clean == nil {
		s.clean = map[int][]*cl.MemObject{}
	}
	for _, m := range batch {
		s.clean[m.Size()] = append(s.clean[m.Size()], m)
	}
	s.dirty = s.dirty[:from]
	return nil
}

// testPoison makes sure that what is handed out again is poisoned, whatever its size.
func (d *Device) testPoison() error {
	sizes := []int{3, 700, 20000, 3, 64, 1, 700, 5000, 20, 1200, 3}
	for again := range 2 {
		var arrays []*array
		for _, n := range sizes {
			a, err := d.newArray(n)
			if err != nil {
				return err
			}
			arrays = append(arrays, a)
			bits := make([]uint32, n*d.precision.Bytes()/4)
			if err := cl.ReadBuffer(d.queue, a.mem, 0, bits); err != nil {
				return err
			}
			for i, b := range bits {
				if want := d.poisonWord(i); b != want && n*d.precision.Bytes() <= smallBytes {
					return d.distrust("self-test", "has %08x in an array of %d numbers that nothing has written, not %08x: psafe refuses it", b, n, want)
				}
			}
			if again == 0 {
				if err := d.Write(a, make([]float64, n)); err != nil {
					return err
				}
			}
		}
		for _, a := range arrays {
			d.Release(a)
		}
	}
	return nil
}

// poisonWord is word i of what arrays are filled with, 32 bits each.
func (d *Device) poisonWord(i int) uint32 {
	if d.precision == bound.Float32 {
		return poison32
	}
	return uint32(uint64(poison64) >> (32 * (i % 2)))
}

// drain takes all spare buffers out of the pool, which are to be released.
func (p *pool) drain() []*cl.MemObject {
	all := p.spares.dirty
	for _, list := range p.spares.clean {
		all = append(all, list...)
	}
	for _, m := range all {
		p.used -= int64(m.Size())
	}
	p.spares = spares{}
	return all
}

// released gives buffers back to the driver.
func released(all []*cl.MemObject) error {
	var errs []error
	for _, m := range all {
		errs = append(errs, m.Release())
	}
	return errors.Join(errs...)
}

// poison fills a new buffer.
func (d *Device) poison(a *array, size int) error {
	pattern := cl.Bytes([]uint32{poison32, poison32})
	if d.precision == bound.Float64 {
		pattern = cl.Bytes([]uint64{poison64})
	}
	d.pool.count.Fills++
	d.pool.count.FilledBytes += int64(size)
	mem := a.mem
	return driven(d, "NewArray", func() error { return d.queue.Fill(mem, pattern, 0, size) })
}
