package fallback

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// The benchmarks measure one core: they call the operations on a device with one
// worker, whose loops run on the benchmark's own goroutine. Only
// BenchmarkLBP2x128 uses all cores.

// oneCore is the device of T with one worker.
func oneCore[T bound.Real]() *Device[T] {
	p := bound.Float32
	if _, double := any(T(0)).(float64); double {
		p = bound.Float64
	}
	d := New(p).(*Device[T])
	d.workers = 1
	return d
}

// random returns n numbers in [from, to).
func random[T bound.Real](r *rand.Rand, n int, from, to float64) *array[T] {
	a := &array[T]{v: make([]T, n)}
	for i := range a.v {
		a.v[i] = T(from + (to-from)*r.Float64())
	}
	return a
}

// around returns intervals with centres in [from, to).
func around[T bound.Real](r *rand.Rand, n int, from, to, halfWidth float64) bound.Interval {
	lo, hi := random[T](r, n, from, to), random[T](r, n, 0, 2*halfWidth)
	for i := range hi.v {
		lo.v[i] -= T(halfWidth)
		hi.v[i] += lo.v[i]
	}
	return bound.Interval{Lo: lo, Hi: hi}
}

// both runs a benchmark in both precisions.
func both(b *testing.B, f32, f64 func(*testing.B)) {
	b.Run("float32", f32)
	b.Run("float64", f64)
}

const benchIn, benchOut = 784, 512

// BenchmarkAffine is the IBP pass of the widest layer of the paper's networks for
// one weight box and one input. Bytes are those of the weights' end-points.
func BenchmarkAffine(b *testing.B) { both(b, benchAffine[float32], benchAffine[float64]) }

