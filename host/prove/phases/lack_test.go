package phases

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/clbp"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// sharedFile is a file that was released with a paper, where it is; else the test is skipped.
func sharedFile(t *testing.T, path ...string) string {
	t.Helper()
	dir := os.Getenv("PSAFE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared")
	}
	file := filepath.Join(append([]string{dir}, path...)...)
	if _, err := os.Stat(file); err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	return file
}

// worst is the leaf that fails most of an answer: which row it is of, that row at least without its noise, the mean
// of that, and its standard deviation.
func worst(q *question, a *answer) (row int, m0, mean, sd float64) {
	least := math.Inf(1)
	for at, k := range q.nodes {
		t, v := a.tail(at)
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		if score := t / math.Sqrt(sum); score < least {
			least, row, m0, mean, sd = score, k.row, a.noises.Lo[at], a.noises.Lo[at]-t, math.Sqrt(sum)
		}
	}
	return row, m0, mean, sd
}

// attacked is the least margin of a network that an attack finds on the box of a task.
func attacked(post *posterior.Posterior, weights [][]float64, box property.Box, safe *property.Safe) float64 {
	_, margin := decide.AttackApprox(decide.Target{Net: post.Network(), Weights: weights, Box: box, Safe: safe}, decide.Effort{Steps: 30, Starts: 4, Restarts: 1, Thorough: true})
	return margin
}

// TestWhatLeavesLack logs of images that stay open what their worst leaf lacks: how far the network of the means
// is above 0 at the worst point that an attack finds, the leaf's row without noise, and that noise; and how many
// of 32 drawn networks are attacked. With more nodes no less is proved.
func TestWhatLeavesLack(t *testing.T) {
	testscale.DeepOnly(t)
	sd := format.Options{Scale: posterior.ScaleSD}
	relu := format.Options{Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.ReLU}}}
	for _, c := range []struct {
		name, eps string
		path      []string
		o         format.Options
		images    []int
	}{
		{"NoisyAdam 64_2", "0.03", []string{"data", "journal", "mnist_NA_FCN_Posterior_64_2_1_0.25_0.1"}, sd, []int{8}},
		{"NoisyAdam 64_2", "0.04", []string{"data", "journal", "mnist_NA_FCN_Posterior_64_2_1_0.25_0.1"}, sd, []int{1, 7, 8}},
		{"2_64_vogn", "0.05", []string{"data", "bnndp", "mnist_2_64_vogn.npz"}, format.Options{}, []int{2, 5, 21}},
		{"VIMODEL 2_128", "0.02", []string{"data", "uai2020", "VIMODEL_MNIST_2_128_relu.net.npz"}, relu, []int{8, 11, 12}},
	} {
		post, err := format.Read(sharedFile(t, c.path...), c.o)
		if err != nil {
			t.Fatal(err)
		}
		points, err := property.ReadPoints(sharedFile(t, "data", "mnist", "t10k-images-idx3-ubyte.gz"), property.InputOptions{})
		if err != nil {
			t.Fatal(err)
		}
		region, err := property.ReadRegion(property.RegionText{Eps: c.eps, Clip: []string{"0", "1"}}, points.Dim)
		if err != nil {
			t.Fatal(err)
		}
		e := engineOf(t, bound.Float32, post)
		for _, i := range c.images {
			box, err := points.Around(i, region)
			if err != nil {
				t.Fatal(err)
			}
			x, _ := points.At(i)
			y := post.LogitsApprox(x)
			label := slices.Index(y, slices.Max(y))
			task := property.Task{Index: i, Label: label, T: []property.Box{box}, S: property.ArgmaxIs(label, len(y))}
			w, unsafe := post.NewWeights(), 0
			for n := range 32 {
				post.Draw(drawSeed, n, w)
				if attacked(post, w, box, &task.S) < 0 {
					unsafe++
				}
			}
			one, two := lackOf(t, e, &task, mostNodes), lackOf(t, e, &task, 2*mostNodes)
			alone := property.Safe{Rows: []property.Row{task.S.Rows[one.row]}, Any: [][]int{{0}}}
			t.Logf("%s eps %s image %d: p_lower %.4f, with twice the nodes %.4f; %d of 32 attacked; row %d: %.3f at the worst point, leaf %.3f of %.3f at the root, less %.3f, deviation %.3f; %d leaves",
				c.name, c.eps, i, one.lower, two.lower, unsafe, one.row, attacked(post, post.Mean(), box, &alone), one.m0, one.root, one.mean, one.sd, one.leaves)
			if two.lower < one.lower-0.01 {
				t.Errorf("image %d: %v, with twice the nodes %v", i, one.lower, two.lower)
			}
		}
	}
}

// lack holds what is known of a task's worst leaf: root is its row without noise where nothing has a phase.
type lack struct {
	lower, root, m0, mean, sd float64
	row, leaves               int
}

func lackOf(t *testing.T, e *engine.Engine, task *property.Task, nodes int) (l lack) {
	t.Helper()
	q := &question{box: task.T[0], rows: task.S.Rows}
	never := func(float64) bool { return false }
	s, tau, err := q.search(t.Context(), e, &task.S, nodes, never)
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	q.tau, q.open = tau, s.net.open
	q.nodes = slices.Clone(s.trees)
	roots, err := q.ask(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	q.nodes = nil
	var counts []int
	for _, k := range s.trees {
		k.prune()
		list := k.leaves(nil)
		counts, q.nodes = append(counts, len(list)), append(q.nodes, list...)
	}
	a, err := q.ask(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	l.row, l.m0, l.mean, l.sd = worst(q, a)
	l.root, l.leaves = roots.noises.Lo[slices.IndexFunc(s.trees, func(k *node) bool { return k.row == l.row })], len(q.nodes)
	l.lower = arith.ExpDown(arith.LogComplementDown(min(1, clbp.ChainBudgetUp(e, false, tau)+a.failUp(counts))))
	return l
}
