package decide

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
	"slices"
	"testing"
)

func meansOf(post *posterior.Posterior) (weights [][]float64) {
	for _, l := range post.Layers {
		weights = append(weights, l.Weight.Mean, l.Bias.Mean)
	}
	return weights
}

// marginAt is the margin by the posterior's own evaluation.
func marginAt(post *posterior.Posterior, safe *property.Safe, x []float64) float64 {
	y := post.LogitsApprox(x)
	lo := make([]float64, len(safe.Rows))
	for r := range lo {
		lo[r] = RowApprox(&safe.Rows[r], y)
	}
	return safe.MarginLo(lo)
}

var activationKinds = func() (all []network.Kind) {
	for kind := range network.Kind(network.Kinds) {
		all = append(all, kind)
	}
	return all
}()

// TestAttackGradient compares back-propagation with differences.
func TestAttackGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 1))
	for _, kind := range activationKinds {
		post := provetest.RandomNet(r, kind, 7, 9, 6, 4)
		safe := property.ArgmaxIs(1, 4)
		x := make([]float64, 7)
		for j := range x {
			x[j] = r.NormFloat64()
		}
		x[3] = 0 // an input that is skipped going up has a gradient all the same
		a := newAttack(Target{post.Network(), meansOf(post), provetest.BoxAround(x, 1), &safe}, Effort{})
		a.consider(x)
		for j, g := range a.pass.Back(a.row) {
			at := func(d float64) float64 {
				y := slices.Clone(x)
				y[j] += d
				return marginAt(post, &safe, y)
			}
			const h = 1e-6
			if want := (at(h) - at(-h)) / (2 * h); math.Abs(g-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("activation %v: gradient %d is %v, differences give %v", kind, j, g, want)
			}
		}
	}
}

// TestAttackFindsTheMinimum compares with corners of a linear network, exactly, and
// with a grid for small networks.
func TestAttackFindsTheMinimum(t *testing.T) {
	r := rand.New(rand.NewPCG(72, 1))
	missed := 0
	for round := range 60 {
		kind := activationKinds[round%len(activationKinds)]
		post := provetest.RandomNet(r, kind, 2, 8, 3)
		if kind == network.Identity {
			post = provetest.RandomNet(r, kind, 2, 3)
		}
		safe := property.ArgmaxIs(r.IntN(3), 3)
		if r.IntN(2) == 0 {
			safe = property.ArgmaxIsNever(r.IntN(3), 3)
		}
		box := provetest.BoxAround([]float64{r.NormFloat64(), r.NormFloat64()}, 0.5)
		least := math.Inf(1)
		const n = 60
		for i := range n + 1 {
			for j := range n + 1 {
				x := []float64{box.Lo[0] + float64(i)/n, box.Lo[1] + float64(j)/n}
				least = min(least, marginAt(post, &safe, x))
			}
		}
		x, margin := AttackApprox(Target{post.Network(), meansOf(post), box, &safe}, Effort{Steps: 20, Starts: 6, Seed: 1})
		checkAttack(t, post, &safe, box, x, margin)
		again, _ := AttackApprox(Target{post.Network(), meansOf(post), box, &safe}, Effort{Steps: 20, Starts: 6, Seed: 1})
		if !slices.Equal(x, again) {
			t.Errorf("two equal attacks give %v and %v", x, again)
		}
		if margin > least+0.02 && margin > -0.02 { // beyond, it may have stopped early
			missed++
		}
	}
	t.Logf("%d of 60 minima missed", missed)
	if missed > 3 {
		t.Errorf("%d of 60 minima missed", missed)
	}
}

// checkAttack demands a point of the box with the margin it claims, no worse than
// the centre's.
func checkAttack(t *testing.T, post *posterior.Posterior, safe *property.Safe, box property.Box, x []float64, margin float64) {
	t.Helper()
	for j, v := range x {
		if !(box.Lo[j] <= v && v <= box.Hi[j]) {
			t.Errorf("coordinate %d is %v, outside of %v to %v", j, v, box.Lo[j], box.Hi[j])
		}
	}
	if want := marginAt(post, safe, x); math.Abs(margin-want) > 1e-9*(1+math.Abs(want)) {
		t.Errorf("margin %v claimed, the point has %v", margin, want)
	}
	if centre := marginAt(post, safe, box.CentreApprox()); margin > centre+1e-9 {
		t.Errorf("margin %v, the centre has %v", margin, centre)
	}
}

