package format

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// dataDir is the directory of published posteriors, which are not part of the
// project: PSAFE_DATA, or shared/data beside the repository.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PSAFE_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no published posteriors: set PSAFE_DATA (%v)", err)
	}
	return dir
}

var realFiles = []struct {
	path, format string
	widths       []int
	weights      int
	activation   network.Kind
}{
	{"uai2020/VCAS_MODEL_512.net", "uai2020", []int{4, 512, 9}, 7177, network.ReLU},
	{"uai2020/VIMODEL_128_relu.net.npz", "uai2020", []int{1, 128, 1}, 385, network.ReLU},
	{"uai2020/VIMODEL.net.npz", "uai2020", []int{1, 128, 1}, 385, network.Tanh},
	{"uai2020/VIMODEL_MNIST_1_64_relu.net.npz", "uai2020", []int{784, 64, 10}, 50890, network.ReLU},
	{"uai2020/VIMODEL_MNIST_1_128_relu.net.npz", "uai2020", []int{784, 128, 10}, 101770, network.ReLU},
	{"uai2020/VIMODEL_MNIST_2_64_relu.net.npz", "uai2020", []int{784, 64, 64, 10}, 55050, network.ReLU},
	{"uai2020/VIMODEL_MNIST_2_128_relu.net.npz", "uai2020", []int{784, 128, 128, 10}, 118282, network.ReLU},
	{"batten2024/MNIST_MLP_2_50.h5", "batten2024", []int{784, 50, 50, 10}, 42310, network.ReLU},
	{"deepbayes/mnist_vogn_128", "deepbayes", []int{784, 128, 10}, 101770, network.ReLU},
	{"journal/hcas_vogn_50x2", "deepbayes", []int{3, 50, 50, 5}, 3005, network.ReLU},
	{"journal/uci_concrete_tanh", "deepbayes", []int{8, 32, 1}, 321, network.Tanh},
	{"journal/mnist_NA_FCN_Posterior_32_1_1_0.25_0.1", "deepbayes", []int{784, 32, 10}, 25450, network.ReLU},
	{"journal/mnist_NA_FCN_Posterior_64_2_1_0.25_0.1", "deepbayes", []int{784, 64, 64, 10}, 55050, network.ReLU},
	{"journal/mnist_VOGN_FCN_Posterior_64_3_5_0.25_0.1", "deepbayes", []int{784, 64, 64, 64, 10}, 59210, network.ReLU},
}

func TestRealFiles(t *testing.T) {
	dir := dataDir(t)
	for _, test := range realFiles {
		path := filepath.Join(dir, filepath.FromSlash(test.path))
		p, err := Read(path, Options{Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: test.activation}}})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		widths := []int{p.Inputs()}
		sum := 0.0
		for k, l := range p.Layers {
			widths = append(widths, l.Outputs())
			if hidden := k < len(p.Layers)-1; hidden && l.Activation.Kind != test.activation || !hidden && l.Activation.Kind != network.Identity {
				t.Errorf("%s: layer %d has activation %v", test.path, k, l.Activation)
			}
			for _, sd := range l.Weight.SdLo {
				sum += sd
			}
		}
		if !slices.Equal(widths, test.widths) || p.Weights() != test.weights || p.Source.Format != test.format {
			t.Errorf("%s: widths %v, %d weights, format %s", test.path, widths, p.Weights(), p.Source.Format)
		}
		if !(sum > 0 && sum < math.Inf(1)) {
			t.Errorf("%s: standard deviations add up to %v", test.path, sum)
		}
		reread(t, p)
	}
}

func TestRealSamples(t *testing.T) {
	dir := dataDir(t)
	for _, test := range []struct {
		path                string
		n, in, out, weights int
		activation          network.Kind
		distinct            bool
	}{
		{"journal/hcas_hmc_125", 26, 3, 5, 1130, network.ReLU, true},
		{"journal/running_hmc_tanh", 36, 1, 1, 97, network.Tanh, false},
	} {
		p, err := Read(filepath.Join(dir, filepath.FromSlash(test.path)), Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		s := p.Finite()
		if s.N() != test.n || s.Total() != int64(test.n) || p.Inputs() != test.in || p.Outputs() != test.out ||
			p.Weights() != test.weights || p.Layers[0].Activation.Kind != test.activation {
			t.Errorf("%s: %s, counts %v, %d weights", test.path, p.Describe(), s.Counts, p.Weights())
		}
		// All 36 samples of the second are one and the same network.
		if same := slices.Equal(s.Weights(0)[0], s.Weights(s.N() - 1)[0]); same == test.distinct {
			t.Errorf("%s: first and last sample equal: %v", test.path, same)
		}
		convertHMC(t, p)
	}
}

// reread writes p in both of psafe's containers and compares bit by bit.
func reread(t *testing.T, p *posterior.Posterior) {
	t.Helper()
	for ext, again := range rewritten(t, p) {
		for k, l := range p.Layers {
			m := again.Layers[k]
			for i, pair := range [][2][]float64{{l.Weight.Mean, m.Weight.Mean}, {l.Weight.Spread, m.Weight.Spread}, {l.Bias.Mean, m.Bias.Mean}, {l.Bias.Spread, m.Bias.Spread}} {
				if !slices.EqualFunc(pair[0], pair[1], func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
					t.Errorf("%s: layer %d list %d of %s changed", p.Source.Path, k, i, ext)
				}
			}
		}
	}
}

func TestRealFilesRefused(t *testing.T) {
	dir := dataDir(t)
	for path, want := range map[string]string{
		"journal/hcas_hmc_125": "drop --scale sd",
		"uai2020":              "arch.json: cannot open: no such file",
	} {
		path = filepath.Join(dir, filepath.FromSlash(path))
		_, err := Read(path, Options{Scale: posterior.ScaleSD})
		wantError(t, path, err, path, want)
	}
	vcas := filepath.Join(dir, "uai2020", "VCAS_MODEL_512.net")
	_, err := Read(vcas, Options{Activations: []network.Activation{{Kind: network.ReLU}}})
	wantError(t, "no scale", err, vcas, "--scale sd|variance|softplus")
}

// No prefix of a real file is a posterior, and none does harm. The tail is tried
// byte by byte, the rest in steps.
func TestRealFilesCutOff(t *testing.T) {
	dir := dataDir(t)
	for _, name := range []string{"uai2020/VIMODEL_128_relu.net.npz", "uai2020/VCAS_MODEL_512.net", "batten2024/MNIST_MLP_2_50.h5"} {
		file, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		step := max(1, len(file)/200)
		for n := 0; n < len(file); n += step {
			if n+step >= len(file)-200 {
				step = 1
			}
			if _, err := parse(held(file[:n])); err == nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%s, first %d of %d bytes: error %v", name, n, len(file), err)
			}
		}
	}
}
