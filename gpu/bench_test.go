package gpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Benchmarks beside the fallback, in one run:
//
//	go test ./gpu -run '^$' -bench . -benchtime 5x
//
// Units: GB/s of end-points read (8 bytes per weight and box in float32), GFLOP/s
// of the definition (affine: 2 multiplications and 2 additions per weight and
// item; backsubstitute: 1 and 1 per weight, row and item), and for whole networks
// seconds per run.

// benchDevices calls f with the fallback and each OpenCL device in float32.
func benchDevices(b *testing.B, f func(b *testing.B, dev bound.Device)) {
	b.Run("fallback", func(b *testing.B) { f(b, fallback.New(bound.Float32)) })
	for _, info := range devices(b) {
		d := open(b, info, bound.Float32, Options{})
		b.Run(info.ID, func(b *testing.B) { f(b, d) })
	}
}

// wait returns when dev has done all that it was given.
func wait(b *testing.B, dev bound.Device) {
	if d, ok := dev.(*Device); ok {
		check(b, d.Finish())
	}
}

func check(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// bench times f and reports units per second, in 10^9.
func bench(b *testing.B, dev bound.Device, units float64, unit string, f func() error) {
	check(b, f())
	wait(b, dev)
	best := 0.0
	for b.Loop() {
		start := time.Now()
		check(b, f())
		wait(b, dev)
		best = max(best, units/since(start)/1e9)
	}
	b.ReportMetric(best, unit)
}

func upload(b *testing.B, dev bound.Device, n int, next func() float64) bound.Array {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(float32(next()))
	}
	a, err := dev.NewArray(n)
	check(b, err)
	check(b, dev.Write(a, v))
	b.Cleanup(func() { dev.Release(a) })
	return a
}

// interval uploads intervals of width up to 0.1 round numbers of both signs, or
// of positive ones.
func interval(b *testing.B, dev bound.Device, n int, positive bool) bound.Interval {
	r := rand.New(rand.NewPCG(1, 2))
	lo, hi := make([]float64, n), make([]float64, n)
	for i := range lo {
		x := r.NormFloat64()
		if positive {
			x = r.Float64()
		}
		lo[i], hi[i] = x, x+0.1*r.Float64()
	}
	at := func(v []float64) func() float64 {
		i := -1
		return func() float64 { i++; return v[i] }
	}
	return bound.Interval{Lo: upload(b, dev, n, at(lo)), Hi: upload(b, dev, n, at(hi))}
}

func array1(b *testing.B, dev bound.Device, n int) bound.Array {
	return upload(b, dev, n, func() float64 { return 0 })
}

func BenchmarkYardsticks(b *testing.B) {
	for _, info := range devices(b) {
		for _, p := range precisions {
			b.Run(fmt.Sprintf("%s/%v", info.ID, p), func(b *testing.B) {
				d := open(b, info, p, Options{})
				for b.Loop() {
					copied, err := d.MeasureCopy()
					check(b, err)
					fma, err := d.MeasureFMA()
					check(b, err)
					b.ReportMetric(copied, "GB/s")
					b.ReportMetric(fma, "GFLOP/s")
				}
			})
		}
	}
}

func benchAffine(b *testing.B, batch bound.Batch, unit string, units float64) {
	const in, out = 784, 512
	benchDevices(b, func(b *testing.B, dev bound.Device) {
		push, mag := dev.Precision().AffineRounding(in)
		pre := interval(b, dev, batch.Items*out, false)
		a := bound.Affine{
			Pre: pre, Mag: array1(b, dev, batch.Items*out),
			W: interval(b, dev, batch.Boxes()*in*out, false), B: interval(b, dev, batch.Boxes()*out, false),
			Z: interval(b, dev, batch.Inputs*in, true), NonNeg: true,
			Push: push, MagRound: mag, Batch: batch, In: in, Out: out,
		}
		bench(b, dev, units, unit, func() error { return dev.Do(a) })
	})
}

// BenchmarkAffineManyBoxes reads every end-point once: memory is the limit.
func BenchmarkAffineManyBoxes(b *testing.B) {
	const boxes = 64
	benchAffine(b, bound.Batch{Items: boxes, PerBox: 1, Inputs: 1}, "GB/s", 2*4*boxes*784*512)
}

// BenchmarkAffineManyInputs uses every end-point 100 times: arithmetic is.
func BenchmarkAffineManyInputs(b *testing.B) {
	benchAffine(b, bound.Batch{Items: 100, PerBox: 100, Inputs: 100}, "GFLOP/s", 4*100*784*512)
}