func benchAffine[T bound.Real](b *testing.B) {
	for _, nonNeg := range []bool{true, false} {
		b.Run(fmt.Sprintf("nonneg=%v", nonNeg), func(b *testing.B) {
			d := oneCore[T]()
			a := newBenchAffine[T](rand.New(rand.NewPCG(1, 2)), nonNeg)
			b.SetBytes(int64(2 * benchIn * benchOut * d.precision.Bytes()))
			for b.Loop() {
				if err := d.Do(a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func newBenchAffine[T bound.Real](r *rand.Rand, nonNeg bool) bound.Affine {
	a := bound.Affine{
		Pre: around[T](r, benchOut, 0, 0, 0), Mag: random[T](r, benchOut, 0, 0),
		W: around[T](r, benchIn*benchOut, -0.1, 0.1, 0.01), B: around[T](r, benchOut, -0.1, 0.1, 0.01),
		NonNeg: nonNeg, Batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1}, In: benchIn, Out: benchOut,
	}
	from := -1.0
	if nonNeg {
		from = 0.1
	}
	a.Z = around[T](r, benchIn, from, 1, 0.1)
	a.Push, a.MagRound = oneCore[T]().precision.AffineRounding(benchIn)
	return a
}

// BenchmarkFloor measures what reading the same end-points costs at least in plain Go: their sum,
// by one running sum and by four.
func BenchmarkFloor(b *testing.B) { both(b, benchFloor[float32], benchFloor[float64]) }

func benchFloor[T bound.Real](b *testing.B) {
	w := around[T](rand.New(rand.NewPCG(1, 2)), benchIn*benchOut, -0.1, 0.1, 0.01)
	lo, hi := w.Lo.(*array[T]).v, w.Hi.(*array[T]).v
	sums := []struct {
		name string
		f    func([]T) T
	}{{"sums=1", sum1[T]}, {"sums=4", sum4[T]}}
	for _, s := range sums {
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(2 * len(lo) * oneCore[T]().precision.Bytes()))
			for b.Loop() {
				s.f(lo)
				s.f(hi)
			}
		})
	}
}

//go:noinline
func sum1[T bound.Real](v []T) (s T) {
	for _, x := range v {
		s += x
	}
	return s
}

//go:noinline
func sum4[T bound.Real](v []T) T {
	var s0, s1, s2, s3 T
	for ; len(v) >= 4; v = v[4:] {
		s0, s1, s2, s3 = s0+v[0], s1+v[1], s2+v[2], s3+v[3]
	}
	return s0 + s1 + s2 + s3 + sum1(v)
}

// BenchmarkBackSubstitute takes the mirrored rows of 128 neurons through a layer
// 784-128. Half of A is zero, as it is behind ReLU.
func BenchmarkBackSubstitute(b *testing.B) {
	both(b, benchBackSubstitute[float32], benchBackSubstitute[float64])
}

func benchBackSubstitute[T bound.Real](b *testing.B) {
	const in, out, rows = 784, 128, 256
	for _, both := range []bool{false, true} {
		b.Run(fmt.Sprintf("hi=%v", both), func(b *testing.B) {
			d, r := oneCore[T](), rand.New(rand.NewPCG(1, 2))
			a := bound.BackSubstitute{
				S: bound.Interval{Lo: random[T](r, in*rows, 0, 0)}, C: random[T](r, rows, 0, 0),
				A: reluRows[T](r, out, rows), CIn: random[T](r, rows, -1, 1),
				W: around[T](r, in*out, -0.1, 0.1, 0.01), B: around[T](r, out, -0.1, 0.1, 0.01),
				PerBox: 1, P: 1, R: rows, In: in, Out: out,
			}
			if both {
				a.S.Hi = random[T](r, in*rows, 0, 0)
			}
			for b.Loop() {
				if err := d.Do(a); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(in*out*rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mterms/s")
		})
	}
}

// reluRows are coefficients behind a ReLU layer: a third of the neurons is dead,
// a third has a line of slope 0 below and one of slope 1/2 above.
func reluRows[T bound.Real](r *rand.Rand, out, rows int) *array[T] {
	a := random[T](r, out*rows, -0.1, 0.1)
	for i := range a.v {
		switch neuron := i / rows; {
		case neuron%3 == 0, neuron%3 == 1 && a.v[i] >= 0:
			a.v[i] = 0
		}
	}
	return a
}

// BenchmarkGatherSum takes 256 rows from the taps of a convolution of 16x16x8, 3x3 and padded, to
// its inputs. Bytes are those of the rows.
func BenchmarkGatherSum(b *testing.B) { both(b, benchGatherSum[float32], benchGatherSum[float64]) }

func benchGatherSum[T bound.Real](b *testing.B) {
	const rows = 256
	d := oneCore[T]()
	window := network.Window{Size: [2]int{3, 3}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Before: [2]int{1, 1}, After: [2]int{1, 1}}
	conv := network.Conv{In: network.Image{Height: 16, Width: 16, Channels: 8}, Window: window, Filters: 8, Groups: 1}
	tap := conv.Lowered().Tap
	start, entry := &array[T]{v: []T{0}}, &array[T]{}
	for j := range conv.Inputs() {
		for e, at := range tap {
			if int(at) == j {
				entry.v = append(entry.v, T(e))
			}
		}
		start.v = append(start.v, T(len(entry.v)))
	}
	a := bound.GatherSum{
		Out: &array[T]{v: make([]T, conv.Inputs()*rows)}, In: random[T](rand.New(rand.NewPCG(1, 2)), len(tap)*rows, -1, 1), Start: start, Entry: entry,
		P: 1, N: len(tap), J: conv.Inputs(), E: len(entry.v), R: rows,
	}
	b.SetBytes(int64((len(tap) + conv.Inputs()) * rows * d.precision.Bytes()))
	for b.Loop() {
		check(b, d.Do(a))
	}
}

// BenchmarkDrawBox draws 100 boxes round samples of 7,177 weights.
func BenchmarkDrawBox(b *testing.B) { both(b, benchDrawBox[float32], benchDrawBox[float64]) }

func benchDrawBox[T bound.Real](b *testing.B) {
	const n, boxes = 7177, 100
	d, r := oneCore[T](), rand.New(rand.NewPCG(1, 2))
	a := bound.DrawBox{
		Box: around[T](r, boxes*n, 0, 0, 0), Centre: around[T](r, n, -0.1, 0.1, 0), Unit: random[T](r, n, 0, 0.1),
		Gamma: random[T](r, boxes, 0, 1), Boxes: boxes, N: n, Sampled: true, Seed: 7, Stream: 1,
	}
	b.SetBytes(int64(2 * n * boxes * d.precision.Bytes()))
	for b.Loop() {
		if err := d.Do(a); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMergeRows merges "class 3 of 10" into the last layer of 128-10.
func BenchmarkMergeRows(b *testing.B) { both(b, benchMergeRows[float32], benchMergeRows[float64]) }

func benchMergeRows[T bound.Real](b *testing.B) {
	const in, out, rows = 128, 10, 9
	d, r := oneCore[T](), rand.New(rand.NewPCG(1, 2))
	c := random[T](r, rows*out, 0, 0)
	for i, row := range property.ArgmaxIs(3, out).Rows {
		for j, v := range row.CLo {
			c.v[i*out+j] = T(v)
		}
	}
	a := bound.MergeRows{
		W: around[T](r, in*rows, 0, 0, 0), B: around[T](r, rows, 0, 0, 0),
		Weight: around[T](r, in*out, -0.1, 0.1, 0.01), Bias: around[T](r, out, -0.1, 0.1, 0.01),
		C: bound.Interval{Lo: c, Hi: c}, D: around[T](r, rows, 0, 0, 0), Round: random[T](r, rows, 0, 0),
		Batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1}, In: in, Out: out, Rows: rows,
	}
	for b.Loop() {
		if err := d.Do(a); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLBP2x128 is one step of a bulk certification on all cores: 100 images
// through one weight box of a 784-128-128-10 network by linear bounds.
func BenchmarkLBP2x128(b *testing.B) {
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		b.Run(p.String(), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			m, job := newLBPJob(b, r, New(p), 100)
			for b.Loop() {
				if _, err := m.Propagate(job); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/100images")
		})
	}
}

func newLBPJob(tb testing.TB, r *rand.Rand, dev bound.Device, images int) (*bound.Model, bound.Query) {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	widths := []int{784, 128, 128, 10}
	spec := bound.BoxSpec{}
	for k, in := range widths[:3] {
		l := posterior.Layer{Layer: network.DenseLayer(in, widths[k+1], network.Activation{Kind: network.ReLU})}
		if k == 2 {
			l.Activation.Kind = network.Identity
		}
		l.Weight, l.Bias = randomGaussian(r, in*l.Outputs(), in), randomGaussian(r, l.Outputs(), in)
		post.Layers = append(post.Layers, l)
		spec.Gamma = append(spec.Gamma, []float64{0.5})
	}
	m, err := bound.NewModel(dev, post, 8)
	check(tb, err)
	job := bound.Query{Propagation: bound.LBP, Batch: bound.Batch{Items: images, PerBox: images, Inputs: images}}
	job.Boxes, err = m.Draw(spec)
	check(tb, err)
	boxes, sets := make([]property.Box, images), make([][]property.Row, images)
	for i := range boxes {
		for range widths[0] {
			x := r.Float64()
			boxes[i].Lo, boxes[i].Hi = append(boxes[i].Lo, x*0.95), append(boxes[i].Hi, x*0.95+0.05)
		}
		sets[i] = property.ArgmaxIs(i%10, 10).Rows
	}
	job.Inputs, err = m.UploadInputs(boxes)
	check(tb, err)
	job.Rows, err = m.UploadRows(sets)
	check(tb, err)
	return m, job
}

// randomGaussian has means of variance 1/in and a tenth of that as deviation.
func randomGaussian(r *rand.Rand, n, in int) posterior.Params {
	g := posterior.Params{Mean: make([]float64, n), Spread: make([]float64, n)}
	for i := range n {
		g.Mean[i] = r.NormFloat64() / float64(in) * 28
		g.Spread[i] = 0.001
	}
	g.SdLo, g.SdHi = g.Spread, g.Spread
	return g
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
