package format

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"psafe/host/model/posterior"
)

// otherKinds is NumPy code that writes kinds of which docs/files.md says in words what is written.
const otherKinds = `
import json
def save_kind(path, kind, arrays, shapes, activations, rates=None, **fields):
    """arrays: name to array; shapes: (in, out) by layer."""
    layers = [{"kind": "dense", "activation": a, "in": i, "out": o}
              for (i, o), a in zip(shapes, activations)]
    for layer, rate in zip(layers, rates or []):
        layer["rate"] = rate
    meta = {"format": "psafe-posterior", "version": 1, "kind": kind,
            "layout": "in,out", "layers": layers, **fields}
    text = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(path, __meta__=text, **arrays)

def save_samples(path, networks, counts, activations):
    """networks: list of [W0, b0, W1, b1, ...]; counts: list of int."""
    arrays = {}
    for a, stack in enumerate(zip(*networks)):
        part = ("weight", "bias")[a % 2]
        arrays[f"layers.{a // 2}.{part}.samples"] = np.stack(stack)
    shapes = [W.shape for W in networks[0][0::2]]
    save_kind(path, "samples", arrays, shapes, activations, counts=[int(c) for c in counts])

def save_swag(path, mean, variance, deviations, activations):
    """mean, variance: [W0, b0, ...]; deviations: K such lists."""
    arrays = {}
    for a, (m, v, d) in enumerate(zip(mean, variance, zip(*deviations))):
        part = f"layers.{a // 2}." + ("weight", "bias")[a % 2]
        arrays[part + ".mean"], arrays[part + ".scale"] = m, v
        arrays[part + ".deviations"] = np.stack(d)
    shapes = [W.shape for W in mean[0::2]]
    save_kind(path, "swag", arrays, shapes, activations, scale="variance", rank=len(deviations))

def save_dropout(path, weights, rates, activations):
    """weights: [W0, b0, ...]; rates: one per layer, of its inputs."""
    arrays = {f"layers.{a // 2}." + ("weight.mean", "bias.mean")[a % 2]: w
              for a, w in enumerate(weights)}
    shapes = [W.shape for W in weights[0::2]]
    save_kind(path, "dropout", arrays, shapes, activations, rates=rates)
`

// TestNumPySnippets runs the NumPy code of docs/files.md, and this, where a Python with
// NumPy is (PSAFE_PYTHON may name it), and reads the files that it writes.
func TestNumPySnippets(t *testing.T) {
	python := cmp.Or(os.Getenv("PSAFE_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		t.Skipf("no NumPy: PSAFE_PYTHON may name a Python that has it (%v)", err)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "files.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := ""
	for _, block := range regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], "numpy") {
			code += block[1]
		}
	}
	code += otherKinds + `
def net(first):
    a = np.arange(first, first + 13, dtype="f4")
    return [a[0:6].reshape(2, 3), a[6:9], a[9:12].reshape(3, 1), a[12:13]]
act = ["relu", "identity"]
save_psafe("gaussian.npz", [(*net(1)[:2], *net(20)[:2], "relu"), (*net(1)[2:], *net(20)[2:], "identity")])
save_samples("samples.npz", [net(1), net(20), net(40)], np.array([5, 1, 2]), act)
save_swag("swag.npz", net(1), [a * a for a in net(20)], [net(40), net(60)], act)
save_dropout("dropout.npz", net(1), [0, 0.1], act)
`
	dir := t.TempDir()
	run := exec.Command(python, "-c", code)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list := map[posterior.Kind]*posterior.Posterior{}
	for _, kind := range []posterior.Kind{posterior.KindGaussian, posterior.KindFinite, posterior.KindSWAG, posterior.KindDropout} {
		p, err := Read(filepath.Join(dir, kind.String()+".npz"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		list[kind] = p
		if kind != posterior.KindFinite && fmt.Sprint(p.Layers[0].Weight.Mean, p.Layers[1].Bias.Mean) != "[1 2 3 4 5 6] [13]" {
			t.Errorf("%v: means %+v", kind, p.Layers)
		}
	}
	s, w := list[posterior.KindFinite].Finite(), list[posterior.KindSWAG].SWAG()
	got := fmt.Sprint(list[posterior.KindGaussian].Layers[1].Weight.SdHi, s.Counts, s.Weights(1)[0], s.Weights(2)[3],
		w.Rank, w.Sd[0], w.Deviation[3], list[posterior.KindDropout].Dropout())
	if want := "[29 30 31] [5 1 2] [20 21 22 23 24 25] [52] 2 [20 21 22 23 24 25] [52 72] [0 0.1]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
