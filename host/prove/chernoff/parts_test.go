package chernoff

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// TestHeightOfParts: the tail Q(m/s) is at most e^(-h m + square s^2 + height) at all variances of a part and all means,
// and next to it somewhere; without an end and with a square below h^2/2 nothing is.
func TestHeightOfParts(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 20))
	for i := range testscale.Cases(t, 400) {
		h := math.Exp(2 * r.NormFloat64())
		of := part{square: h * h * (0.6 + r.NormFloat64()), from: math.Exp(2*r.NormFloat64()) / (h * h)}
		of.to = of.from * (1 + 3*r.Float64())
		if i%5 == 0 {
			of.from = 0
		}
		if i%3 == 0 {
			of.to, of.square = math.Inf(1), arith.Up(h*h)/2*(1+r.Float64()*float64(i%2))
		}
		height, near := of.heightUp(h), math.Inf(1)
		for k := range 400 {
			v := of.from + (min(of.to, 40/(h*h)+of.from)-of.from)*float64(k%20)/19
			v = min(v, of.to)
			// where the two are nearest, and about it
			s, u := math.Sqrt(v), h*math.Sqrt(v)
			mean := s * (u - 1/(1+u) + 0.1*float64(k/20-10))
			if k == 0 || v == 0 {
				s, mean = math.Sqrt(v), 0
			}
			tail := gauss.TailDown(mean / s)
			if s == 0 {
				tail = 1 // of mean <= 0
			}
			room := height - h*mean + of.square*v - arith.LogUp(tail)
			if near = min(near, room); room < -1e-9*(1+math.Abs(height)+math.Abs(of.square*v)+math.Abs(h*mean)) {
				t.Errorf("case %d, %+v at rate %v: %v too low at the variance %v and the mean %v", i, of, h, -room, v, mean)
			}
		}
		if u := h * math.Sqrt(of.from); near > 0.05 && (u < 3 || of.to < math.Inf(1) && h*math.Sqrt(of.to) < 3) {
			t.Errorf("case %d, %+v at rate %v: %v too high everywhere", i, of, h, near)
		}
	}
	if got := (&part{square: 0.49, to: math.Inf(1)}).heightUp(1); got != math.Inf(1) {
		t.Errorf("no end, and a square below h^2/2: %v", got)
	}
}

// TestParts: where the last layer has much of the noise, the tail of a row is proved nearly as it is; of its noise alone
// exactly. Chernoff's bound alone is several times as large.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 21))
	for i, sizes := range [][]int{{2, 12, 8, 2}, {3, 16, 2}} {
		post := provetest.Noisy(r, 0.02, false, sizes...)
		last := &post.Layers[len(post.Layers)-1]
		for _, q := range [][2][]float64{{last.Weight.SdLo, last.Weight.SdHi}, {last.Bias.SdLo, last.Bias.SdHi}} {
			for j := range q[0] {
				q[0][j], q[1][j] = 0.5, 0.5
			}
		}
		x := make([]float64, sizes[0])
		x[0] = 1
		about := drawnRow(post, x, 4000)
		c := []float64{1, 0}
		row := property.Row{CLo: c, CHi: c, D: -about[40], DHi: -about[40]} // fails with 0.01
		p, err := newChain(post).newPoint(t.Context(), property.Box{Lo: x, Hi: x}, 1e-6)
		if err != nil || p == nil {
			t.Fatal(err)
		}
		g := guess{head: p.head(&row)}
		p.rowApprox(&g)
		got := p.partsUp(&g, g.parts)
		if t.Logf("%v: %d parts, %v", sizes, len(g.parts), got); !(got > 0.006 && got < 0.02) {
			t.Errorf("case %d: a row fails with 0.01, proved is %v", i, got)
		}
	}
}

