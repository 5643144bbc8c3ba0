package check

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"psafe/host/bound"
	"psafe/host/certify"
	net "psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/posterior/format"
	"psafe/host/property"
	"psafe/internal/testscale"
)

// realTasks are a released MNIST posterior and the first test images within 0.01, or the test
// is skipped: PSAFE_SHARED is where they lie.
func realTasks(t *testing.T, name string, images int) (*posterior.Posterior, []property.Task) {
	t.Helper()
	root := os.Getenv("PSAFE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	post, err := format.Read(filepath.Join(root, "data", "uai2020", name), format.Options{
		Scale: posterior.ScaleSD, Activations: []net.Activation{{Kind: net.ReLU}}})
	if err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	points, err := property.ReadPoints(filepath.Join(root, "data", "mnist", "t10k-images-idx3-ubyte.gz"), property.InputOptions{})
	if err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	eps, _ := property.NewDecimal("0.01")
	clip := [2]property.Decimal{{Lo: 0, Hi: 0}, {Lo: 1, Hi: 1}}
	var tasks []property.Task
	for i := range images {
		box, err := points.Ball(i, eps, &clip)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := points.At(i)
		y := post.LogitsApprox(x)
		class := 0
		for c := range y {
			if y[c] > y[class] {
				class = c
			}
		}
		tasks = append(tasks, property.Task{Index: i, T: []property.Box{box}, Inner: []property.Box{points.InnerBall(i, eps, &clip)}, S: property.ArgmaxIs(class, len(y))})
	}
	return post, tasks
}

// TestReal: what certify says of released posteriors is proved again, in not much more time.
func TestReal(t *testing.T) {
	if testing.Short() {
		t.Skip("real posteriors take long: not with -short")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, name := range []string{"VIMODEL_MNIST_1_64_relu.net.npz", "VIMODEL_MNIST_2_128_relu.net.npz"} {
		post, tasks := realTasks(t, name, testscale.Cases(t, 200))
		for _, precision := range []bound.Precision{bound.Float32, bound.Float64} {
			start := time.Now()
			results := certified(t, precision, post, certify.Config{Strategy: certify.CLBP}, tasks)
			took := time.Since(start)
			start = time.Now()
			n, err := newNoisy(post)
			if err != nil {
				t.Fatal(err)
			}
			prepared := time.Since(start)
			lower, upper := 0, 0
			for i, r := range results {
				if r.Lower() > 0 {
					lower++
					enough := -math.Expm1(r.LogP)
					if fail, err := n.failUp(r.Task, r.Proof.Cells, r.Proof.Tau, enough); err != nil || fail > enough {
						t.Errorf("%s image %d: fails %v, certify says %v, %v", name, i, fail, enough, err)
					}
				}
				if u := r.Proof.Upper; u != nil {
					if u.Method != "clbp" {
						continue
					}
					upper++
					if p, err := n.safeUp(r.Task, witnessOf(t, r.Task, u.Witness), u.Tau, r.Upper()); err != nil || p > r.Upper() {
						t.Errorf("%s image %d: p_upper %v, certify says %v, %v", name, i, p, r.Upper(), err)
					}
				}
			}
			checked := time.Since(start)
			t.Logf("%s, %v: %d lower, %d upper bounds, %d images; certify %v, check %v (%v of it the posterior): %.1f times", name, precision, lower, upper, len(tasks), took, checked, prepared, checked.Seconds()/took.Seconds())
			if checked > 20*took {
				t.Errorf("%s: certify took %v, the check %v", name, took, checked)
			}
		}
	}
}
