package format

import (
	"bytes"
	"cmp"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"psafe/host/read/npy"
	"psafe/internal/testscale"
)

// exporter makes networks in torch, exports them, and computes what they give in float64.
const exporter = `
import sys, warnings, numpy as np, torch, torch.nn as nn
warnings.simplefilter("ignore")
torch.manual_seed(1)
class Norm(nn.Module):
    def forward(self, x): return (x - 0.1307) / 0.3081
class Cat(nn.Module):
    def __init__(self): super().__init__(); self.a, self.b = nn.Linear(5, 3), nn.Linear(5, 2)
    def forward(self, x): return torch.cat([self.a(x), 2 * self.b(x), x], 1)
def norm2(n):
    b = nn.BatchNorm2d(n)
    b.running_mean.uniform_(-1, 1); b.running_var.uniform_(0.5, 2)
    nn.init.uniform_(b.weight); nn.init.uniform_(b.bias)
    return b
models = {
    "mlp": ((6,), nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 7, bias=False), nn.Tanh(),
                                nn.Linear(7, 5), nn.LeakyReLU(0.2), nn.Linear(5, 4), nn.Sigmoid(), nn.Linear(4, 3))),
    "cnn": ((1, 9, 9), nn.Sequential(Norm(), nn.Conv2d(1, 3, 3, padding=1), norm2(3), nn.ReLU(), nn.MaxPool2d(3, 2),
                                     nn.Conv2d(3, 4, 2, groups=1), nn.ReLU(), nn.AvgPool2d(2, 1), nn.Flatten(), nn.Linear(16, 3))),
    "norm": ((2, 6, 6), nn.Sequential(norm2(2), nn.Conv2d(2, 4, 3, stride=2, dilation=1, groups=2), nn.LeakyReLU(), norm2(4),
                                      nn.MaxPool2d(2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))),
    "line": ((2, 11), nn.Sequential(nn.Conv1d(2, 3, 4, padding=2), nn.ReLU(), nn.MaxPool1d(3), nn.AvgPool1d(2, padding=1), nn.Flatten(), nn.Linear(9, 2))),
    "cat": ((5,), nn.Sequential(Cat(), nn.ReLU(), nn.Linear(10, 2))),
}
for name, (shape, m) in models.items():
    m.eval()
    for opset in (11, 13):
        torch.onnx.export(m, torch.zeros(1, *shape), f"{name}{opset}.onnx", opset_version=opset,
                          input_names=["x"], dynamic_axes={"x": {0: "batch"}} if opset == 13 and name != "line" else None)
    x = torch.randn(1000, *shape, dtype=torch.float64)
    with torch.no_grad():
        y = m.double()(x)
    np.save(name + ".x.npy", x.reshape(1000, -1).numpy())
    np.save(name + ".y.npy", y.numpy())
`

// TestTorch exports networks with torch, where Python has it, and compares with torch's own
// outputs. PSAFE_PYTHON may name a Python.
func TestTorch(t *testing.T) {
	testscale.DeepOnly(t)
	python := cmp.Or(os.Getenv("PSAFE_PYTHON"), "/usr/bin/python3")
	if err := exec.Command(python, "-c", "import torch").Run(); err != nil {
		t.Skipf("no torch: PSAFE_PYTHON may name a Python that has it (%v)", err)
	}
	dir := t.TempDir()
	run := exec.Command(python, "-c", exporter)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.onnx"))
	if err != nil || len(files) != 10 {
		t.Fatalf("%v, %v", files, err)
	}
	array := func(path string) *npy.Array {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := npy.NewReader(bytes.NewReader(b), int64(len(b)), true)
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.Array()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, path := range files {
		name := filepath.Base(path)
		p, err := Read(path, Options{SD: "0"})
		if err != nil {
			t.Error(err)
			continue
		}
		base := path[:len(path)-len("11.onnx")]
		x, y := array(base+".x.npy"), array(base+".y.npy")
		in, out, worst := x.Shape[1], y.Shape[1], 0.0
		for i := range x.Shape[0] {
			for j, got := range p.LogitsApprox(x.Data[i*in : (i+1)*in]) {
				worst = max(worst, math.Abs(got-y.Data[i*out+j]))
			}
		}
		t.Logf("%s: %d layers, %d weights, differs by %.1e at most; %s", name, len(p.Layers), p.Weights(), worst, p.Source.Note)
		if !(worst <= 1e-6) {
			t.Errorf("%s: an output differs by %v", name, worst)
		}
	}
}
