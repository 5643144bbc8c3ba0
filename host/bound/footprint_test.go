package bound_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/devicetest"
)

// lengths is a device whose arrays are lengths, of ones where somebody asks: it has no operations, and counts
// the bytes that are held.
type lengths struct {
	bound.Device
	held, most int64
}

type length int

func (n *length) Len() int { return int(*n) }

func (d *lengths) TestForGraphs() error { return nil }

func (d *lengths) Precision() bound.Precision { return bound.Float32 }

func (d *lengths) NewArray(n int) (bound.Array, error) {
	d.held += int64(4 * n)
	d.most = max(d.most, d.held)
	return (*length)(&n), nil
}

func (d *lengths) Release(a bound.Array)              { d.held -= int64(4 * a.Len()) }
func (d *lengths) Write(bound.Array, []float64) error { return nil }

// Read has no unit settled, as rows of those are left out.
func (d *lengths) Read(dst []float64, a bound.Array) error {
	for i := range dst {
		dst[i] = 1
	}
	return nil
}

// TestFootprint: what concentration LBP holds at a time is at most what CLBPFootprint says, and
// not a small part of it, as fewer inputs would be bounded at a time then.
func TestFootprint(t *testing.T) {
	dense := func(sizes ...int) *posterior.Posterior {
		return noisyNet(rand.New(rand.NewPCG(1, 1)), network.ReLU, 0.1, sizes...)
	}
	posts := map[string]*posterior.Posterior{
		"3-40-30-5": dense(3, 40, 30, 5), "100-20-2": dense(100, 20, 2), "20-60-60-60-10": dense(20, 60, 60, 60, 10),
		"40-8-8-60": dense(40, 8, 8, 60), // more rows of the property than of units
	}
	for _, name := range []string{"tinyA", "tinyB", "tinyC", "tinyD", "mnist_lenet", "lenet5", "resnet8"} {
		posts[name] = convtest.Named(name).Posterior(1)
	}
	for name, post := range posts {
		for _, radius := range []float64{0, 0.125} {
			if name == "resnet8" && radius == 0 { // which takes a second, and holds less
				continue
			}
			t.Run(fmt.Sprintf("%s/%v", name, radius), func(t *testing.T) { footprint(t, post, radius, bound.NewModel) })
		}
	}
	thirds := convtest.Named("resnet8").Posterior(1) // means that float32 has not got are intervals
	for k := range thirds.Layers {
		for j := range thirds.Layers[k].Weight.Mean {
			thirds.Layers[k].Weight.Mean[j] /= 3
		}
	}
	t.Run("resnet8, intervals over whole maps", func(t *testing.T) {
		footprint(t, thirds, 0.125, func(dev bound.Device, post *posterior.Posterior, reach float64) (*bound.Model, error) {
			return bound.NewModelCut(dev, post, reach, 0, 1<<22, 0)
		})
	})
}

func footprint(t *testing.T, post *posterior.Posterior, radius float64, newModel func(bound.Device, *posterior.Posterior, float64) (*bound.Model, error)) {
	const items = 3
	d := &lengths{}
	dev := devicetest.NewFaulty(d)
	dev.Before = func(a bound.Operation) error {
		if a == nil {
			return nil
		}
		return devicetest.ErrSkip
	}
	m, err := newModel(dev, post, 1)
	if err != nil {
		t.Fatal(err)
	}
	var boxes []property.Box
	var rows [][]property.Row
	for i := range uint64(items) {
		x := convtest.Picture(i, network.Image{Height: 1, Width: post.Inputs(), Channels: 1})
		boxes, rows = append(boxes, convtest.Around(x, radius)), append(rows, property.ArgmaxIs(0, post.Outputs()).Rows)
	}
	c, err := m.NewDeviations(post, momentsOf(post))
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.UploadNoisy(boxes)
	if err != nil {
		t.Fatal(err)
	}
	dr, err := m.UploadRows(rows)
	if err != nil {
		t.Fatal(err)
	}
	before := d.held
	d.most = before
	query := bound.CLBPQuery{Inputs: in, Rows: dr, Quantiles: bound.Quantiles{Many: make([]float64, len(post.Layers))}, Sharp: m.Sharpens(), Slopes: m.Bends()}
	var told []float64
	m.Watch(func(share float64) { told = append(told, share) })
	if _, err := c.PropagateCLBP(query); err != nil {
		t.Fatal(err)
	}
	steps(t, told, len(post.Layers) > 2)
	if d.held != before {
		t.Errorf("%d bytes are left behind", d.held-before)
	}
	held, said := d.most-before, items*m.CLBPFootprint(len(rows[0]))
	t.Logf("%d KiB held, %d said: %.2f", held>>10, said>>10, float64(held)/float64(said))
	if held > said || held < said/8 {
		t.Errorf("%d bytes are held, the footprint is %d", held, said)
	}
}

// steps checks the shares of a pass that were told: from 0 to 1, and where rows of hidden layers
// are bounded, near 1 when the last of them are; many shares are small steps.
func steps(t *testing.T, told []float64, hidden bool) {
	t.Helper()
	if len(told) < 2 || told[0] != 0 || told[len(told)-1] != 1 || slices.Max(told) > 1 || !slices.IsSorted(told) {
		t.Fatalf("shares told: %v", told)
	}
	for i := range told {
		if i > 1 && len(told) > 50 && told[i]-told[i-1] > 0.1 {
			t.Errorf("the share goes from %v to %v, of %d", told[i-1], told[i], len(told))
		}
	}
	if before := told[len(told)-2]; hidden && before < 0.99 {
		t.Errorf("at the end of the last hidden layer the share is %v", before)
	}
}

// roomy is lengths with so much memory, which it likes to be used.
type roomy struct {
	lengths
	memory int64
}

func (d *roomy) MemoryLimit() int64         { return d.memory }
func (d *roomy) PreferredBatchBytes() int64 { return d.memory }

// TestFlights: a device that likes batches as large as its memory gets more rows at a time, and not
// more than it says it holds.
func TestFlights(t *testing.T) {
	post := convtest.Named("lenet5").Posterior(1)
	items := map[int64]int64{}
	for _, memory := range []int64{1 << 20, 8 << 30} {
		m, err := bound.NewModel(&roomy{memory: memory}, post, 1)
		if err != nil {
			t.Fatal(err)
		}
		items[memory] = m.CLBPFootprint(9)
	}
	if few, many := items[1<<20], items[8<<30]; many < 2*few || 8*many > 8<<30 {
		t.Errorf("an item takes %d bytes where memory is little, %d where it is 8 GiB", few, many)
	}
}
