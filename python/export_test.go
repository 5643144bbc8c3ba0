package python

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/npy"
	"psafe/internal/testscale"
)

// TestArrays: what psafe_export.py makes of arrays laid out as each library's sources say
// is, read by psafe, the network that the library computes. It needs NumPy alone.
func TestArrays(t *testing.T) {
	compare(t, "array_cases.py", "numpy", 34)
}

// TestTorch: the same for networks of torch that were trained for a few steps.
func TestTorch(t *testing.T) {
	testscale.DeepOnly(t)
	dir, program := compare(t, "torch_cases.py", "torch", 46), theProgram(t)
	points := filepath.Join(dir, "points.csv")
	if err := os.WriteFile(points, []byte("0.9,0.1,0.9,0.1\n0.1,0.9,0.1,0.9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"forward", "batchnorm-before", "dropout", "ensemble", "laplace-diag", "laplace-last", "laplace-kron"} {
		path := filepath.Join(dir, name+".npz")
		for _, args := range [][]string{
			{"inspect", "--check", path},
			{"predict", "--posterior", path, "--inputs", points},
			{"certify", "--posterior", path, "--inputs", points, "--eps", "0.001", "--device", "cpu", "--draws", "50"},
		} {
			if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
				t.Errorf("psafe %s: %v\n%s", strings.Join(args, " "), err, out)
			}
		}
	}
	for _, name := range []string{"laplace-full-last", "laplace-kron-last", "laplace-kron-apart", "laplace-full-all", "laplace-kron-all", "laplace-kron-conv", "laplace-full-first", "laplace-batchnorm", "dropout-top", "dropout"} {
		onTop(t, filepath.Join(dir, name+".npz"), points)
	}
}