func TestAttackCorners(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 1))
	post := provetest.RandomNet(r, network.ReLU, 2, 8, 3)
	box := provetest.BoxAround([]float64{0.5, -0.25}, 0.125)
	everything, nothing := property.Safe{Any: [][]int{{}}}, property.Safe{}
	argmax := property.ArgmaxIs(0, 3)
	for _, c := range []struct {
		safe    *property.Safe
		starts  int
		margins func(float64) bool
	}{
		{&everything, 3, func(m float64) bool { return math.IsInf(m, 1) }},
		{&nothing, 3, func(m float64) bool { return math.IsInf(m, -1) }},
		{&argmax, 0, func(m float64) bool { return math.Abs(m) < 100 }},
	} {
		x, margin := AttackApprox(Target{post.Network(), meansOf(post), box, c.safe}, Effort{Steps: 5, Starts: c.starts, Seed: 1})
		if !slices.Equal(x, []float64{0.5, -0.25}) || !c.margins(margin) {
			t.Errorf("%v: %v, margin %v", c.safe.Any, x, margin)
		}
	}
	weights := meansOf(post)
	weights[3] = []float64{math.NaN(), 0, 0}
	if x, margin := AttackApprox(Target{post.Network(), weights, box, &argmax}, Effort{Steps: 5, Starts: 3, Seed: 1}); !slices.Equal(x, []float64{0.5, -0.25}) || !math.IsNaN(margin) {
		t.Errorf("NaN weights: %v, margin %v", x, margin)
	}
	point := property.Box{Lo: []float64{1, 2}, Hi: []float64{1, 2}}
	if x, _ := AttackApprox(Target{post.Network(), meansOf(post), point, &argmax}, Effort{Steps: 5, Starts: 3, Seed: 1}); !slices.Equal(x, point.Lo) {
		t.Errorf("a box of one point: %v", x)
	}
	huge := property.Box{Lo: []float64{1e308, -1e308}, Hi: []float64{1.7e308, 1.7e308}}
	if x, _ := AttackApprox(Target{post.Network(), meansOf(post), huge, &argmax}, Effort{Steps: 5, Starts: 3, Seed: 1}); !(x[0] >= 1e308 && x[0] <= 1.7e308) {
		t.Errorf("a huge box: %v", x)
	}
}

