package bench

import (
	"math/rand/v2"

	"psafe/host/bound"
)

// memory is the arrays of one operation on a device. After an error it makes no more.
type memory struct {
	dev    bound.Device
	arrays []bound.Array
	rng    *rand.Rand
	err    error
}

func newMemory(d bound.Device) *memory {
	return &memory{dev: d, rng: rand.New(rand.NewPCG(1, 1))}
}

func (m *memory) release() {
	for _, a := range m.arrays {
		m.dev.Release(a)
	}
}

// array has n random numbers in [lo, hi), of the device's precision.
func (m *memory) array(n int, lo, hi float64) bound.Array {
	if m.err != nil {
		return nil
	}
	a, err := m.dev.NewArray(n)
	if err != nil {
		m.err = err
		return nil
	}
	m.arrays = append(m.arrays, a)
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(float32(lo + (hi-lo)*m.rng.Float64()))
	}
	m.err = m.dev.Write(a, v)
	return a
}

// weights is an interval around 0 with ends in (-1, 0.5) and (0.5, 1).
func (m *memory) weights(n int) bound.Interval {
	return bound.Interval{Lo: m.array(n, -1, 0.5), Hi: m.array(n, 0.5, 1)}
}

// positive is an interval in [0, 2).
func (m *memory) positive(n int) bound.Interval {
	return bound.Interval{Lo: m.array(n, 0, 1), Hi: m.array(n, 1, 2)}
}

// ready is a workload that runs op and waits until the device is done with out, which it
// writes.
func (m *memory) ready(out bound.Array, op func() error) (once func() error, done func(), err error) {
	if m.err != nil {
		m.release()
		return nil, nil, m.err
	}
	v := make([]float64, out.Len())
	return func() error {
		if err := op(); err != nil {
			return err
		}
		return m.dev.Read(v, out)
	}, m.release, nil
}