// BenchmarkBackSubstitute takes 9 rows of 100 items through a layer that they
// share; in MNIST's case half of the neurons are dead, here none is.
func BenchmarkBackSubstitute(b *testing.B) {
	const in, out, items = 784, 512, 100
	for _, rows := range []int{9, 64} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			benchDevices(b, func(b *testing.B, dev bound.Device) {
				a := bound.BackSubstitute{
					S: bound.Interval{Lo: array1(b, dev, items*in*rows)}, C: array1(b, dev, items*rows),
					A: interval(b, dev, items*out*rows, false).Lo, CIn: array1(b, dev, items*rows),
					W: interval(b, dev, in*out, false), B: interval(b, dev, out, false),
					PerBox: items, P: items, R: rows, In: in, Out: out,
				}
				bench(b, dev, 2*items*float64(rows*in*out), "GFLOP/s", func() error { return dev.Do(a) })
			})
		})
	}
}

// vcas is a posterior of the shape of the collision avoidance network.
func vcas() *posterior.Posterior { return gaussianNet(1, 4, 512, 9) }

func gaussianNet(seed uint64, sizes ...int) *posterior.Posterior {
	r := rand.New(rand.NewPCG(seed, 3))
	gauss := func(n int, scale float64) posterior.Params {
		g := posterior.Params{Mean: make([]float64, n), SdLo: make([]float64, n), SdHi: make([]float64, n)}
		for i := range g.Mean {
			g.Mean[i] = scale * r.NormFloat64()
			g.SdLo[i] = 0.02 * scale * r.Float64()
			g.SdHi[i] = g.SdLo[i]
		}
		return g
	}
	p := &posterior.Posterior{}
	for k := range len(sizes) - 1 {
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k], sizes[k+1], network.Activation{}), Weight: gauss(sizes[k]*sizes[k+1], 0.3), Bias: gauss(sizes[k+1], 0.1)}
		if k < len(sizes)-2 {
			l.Activation = network.Activation{Kind: network.ReLU}
		}
		p.Layers = append(p.Layers, l)
	}
	return p
}

// BenchmarkVCAS bounds 10,500 sampled boxes of half-width 2.5 for one input, 8
// rows, sampling and transfers included.
func BenchmarkVCAS(b *testing.B) {
	const boxes = 10500
	post := vcas()
	region := property.Box{Lo: []float64{-0.1, 0.2, -0.3, 0.1}, Hi: []float64{0.1, 0.3, -0.2, 0.2}}
	rows := property.ArgmaxIs(0, 9).Rows
	for _, method := range []bound.Propagation{bound.IBP, bound.LBP} {
		b.Run(method.String(), func(b *testing.B) {
			benchDevices(b, func(b *testing.B, dev bound.Device) {
				m, err := bound.NewModel(dev, post, 2.5)
				check(b, err)
				defer m.Release()
				in, err := m.UploadInputs([]property.Box{region})
				check(b, err)
				defer m.ReleaseInputs(in)
				set, err := m.UploadRows([][]property.Row{rows})
				check(b, err)
				defer m.ReleaseRows(set)
				perBox, perItem := m.Footprint(method, len(rows))
				chunk := boxes
				if d, ok := dev.(*Device); ok {
					chunk = max(1, int(d.PreferredBatchBytes()/(perBox+perItem)))
				}
				run := func() {
					for first := 0; first < boxes; first += chunk {
						n := min(chunk, boxes-first)
						gamma := make([]float64, n)
						for i := range gamma {
							gamma[i] = 2.5
						}
						drawn, err := m.Draw(bound.BoxSpec{Gamma: [][]float64{gamma, gamma}, Sampled: true, Seed: 1, First: uint64(first)})
						check(b, err)
						_, err = m.Propagate(bound.Query{Propagation: method, Boxes: drawn, Inputs: in, Rows: set,
							Batch: bound.Batch{Items: n, PerBox: 1, Inputs: 1}})
						check(b, err)
						m.ReleaseBoxes(drawn)
					}
				}
				run()
				best := 1e9
				for b.Loop() {
					start := time.Now()
					run()
					best = min(best, since(start))
				}
				b.ReportMetric(best, "s/run")
				b.ReportMetric(float64(chunk), "boxes/chunk")
			})
		})
	}
}