// failsAt decides with sound bounds whether the safe set fails on all of a witness
// box for the mean weights.
func failsAt(t *testing.T, post *posterior.Posterior, safe *property.Safe, witness property.Box) bool {
	t.Helper()
	m, err := bound.NewModel(fallback.New(bound.Float64), post, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	means := meansOf(post)
	boxes, err := m.Upload([]bound.Explicit{{Lo: means, Hi: means}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.UploadInputs([]property.Box{witness})
	if err != nil {
		t.Fatal(err)
	}
	negated := make([]property.Row, len(safe.Rows))
	for r := range negated {
		negated[r] = safe.Rows[r].Negated()
	}
	rows, err := m.UploadRows([][]property.Row{negated})
	if err != nil {
		t.Fatal(err)
	}
	margins, err := m.Propagate(bound.Query{Propagation: bound.IBP, Boxes: boxes, Inputs: in, Rows: rows, Batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return safe.FailsSurely(margins.Lo(0))
}

// TestAttackIsConfirmed: what an attack finds at a clearly negative margin is
// proved by bounds at the witness, and nothing is proved at a positive one.
func TestAttackIsConfirmed(t *testing.T) {
	r := rand.New(rand.NewPCG(74, 1))
	region, err := property.ReadRegion(property.RegionText{Eps: "0.3"}, 5)
	if err != nil {
		t.Fatal(err)
	}
	confirmed, refused := 0, 0
	for round := range 100 {
		post := provetest.RandomNet(r, activationKinds[round%len(activationKinds)], 5, 12, 12, 4)
		x := make([]float64, 5)
		for j := range x {
			x[j] = r.Float64()
		}
		box, err := region.Around(x, x)
		if err != nil {
			t.Fatal(err)
		}
		safe := property.ArgmaxIs(r.IntN(4), 4)
		if r.IntN(2) == 0 {
			safe = property.ArgmaxIsNever(r.IntN(4), 4)
		}
		task := property.Task{Label: -1, T: []property.Box{box}, Inner: []property.Box{region.Inside(x, x)}, S: safe}
		at, margin := AttackApprox(Target{post.Network(), meansOf(post), box, &safe}, Effort{Steps: 10, Starts: 4, Seed: 1})
		switch fails := failsAt(t, post, &safe, task.Witness(0, at)); {
		case margin < -1e-9 && fails:
			confirmed++
		case margin > 1e-9 && !fails:
			refused++
		default:
			t.Errorf("round %d: margin %v, fails %v", round, margin, fails)
		}
	}
	t.Logf("%d confirmed, %d refused", confirmed, refused)
	if confirmed < 20 || refused < 10 {
		t.Errorf("%d confirmed and %d refused: the test misses its cases", confirmed, refused)
	}
}

// realNet is the mean network of a released MNIST posterior and some test images,
// or skips.
func realNet(t testing.TB, name string) (*posterior.Posterior, *property.Points) {
	t.Helper()
	root := os.Getenv("PSAFE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	post, err := format.Read(filepath.Join(root, "data", "uai2020", name), format.Options{
		Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.ReLU}}})
	if err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	points, err := property.ReadPoints(filepath.Join(root, "data", "mnist", "t10k-images-idx3-ubyte.gz"), property.InputOptions{})
	if err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	return post, points
}

// TestAttackMNIST attacks real images within 0.1: most fall, what falls is proved
// at the witness, and a step costs little more than two forward passes.
func TestAttackMNIST(t *testing.T) {
	if testing.Short() {
		t.Skip("real posteriors take long: not with -short")
	}
	post, points := realNet(t, "VIMODEL_MNIST_2_128_relu.net.npz")
	region, err := property.ReadRegion(property.RegionText{Eps: "0.1", Clip: []string{"0", "1"}}, points.Dim)
	if err != nil {
		t.Fatal(err)
	}
	const images = 40
	fallen := 0
	for i := range images {
		box, err := points.Around(i, region)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := points.At(i)
		y := post.LogitsApprox(x)
		class := slices.Index(y, slices.Max(y))
		task := property.Task{T: []property.Box{box}, Inner: []property.Box{points.Inside(i, region)}, S: property.ArgmaxIs(class, len(y))}
		at, margin := AttackApprox(Target{post.Network(), meansOf(post), box, &task.S}, Effort{Steps: 10, Starts: 3, Seed: 1})
		checkAttack(t, post, &task.S, box, at, margin)
		if fails := failsAt(t, post, &task.S, task.Witness(0, at)); fails != (margin < 0) {
			t.Errorf("image %d: margin %v, fails %v", i, margin, fails)
		}
		if margin < 0 {
			fallen++
		}
	}
	t.Logf("%d of %d images fall", fallen, images)
	if fallen < images/2 {
		t.Errorf("%d of %d images fall", fallen, images)
	}
	safe, unit := property.ArgmaxIs(0, 10), property.Box{Lo: make([]float64, 784), Hi: slices.Repeat([]float64{1}, 784)}
	a := newAttack(Target{post.Network(), meansOf(post), unit, &safe}, Effort{})
	x := slices.Repeat([]float64{0.5}, 784)
	a.consider(x)
	// About 2; differences in each coordinate would cost hundreds.
	ratio := testscale.Ratio(func() { a.step(x, 1e-9) }, func() { post.LogitsApprox(x) }, 20)
	t.Logf("a step takes %.3g times as long as a forward pass", ratio)
	if ratio > 20 {
		t.Errorf("a step takes %.3g times as long as a forward pass", ratio)
	}
}

// TestAttackLooks: an attack looks at each step whether to go on, and ends with its best point.
func TestAttackLooks(t *testing.T) {
	post, tasks := provetest.Deep(3, 0.01, 1)
	looks, most := 0, math.MaxInt
	how := Effort{Steps: 20, Starts: 3, Thorough: true, Over: func() bool { looks++; return looks > most }}
	at := Target{post.Network(), post.Mean(), tasks[0].T[0], &tasks[0].S}
	if _, margin := AttackApprox(at, how); looks < 10 || math.IsNaN(margin) {
		t.Errorf("%d looks, margin %v", looks, margin)
	}
	for _, most = range []int{0, 1, 7} {
		looks = 0
		x, margin := AttackApprox(at, how)
		if looks > most+10 || math.IsNaN(margin) || !(x[0] >= at.Box.Lo[0] && x[0] <= at.Box.Hi[0]) {
			t.Errorf("after %d looks: %d more, %v at %v", most, looks-most, margin, x)
		}
	}
}

// TestRangesApprox: what attacks take for ranges of pre-activations contains those of points.
func TestRangesApprox(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 14))
	for range testscale.Cases(t, 300) {
		post := provetest.Graph(r, network.Activation{Kind: network.ReLU}, network.Activation{Kind: network.Tanh})
		net, safe := post.Network(), property.ArgmaxIs(0, post.Outputs())
		x := make([]float64, net.Inputs())
		for j := range x {
			x[j] = r.NormFloat64()
		}
		box := provetest.BoxAround(x, 0.5)
		a := newAttack(Target{net, post.Mean(), box, &safe}, Effort{})
		a.consider(x)
		starts := newRelaxedStarts(a, r)
		corner := starts.corner()
		for j, v := range corner {
			if !(v >= box.Lo[j] && v <= box.Hi[j]) {
				t.Fatalf("a corner beyond the box")
			}
		}
		for range 5 {
			for j := range x {
				x[j] = box.Lo[j] + (box.Hi[j]-box.Lo[j])*r.Float64()
			}
			pass := net.NewPass(post.Mean())
			pass.Forward(x)
			for k, pre := range pass.Pre {
				for i, v := range pre {
					if slack := 1e-9 * (1 + math.Abs(v)); v < starts.lo[k][i]-slack || v > starts.hi[k][i]+slack {
						t.Fatalf("layer %d: %v is not in %v to %v", k, v, starts.lo[k][i], starts.hi[k][i])
					}
				}
			}
		}
	}
}
