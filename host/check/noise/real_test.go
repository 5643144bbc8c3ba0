package noise

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"psafe/host/arith"
	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// realTasks are a released MNIST posterior and the first test images within 0.01, or the test
// is skipped: PSAFE_SHARED is where they lie.
func realTasks(t *testing.T, name string, images int) (*posterior.Posterior, []property.Task) {
	t.Helper()
	root := os.Getenv("PSAFE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared")
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
	region, err := property.ReadRegion(property.RegionText{Eps: "0.01", Clip: []string{"0", "1"}}, points.Dim)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []property.Task
	for i := range images {
		box, err := points.Around(i, region)
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
		tasks = append(tasks, property.Task{Index: i, T: []property.Box{box}, Inner: []property.Box{points.Inside(i, region)}, S: property.ArgmaxIs(class, len(y))})
	}
	return post, tasks
}

// proveAgain certifies tasks and proves again what certify says, one core for both; it returns
// how long either took.
func proveAgain(t *testing.T, name string, precision bound.Precision, post *posterior.Posterior, cfg prove.Config, tasks []property.Task) (certify, check time.Duration) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	start := time.Now()
	results := checktest.Certified(t, precision, post, cfg, tasks)
	certify = time.Since(start)
	start = time.Now()
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	lower, upper, cells, retried := 0, 0, 0, 0
	for i, r := range results {
		if r.Lower() > 0 {
			lower, cells = lower+1, cells+r.Cells
			enough := -math.Expm1(r.LogP)
			fail, err := n.FailUp(t.Context(), r.Task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(arith.Inf))
			if fail > enough {
				retried++
				t.Logf("%s, task %d, %v, %d cells: fails %v, certify says %v", name, i, precision, r.Cells, fail, enough)
				fail, err = n.FailUp(t.Context(), r.Task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(enough))
			}
			if err != nil || fail > enough {
				t.Errorf("%s, task %d, %v: fails %v, certify says %v, %v", name, i, precision, fail, enough, err)
			}
		}
		if u := r.Proof.Upper; u != nil && u.Method == "clbp" {
			upper++
			if p, err := n.SafeUp(t.Context(), r.Task, checktest.WitnessOf(t, r.Task, u.Witness), u.Tau, checktest.AtMost(r.Upper())); err != nil || p > r.Upper() {
				t.Errorf("%s, task %d, %v: p_upper %v, certify says %v, %v", name, i, precision, p, r.Upper(), err)
			}
		}
	}
	check = time.Since(start)
	t.Logf("%s, %v: %d lower bounds (%d cells, %d retried), %d upper ones, of %d tasks; certify %v, check %v: %.1f times",
		name, precision, lower, cells, retried, upper, len(tasks), certify, check, check.Seconds()/certify.Seconds())
	return certify, check
}

var bothPrecisions = []bound.Precision{bound.Float32, bound.Float64}

// TestReal: what certify says of released posteriors is proved again, in not much more time.
func TestReal(t *testing.T) {
	if testing.Short() {
		t.Skip("real posteriors take long: not with -short")
	}
	for _, name := range []string{"VIMODEL_MNIST_1_64_relu.net.npz", "VIMODEL_MNIST_2_128_relu.net.npz"} {
		post, tasks := realTasks(t, name, testscale.Cases(t, 60))
		for _, precision := range bothPrecisions {
			for try := 0; ; try++ { // other work on the machine may make either slower
				took, checked := proveAgain(t, name, precision, post, prove.Config{Method: prove.CLBP}, tasks)
				if checked <= 10*took+time.Second {
					break
				}
				if try == 5 {
					t.Fatalf("%s: certify took %v, the check %v", name, took, checked)
				}
			}
		}
	}
}

// TestTestdata: the posteriors of testdata, with properties of few inputs in many cells and with
// images, and the same properties with smooth activations.
func TestTestdata(t *testing.T) {
	relu := net.Activation{Kind: net.ReLU}
	for i, c := range []struct {
		name, property string
		act            net.Activation
	}{
		{"cubic-128.npz", "cubic-property.json", relu}, {"advisory-4-32-9.npz", "advisory-property.json", relu},
		{"cubic-128.npz", "cubic-property.json", net.Activation{Kind: net.Tanh}}, {"advisory-4-32-9.npz", "advisory-property.json", net.Activation{Kind: net.Sigmoid}},
		{"glyphs-64-24-24-10.npz", "", relu}, {"glyphs-64-32-10.npz", "", net.Activation{Kind: net.Tanh}},
	} {
		folder := filepath.Join("..", "..", "..", "testdata")
		post, err := format.Read(filepath.Join(folder, c.name), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for k := range post.Layers[:len(post.Layers)-1] {
			post.Layers[k].Activation = c.act
		}
		var tasks []property.Task
		if c.property != "" {
			if tasks, err = property.ReadFile(filepath.Join(folder, c.property), post.Outputs()); err != nil {
				t.Fatal(err)
			}
		} else {
			points, err := property.ReadPoints(filepath.Join(folder, "glyphs-test-images-idx3-ubyte.gz"), property.InputOptions{})
			if err != nil {
				t.Fatal(err)
			}
			region, err := property.ReadRegion(property.RegionText{Eps: "0.03"}, points.Dim)
			if err != nil {
				t.Fatal(err)
			}
			for i := range testscale.Costly(t, 100) {
				box, err := points.Around(i, region)
				if err != nil {
					t.Fatal(err)
				}
				tasks = append(tasks, property.Task{Index: i, T: []property.Box{box}, Inner: []property.Box{points.Inside(i, region)}, S: property.ArgmaxIs(i%10, 10)})
			}
		}
		for _, precision := range testscale.Few(t, []bound.Precision{bothPrecisions[i%2], bothPrecisions[1-i%2]}, 1) {
			proveAgain(t, c.name+" "+c.act.String(), precision, post, prove.Config{Method: prove.CLBP, Cells: testscale.Costly(t, 200)}, tasks)
		}
	}
}
