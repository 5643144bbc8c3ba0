package psafe_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport is the architecture (docs/architecture.md): which packages of this
// module and of others each package may import, the standard library apart.
// Tests may import more.
var mayImport = map[string][]string{
	"psafe/host/npy":                    {"psafe/internal/infile"},
	"psafe/host/measure":                {"psafe/internal/fault"},
	"psafe/host/network":                {"gonum.org/v1/gonum/", "psafe/host/measure"},
	"psafe/host/posterior":              {"psafe/host/measure", "psafe/host/network"},
	"psafe/host/onnx":                   {"google.golang.org/protobuf/encoding/protowire", "psafe/internal/infile"},
	"psafe/host/onnx/lower":             {"psafe/host/network", "psafe/host/onnx", "psafe/internal/infile"},
	"psafe/host/network/networktest":    {"psafe/host/network"},
	"psafe/host/onnx/onnxtest":          {"google.golang.org/protobuf/encoding/protowire", "psafe/host/onnx"},
	"psafe/host/posterior/format/graph": {"psafe/host/network"},
	"psafe/host/posterior/audit":        {"psafe/host/network", "psafe/host/posterior"},
	"psafe/host/posterior/convtest": {
		"psafe/host/network", "psafe/host/posterior", "psafe/host/property",
	},
	"psafe/host/posterior/format": {
		"psafe/host/network", "psafe/host/npy", "psafe/host/onnx", "psafe/host/onnx/lower", "psafe/host/posterior", "psafe/host/posterior/audit",
		"psafe/host/posterior/format/graph",
		"psafe/internal/infile", "psafe/internal/nearest",
	},
	"psafe/host/vnnlib":         {"psafe/internal/infile"},
	"psafe/host/property":       {"psafe/host/npy", "psafe/host/vnnlib", "psafe/internal/infile", "psafe/internal/nearest"},
	"psafe/host/bound":          {"psafe/host/network", "psafe/host/posterior", "psafe/host/property"},
	"psafe/host/bound/lockstep": {"psafe/host/bound"},
	"psafe/host/bound/devicetest": {
		"psafe/host/bound", "psafe/host/network", "psafe/host/posterior", "psafe/host/property",
		"psafe/internal/testscale",
	},
	"psafe/host/neuronsum": {
		"psafe/host/measure", "psafe/host/network", "psafe/host/posterior", "psafe/host/property",
		"psafe/internal/fault",
	},
	"psafe/host/certify": {
		"gonum.org/v1/gonum/", "psafe/host/bound", "psafe/host/certify/phases", "psafe/host/measure", "psafe/host/network",
		"psafe/host/neuronsum", "psafe/host/posterior", "psafe/host/property", "psafe/internal/fault", "psafe/internal/fpcontrol",
	},
	"psafe/host/certify/phases": {"psafe/host/bound", "psafe/host/network", "psafe/host/property", "psafe/internal/fault"},
	"psafe/host/verify": {
		"psafe/host/bound", "psafe/host/certify", "psafe/host/network", "psafe/host/posterior", "psafe/host/property",
		"psafe/host/vnnlib",
	},
	// The checker shares no code with what makes records: no bounds, no measures.
	"psafe/host/check": {
		"psafe/host/network", "psafe/host/npy", "psafe/host/posterior", "psafe/host/posterior/format", "psafe/host/property",
		"psafe/internal/fault",
	},
	"psafe/host/report": {
		"github.com/parquet-go/parquet-go", "psafe/host/certify", "psafe/host/measure", "psafe/host/property",
		"psafe/internal/infile",
	},
	"psafe/host/report/reporttest": {"psafe/host/certify", "psafe/host/property", "psafe/host/report"},
	"psafe/host/summary":           {"psafe/host/property", "psafe/host/report"},
	"psafe/host/run": {
		"psafe/host/bound", "psafe/host/certify", "psafe/host/network", "psafe/host/posterior", "psafe/host/posterior/audit", "psafe/host/posterior/format", "psafe/host/property", "psafe/host/report", "psafe/internal/fault", "psafe/internal/infile", "psafe/internal/nearest", "psafe/internal/outfile",
	},
	"psafe/host/campaign": {
		"go.yaml.in/yaml/v3", "psafe/host/certify", "psafe/host/property", "psafe/host/report", "psafe/host/run",
		"psafe/internal/fault", "psafe/internal/infile", "psafe/internal/nearest", "psafe/internal/outfile",
	},
	"psafe/host/train": {
		"gonum.org/v1/gonum/", "psafe/host/network", "psafe/host/posterior", "psafe/host/property",
		"psafe/internal/infile",
	},
	"psafe/host/figure": {"gonum.org/v1/gonum/", "gonum.org/v1/plot", "gonum.org/v1/plot/", "psafe/host/report"},
	"psafe/host/page":   {"psafe/host/property", "psafe/host/report", "psafe/host/summary", "psafe/internal/infile"},
	"psafe/host/paper": {
		"gonum.org/v1/gonum/",
		"psafe/host/bound", "psafe/host/figure", "psafe/host/network", "psafe/host/posterior",
		"psafe/host/posterior/format", "psafe/host/property", "psafe/host/report", "psafe/host/run", "psafe/host/summary",
		"psafe/host/train", "psafe/internal/child", "psafe/internal/infile", "psafe/internal/outfile", "psafe/testdata",
	},
	"psafe/host/bench": {
		"psafe/host/bound", "psafe/host/certify", "psafe/host/network", "psafe/host/posterior",
		"psafe/host/property", "psafe/host/run",
	},
	"psafe/host/crosscheck": {
		"psafe/host/bound", "psafe/host/bound/lockstep", "psafe/host/certify", "psafe/host/posterior",
		"psafe/host/property",
	},
	"psafe/fallback": {"psafe/host/bound", "psafe/host/network", "psafe/internal/fault", "psafe/internal/fpcontrol"},
	"psafe/kernels":  {"psafe/host/network"},
	"psafe/gpu":      {"psafe/gpu/cl", "psafe/host/bound", "psafe/kernels"},
	"psafe/gpu/cl":   {"github.com/ebitengine/purego", "psafe/internal/fpcontrol"},
	"psafe/cmd/psafe": {
		"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term", "psafe/fallback", "psafe/gpu", "psafe/gpu/cl",
		"psafe/host/bench", "psafe/host/bound", "psafe/host/campaign", "psafe/host/check", "psafe/host/crosscheck", "psafe/host/figure",
		"psafe/host/measure", "psafe/host/network", "psafe/host/onnx/lower", "psafe/host/page", "psafe/host/paper", "psafe/host/posterior",
		"psafe/host/posterior/audit", "psafe/host/posterior/format", "psafe/host/property", "psafe/host/report", "psafe/host/run", "psafe/host/summary",
		"psafe/host/train", "psafe/host/verify", "psafe/host/vnnlib", "psafe/internal/child", "psafe/internal/fault", "psafe/internal/fpcontrol", "psafe/internal/infile", "psafe/internal/nearest", "psafe/internal/outfile", "psafe/python",
	},
	"psafe/internal/child":     {"psafe/internal/fault"},
	"psafe/internal/fault":     {},
	"psafe/internal/fpcontrol": {},
	"psafe/internal/infile":    {},
	"psafe/internal/nearest":   {},
	"psafe/internal/outfile":   {"psafe/internal/infile"},
	"psafe/internal/testscale": {},
	"psafe/internal/mutants":   {},
	"psafe/internal/gpucode":   {"psafe/kernels"},
	"psafe/internal/release":   {},
	"psafe/python":             {},
	"psafe/testdata":           {},
	"psafe/testdata/gen":       {"psafe/"},
}

// TestImports holds every package to mayImport, and unsafe to the OpenCL binding.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		if pkg.ImportPath == "psafe" {
			continue // this test
		}
		if row := "| `" + strings.TrimPrefix(pkg.ImportPath, "psafe/") + "` |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/architecture.md has no row %q: say what lives there", row)
		}
		allowed, known := mayImport[pkg.ImportPath]
		if !known {
			t.Errorf("package %s is in no row of the architecture: add it to mayImport and docs/architecture.md", pkg.ImportPath)
		}
		for _, imp := range pkg.Imports {
			if imp == "unsafe" && pkg.ImportPath != "psafe/gpu/cl" {
				t.Errorf("%s imports unsafe: only psafe/gpu/cl may", pkg.ImportPath)
			}
			if standard(imp) {
				continue
			}
			if !slices.ContainsFunc(allowed, func(a string) bool {
				return a == imp || strings.HasSuffix(a, "/") && strings.HasPrefix(imp, a)
			}) {
				t.Errorf("%s imports %s, which the architecture does not allow", pkg.ImportPath, imp)
			}
		}
	}
}

// standard says whether an import path is of the standard library: its first
// element has no dot and is not this module.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != "psafe" && !strings.Contains(first, ".")
}