// TestPartsAddUp: parts of a row fail together with the sum; and where their planes prove badly, a row has none.
func TestPartsAddUp(t *testing.T) {
	post := provetest.Noisy(rand.New(rand.NewPCG(34, 24)), 0.2, false, 2, 12, 8, 2)
	x := []float64{1, 0}
	y := post.LogitsApprox(x)
	p, err := newChain(post).newPoint(t.Context(), property.Box{Lo: x, Hi: x}, 1e-6)
	if err != nil || p == nil {
		t.Fatal(err)
	}
	c := []float64{1, 0}
	g := guess{head: p.head(&property.Row{CLo: c, CHi: c, D: 1 - y[0], DHi: 1 - y[0]})}
	if p.rowApprox(&g); len(g.parts) < 2 {
		t.Fatalf("%d parts", len(g.parts))
	}
	sum := 0.0
	for _, of := range g.parts {
		sum += math.Exp(p.tailUp(g.head, g.rate, &of))
	}
	if got := p.partsUp(&g, g.parts); !(math.Abs(got-sum) < 1e-12) {
		t.Errorf("the parts fail with %v, together with %v", sum, got)
	}
	g.parts = slices.Clone(g.parts)
	for i := range g.parts {
		g.parts[i].planes = [][]slopes{nil, make([]slopes, len(p.rects[1]))} // flat
	}
	rows := make([]claim.ChernoffRow, 1)
	tails, err := p.prove(t.Context(), []guess{g}, rows)
	if plain := p.partsUp(&g, []part{*whole(g.rate, g.plain)}); err != nil || len(tails) != 1 || tails[0] != plain || rows[0].Squares != nil {
		t.Errorf("%v, %v: %+v, without parts %v", tails, err, rows[0], plain)
	}
}

// TestNoRate: of a row whose variance is so small beside its mean that the rate to begin with is infinite nothing is shown.
func TestNoRate(t *testing.T) {
	post := provetest.Noisy(rand.New(rand.NewPCG(34, 26)), 0.2, false, 2, 3, 2, 2)
	x := []float64{1, 0}
	p, err := newChain(post).newPoint(t.Context(), property.Box{Lo: x, Hi: x}, 1e-6)
	if err != nil || p == nil {
		t.Fatal(err)
	}
	c := []float64{0x1p-500, 0}
	g := guess{head: p.head(&property.Row{CLo: c, CHi: c, D: 1e300, DHi: 1e300})}
	if p.rowApprox(&g); !math.IsInf(g.log, 1) && !(g.log < 0) {
		t.Errorf("%v", g.log)
	}
}

// TestSag: the moment of a normal number with b < 0 exceeds the corners of a cell by no more than is said, along means
// and along variances, and by nearly as much in a small cell.
func TestSag(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 25))
	for i := range testscale.Cases(t, 300) {
		of, size := relu{r.NormFloat64(), -math.Exp(r.NormFloat64())}, []float64{2, 1e-4}[i%2]
		c := cell{rect: rect{meanLo: r.NormFloat64(), varLo: 0.2 + r.Float64()}}
		if c.meanHi, c.varHi = c.meanLo, c.varLo; i/2%2 == 0 {
			c.meanHi += size
		} else {
			c.varHi += size
		}
		corner := func(mean, v float64) float64 { return of.corner(mean, v, 0).open[0] }
		// against the plane through the ends
		at := func(share float64) float64 {
			mean, v := c.meanLo+share*(c.meanHi-c.meanLo), c.varLo+share*(c.varHi-c.varLo)
			return corner(mean, v) - (1-share)*corner(c.meanLo, c.varLo) - share*corner(c.meanHi, c.varHi)
		}
		got, seen := of.sagUp(&c), math.Inf(-1)
		for k := range 21 {
			seen = max(seen, at(float64(k)/20))
		}
		if got < seen-1e-14 {
			t.Errorf("case %d, %+v over %+v: %v, seen %v", i, of, c.rect, got, seen)
		}
	}
	// Along means it is b/(1 - b v), next to no variance b.
	c := cell{rect: rect{meanLo: 0, meanHi: 1, varLo: 1e-6, varHi: 1e-6}}
	if got := (relu{0, -2}).sagUp(&c); !(got >= 0.25*(1-1e-5) && got < 0.2501) {
		t.Errorf("%v, it is 0.25", got)
	}
}
