package bound_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// apartCase is a posterior and questions about it, each asked with quantiles of its own.
type apartCase struct {
	post  *posterior.Posterior
	boxes []property.Box
	balls []*property.Ball
	sharp bool
	// windows is bound.NewModelCut's, 0 for none.
	windows float64
}

// quantilesOf are some for a network of that depth: those of item 2 are not all at least 0.
func quantilesOf(item, depth int) bound.Quantiles {
	more := float64(item*item) * 4
	q := bound.Quantiles{Single: 3 + more, Radius: 3.5 + more, Loose: 6 + more}
	for k := range depth {
		q.Many = append(q.Many, 3.25+more+float64(k)/8)
	}
	if item == 2 {
		q.Single = -1
	}
	return q
}

// pass bounds some of the questions in one batch, and returns all that it says, by question.
func (c *apartCase) pass(t *testing.T, dev bound.Device, rows [][]property.Row, items []int, query bound.CLBPQuery) [][]float64 {
	t.Helper()
	m, err := bound.NewModelCut(dev, c.post, 1, 0, 1<<16, c.windows)
	check(t, err)
	defer m.Release()
	d, err := m.NewDeviations(c.post, momentsOf(c.post))
	check(t, err)
	defer d.Release()
	var boxes []property.Box
	var balls []*property.Ball
	var asked [][]property.Row
	for _, i := range items {
		boxes, asked = append(boxes, c.boxes[i]), append(asked, rows[i])
		if c.balls != nil {
			balls = append(balls, c.balls[i])
		}
	}
	in, err := m.UploadNoisy(boxes)
	if balls != nil {
		in, err = m.UploadBalls(boxes, balls)
	}
	check(t, err)
	defer m.ReleaseNoisy(in)
	query.Inputs, query.Sharp, query.Slopes, query.HiddenSlopes = in, c.sharp, c.sharp, c.sharp
	query.Rows, err = m.UploadRows(asked)
	check(t, err)
	defer m.ReleaseRows(query.Rows)
	n, err := d.PropagateCLBP(query)
	check(t, err)
	said := make([][]float64, len(items))
	for i := range items {
		for _, by := range append([]*bound.CLBPMargins{n}, n.Others...) {
			check(t, by.Sharpen(i))
			for r := range n.Rows {
				for _, form := range []*bound.Noises{&by.ByIntervals, &by.ByLines} {
					if form.Lo != nil {
						lo, mean, variance := form.At(i*n.Rows + r)
						said[i] = append(append(append(said[i], lo), mean...), variance...)
					}
				}
				_, mean, variance := by.Sharp(i, r)
				said[i] = append(append(said[i], mean...), variance...)
			}
		}
	}
	return said
}

// TestApart: items of one pass with quantiles of their own get the bits that each gets alone; quantiles
// below 0 leave nothing known; and quantiles of too few items, or of networks of another depth, panic.
func TestApart(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 5))
	boxes := func(n int, size float64) (all []property.Box) {
		for range 4 {
			b := property.Box{}
			for range n {
				x := r.Float64()
				b.Lo, b.Hi = append(b.Lo, x), append(b.Hi, x+size*r.Float64())
			}
			all = append(all, b)
		}
		return all
	}
	balls := apartCase{post: noisyNet(r, network.ReLU, 0.05, 3, 6, 5, 2), boxes: boxes(3, 0.1)}
	for _, b := range balls.boxes {
		var centre, radius []float64
		for j := range b.Lo {
			centre, radius = append(centre, (b.Lo[j]+b.Hi[j])/2), append(radius, (b.Hi[j]-b.Lo[j])/2)
		}
		ball := &property.Ball{Norm: 2, CentreLo: centre, CentreHi: centre, RadiusLo: radius, RadiusHi: radius}
		balls.balls = append(balls.balls, ball)
	}
	deep := noisyNet(r, network.ReLU, 0.05, 3, 19, 33, 7, 2)
	image := convtest.TwoConvolutions(network.Image{Height: 8, Width: 8, Channels: 1}, 3, 3)
	for name, c := range map[string]apartCase{
		"relu":    {post: deep, boxes: boxes(3, 0.01)},
		"sharp":   {post: deep, boxes: boxes(3, 0.01), sharp: true},
		"tanh":    {post: noisyNet(r, network.Tanh, 0.05, 3, 17, 2), boxes: boxes(3, 0.1)},
		"balls":   balls,
		"maps":    {post: image, boxes: boxes(64, 0.01)},
		"windows": {post: image, boxes: boxes(64, 0.01), windows: math.Inf(1)},
	} {
		rows := make([][]property.Row, len(c.boxes))
		var apart []bound.Quantiles
		for i := range rows {
			rows[i] = noisyRows(r, c.post.Outputs())
			apart = append(apart, quantilesOf(i, len(c.post.Layers)))
		}
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			dev := fallback.New(p)
			got := c.pass(t, dev, rows, []int{0, 1, 2, 3, 0}, bound.CLBPQuery{Apart: append(apart[:4:4], apart[3])})
			for i, item := range []int{0, 1, 2, 3, 0} {
				q := apart[item]
				if i == 4 {
					q = apart[3]
				}
				want := c.pass(t, dev, rows, []int{item}, bound.CLBPQuery{Quantiles: q})[0]
				if a, b := fmt.Sprintf("%x", got[i]), fmt.Sprintf("%x", want); a != b {
					t.Errorf("%s, %v: item %d says\n%.300s, alone\n%.300s", name, p, i, a, b)
				}
			}
			if same := fmt.Sprint(got[0]) == fmt.Sprint(got[4]); same {
				t.Errorf("%s, %v: quantiles make no difference", name, p)
			}
		}
		for what, wrong := range map[string][]bound.Quantiles{"too few": apart[:1], "shorter": {apart[0], {Single: 1, Radius: 1}}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: %s quantiles are taken", name, what)
					}
				}()
				c.pass(t, fallback.New(bound.Float64), rows, []int{0, 1}, bound.CLBPQuery{Apart: wrong})
			}()
		}
	}
}

// TestSharpApart: which noise of a hidden row counts, the sharper one or the other, is chosen by the item's own
// quantile, whichever items are beside it. Either is a bound, but devices are asked again item by item.
func TestSharpApart(t *testing.T) {
	for n := range testscale.Cases(t, 200) {
		r := rand.New(rand.NewPCG(45, uint64(n)))
		c := apartCase{post: noisyNet(r, network.ReLU, 0.5, 2, 5, 4, 4, 2), sharp: true}
		var rows [][]property.Row
		var apart []bound.Quantiles
		for i := range 4 {
			b := property.Box{}
			for range 2 {
				x := 2*r.Float64() - 1
				b.Lo, b.Hi = append(b.Lo, x), append(b.Hi, x+float64(min(i, 1))*r.Float64()) // the first is a point
			}
			many := []float64{30, 0.25, 30, 2}[i]
			c.boxes, rows = append(c.boxes, b), append(rows, noisyRows(r, 2))
			apart = append(apart, bound.Quantiles{Single: 3, Radius: 3, Many: []float64{many, many, many, many}})
		}
		dev := fallback.New(bound.Float64)
		got := c.pass(t, dev, rows, []int{0, 1, 2, 3}, bound.CLBPQuery{Apart: apart})
		for i := range got {
			want := c.pass(t, dev, rows, []int{i}, bound.CLBPQuery{Quantiles: apart[i]})[0]
			if a, b := fmt.Sprintf("%x", got[i]), fmt.Sprintf("%x", want); a != b {
				t.Fatalf("case %d: item %d says\n%.300s, alone\n%.300s", n, i, a, b)
			}
		}
	}
}