// TestTorchGraphs: networks of torch with convolutions, pools and joins.
func TestTorchGraphs(t *testing.T) {
	testscale.DeepOnly(t)
	dir := compare(t, "torch_graph_cases.py", "torch", 25)
	points := filepath.Join(dir, "points.csv")
	if err := os.WriteFile(points, []byte(strings.Repeat("0.3,0.7,", 107)+"0.3,0.7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	onTop(t, filepath.Join(dir, "laplace-features.npz"), points)
	for _, name := range []string{"features", "before", "channels", "input", "pooled", "curved", "twice", "shared", "beside"} {
		onTop(t, filepath.Join(dir, "dropout-"+name+".npz"), points)
	}
}

// TestTorchDraws: what torch draws is what psafe draws from the file, which a mean network, or one
// without dropout, does not show.
func TestTorchDraws(t *testing.T) {
	compare(t, "torch_draw_cases.py", "torch", 29)
}

// TestTorchPractice: networks of torch as people write them, and a controller that ends in tanh.
func TestTorchPractice(t *testing.T) {
	testscale.DeepOnly(t)
	dir := compare(t, "torch_practice_cases.py", "torch", 80)
	points := filepath.Join(dir, "points.csv")
	if err := os.WriteFile(points, []byte("0.9,0.1,0.9,0.1\n0.1,0.9,0.1,0.9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"tanh.npz --property output_box:[-1,1],[-1,1]", "one-sigmoid.npz --property argmax_is:1", "one-sigmoid.npz --label 1"} {
		out, err := exec.Command(theProgram(t), append([]string{"certify", "--inputs", points, "--eps", "0.001", "--device", "cpu", "--posterior"},
			strings.Fields(filepath.Join(dir, args))...)...).CombinedOutput()
		if err != nil {
			t.Errorf("psafe certify of %s: %v\n%s", args, err, out)
		}
	}
}

// onTop wants bounds of clbp for a posterior whose last layer alone is random, or with dropout.
func onTop(t *testing.T, path, points string) {
	t.Helper()
	out, err := exec.Command(theProgram(t), "certify", "--posterior", path, "--inputs", points, "--eps", "0.001", "--device", "cpu").CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"method":"clbp"`) {
		t.Errorf("psafe certify of %s: %v\n%s", path, err, out)
	}
}

// TestCertify: psafe gets what certify() was asked for, and with all cases the real one does it.
func TestCertify(t *testing.T) {
	compare(t, "certify_cases.py", "numpy", 1)
	if !testscale.Deep(t) {
		return
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "psafe.exe")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/psafe").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(pythonWith(t, "numpy"), filepath.Join("testdata", "certify_cases.py"), dir, program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestSelfTest runs the test that comes with the file.
func TestSelfTest(t *testing.T) {
	if out, err := exec.Command(pythonWith(t, "numpy"), "psafe_export.py", "--self-test").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// pythonWith is a Python that has the module: PSAFE_PYTHON, or Debian's, or any.
func pythonWith(t *testing.T, module string) string {
	t.Helper()
	// What a child reads does not count for the cache of go test; what this process opens does.
	scripts, err := filepath.Glob(filepath.Join("testdata", "*.py"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, path := range append(scripts, "psafe_export.py") {
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, python := range []string{os.Getenv("PSAFE_PYTHON"), "/usr/bin/python3", "python3"} {
		// Not by an import, which takes torch more than a second.
		found := "import importlib.util, sys; sys.exit(importlib.util.find_spec('" + module + "') is None)"
		if python != "" && exec.Command(python, "-c", found).Run() == nil {
			return python
		}
	}
	t.Skipf("no Python with %s: apt install python3-%s, or PSAFE_PYTHON names one", module, module)
	return ""
}

// compare runs a script of testdata, which writes at least so many posteriors and checks
// what the exporter refuses, and holds what psafe reads to the references of the files. It
// returns the folder with the posteriors.
func compare(t *testing.T, script, module string, least int) string {
	python, dir := pythonWith(t, module), t.TempDir()
	run := exec.Command(python, filepath.Join("testdata", script), dir)
	run.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.npz"))
	if err != nil || len(files) < least {
		t.Fatalf("%s wrote %d posteriors, want at least %d (%v)", script, len(files), least, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".npz")
		t.Run(name, func(t *testing.T) {
			p, err := format.Read(file, format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			arrays := members(t, file)
			if name != "unchecked" {
				checkLogits(t, p, arrays)
			}
			checkSpread(t, p, arrays)
			checkMoments(t, p, strings.TrimSuffix(file, ".npz")+".moments")
		})
	}
	return dir
}

// checkLogits holds the mean network to the logits that the framework computed.
func checkLogits(t *testing.T, p *posterior.Posterior, arrays map[string]*npy.Array) {
	x, want := arrays["reference.inputs"], arrays["reference.logits"]
	if x == nil || want == nil || x.Shape[1] != p.Inputs() || want.Shape[1] != p.Outputs() || x.Shape[0] != want.Shape[0] {
		t.Fatalf("no references that fit %d inputs and %d outputs", p.Inputs(), p.Outputs())
	}
	weights := p.Mean()
	if s := p.Finite(); s != nil {
		weights = s.Weights(0)
	}
	net := p.Network()
	for i := range x.Shape[0] {
		point := make([]float64, p.Inputs())
		for j := range point {
			point[j] = (x.Data[i*len(point)+j] - at(arrays["input.mean"], j, 0)) / at(arrays["input.std"], j, 1)
		}
		for j, got := range net.OutputsApprox(weights, point) {
			want := want.Data[i*p.Outputs()+j]
			if !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
				t.Fatalf("input %d, output %d: psafe computes %v, the framework %v", i, j, got, want)
			}
		}
	}
}

// checkSpread holds the mean standard deviation of each layer to that of the framework.
func checkSpread(t *testing.T, p *posterior.Posterior, arrays map[string]*npy.Array) {
	spread := arrays["reference.spread"]
	if spread == nil {
		return // nobody but the file says it; the scripts check which files those are
	}
	if !p.Independent() {
		t.Fatalf("reference.spread of kind %v: %v", p.Kind, spread)
	}
	row := -1 // of the layers with weights
	for k := range p.Layers {
		if p.Layers[k].Weights() == 0 {
			continue
		}
		if row++; row == len(spread.Data)/2 && k == len(p.Layers)-1 {
			break // the dense layer behind a network that does not end with one
		}
		for part, params := range []*posterior.Params{&p.Layers[k].Weight, &p.Layers[k].Bias} {
			got, want := 0.0, spread.Data[2*row+part]
			for _, sd := range params.SdHi {
				got += sd / float64(len(params.SdHi))
			}
			if math.IsNaN(want) {
				continue // these weights are certain, or were not compared
			}
			if math.Abs(got-want) > 1e-5*want {
				t.Errorf("layer %d: mean sd %v, the framework says %v", k, got, want)
			}
		}
	}
}

// checkMoments holds means and variances of as many draws of psafe's, for one input, to those of
// the framework's, if there is a file that has these: [input, [draws], means, variances].
func checkMoments(t *testing.T, p *posterior.Posterior, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	var said [4][]float64
	if err := json.Unmarshal(text, &said); err != nil || len(said[1]) != 1 || len(said[2]) != p.Outputs() {
		t.Fatalf("%s: %v: %v", path, said, err)
	}
	for j := range said[0] {
		if mean, std := p.Input.Mean, p.Input.Std; len(mean) > 0 {
			said[0][j] = (said[0][j] - mean[j%len(mean)]) / std[j%len(std)]
		}
	}
	n, weights, net := int(said[1][0]), p.NewWeights(), p.Network()
	sum, squares := make([]float64, p.Outputs()), make([]float64, p.Outputs())
	for i := range n {
		p.Draw(1, i, weights)
		for j, y := range net.OutputsApprox(weights, said[0]) {
			sum[j] += y - said[2][j]
			squares[j] += (y - said[2][j]) * (y - said[2][j])
		}
	}
	for j, want := range said[3] {
		mean := sum[j] / float64(n)
		variance := squares[j]/float64(n) - mean*mean
		// Of both means, and of two variances of numbers that are about normal, at six deviations.
		if d := 6 * math.Sqrt(2*want/float64(n)); !(math.Abs(mean) <= d) || !(math.Abs(variance-want) <= 6*2/math.Sqrt(float64(n))*want) {
			t.Errorf("output %d: %d draws have the mean %v more than the framework's, allowed %v, and the variance %v, want %v", j, n, mean, d, variance, want)
		}
	}
}

// at is entry j of an array, which may have one for all, or be absent.
func at(a *npy.Array, j int, absent float64) float64 {
	switch {
	case a == nil:
		return absent
	case len(a.Data) == 1:
		return a.Data[0]
	}
	return a.Data[j]
}

// members are the arrays of a .npz; its header must be JSON of psafe's format.
func members(t *testing.T, path string) map[string]*npy.Array {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := npy.OpenZip(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	arrays := map[string]*npy.Array{}
	for _, m := range list {
		err := m.Open(func(r *npy.Reader) (err error) {
			arrays[m.Name], err = r.Array()
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
	}
	var text []byte
	for _, b := range arrays["__meta__"].Data {
		text = append(text, byte(b))
	}
	var header struct{ Format string }
	if err := json.Unmarshal(text, &header); err != nil || header.Format != "psafe-posterior" {
		t.Fatalf("header %s: %v", text, err)
	}
	return arrays
}
