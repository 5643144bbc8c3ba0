package fallback

import (
	"sync"

	"psafe/host/bound"
)

// mostFree is the greatest number of numbers that a device keeps of arrays that were released:
// enough for batches of small networks, which make many arrays for a short time. Large ones are
// left to the garbage collector.
const mostFree = 1 << 24

// freeList keeps released numbers by length. The zero value keeps none yet.
type freeList[T bound.Real] struct {
	mu    sync.Mutex
	kept  map[int][][]T
	total int
}

// take gives n numbers, whatever they are.
func (f *freeList[T]) take(n int) []T {
	if v := f.found(n); v != nil {
		return v
	}
	return make([]T, n)
}

// found are n numbers that were kept, if there are some.
func (f *freeList[T]) found(n int) []T {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.kept[n]
	if len(list) == 0 {
		return nil
	}
	v := list[len(list)-1]
	f.kept[n] = list[:len(list)-1]
	f.total -= n
	return v
}

// keep takes numbers back, if there is room; else it forgets all that it has.
func (f *freeList[T]) keep(v []T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.total+len(v) > mostFree {
		f.kept, f.total = nil, 0
	}
	if len(v) == 0 || len(v) > mostFree/8 {
		return
	}
	if f.kept == nil {
		f.kept = map[int][][]T{}
	}
	f.kept[len(v)] = append(f.kept[len(v)], v)
	f.total += len(v)
}
