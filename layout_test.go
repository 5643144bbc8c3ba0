package psafe_test

import (
	"encoding/json"
	"flag"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"psafe/internal/testkit/pagetest"
)

// mayImport is the architecture (docs/architecture.md): which packages of this
// module and of others each package may import, the standard library apart.
// Tests may import more.
var mayImport = map[string][]string{
	"psafe/host/read/npy":                {"psafe/internal/infile"},
	"psafe/host/prove/probability":       {"psafe/host/arith/gauss", "psafe/host/arith", "psafe/internal/fault"},
	"psafe/host/model/network":           {"gonum.org/v1/gonum/", "psafe/host/arith"},
	"psafe/host/model/posterior":         {"psafe/host/model/network"},
	"psafe/host/read/onnx":               {"google.golang.org/protobuf/encoding/protowire", "psafe/host/read/npy", "psafe/internal/infile"},
	"psafe/host/read/onnx/lower":         {"psafe/host/model/network", "psafe/host/read/format/graph", "psafe/host/read/onnx", "psafe/internal/infile"},
	"psafe/internal/testkit/networktest": {"psafe/host/model/network"},
	"psafe/internal/testkit/onnxtest":    {"google.golang.org/protobuf/encoding/protowire", "psafe/host/read/onnx"},
	"psafe/host/read/format/graph":       {"psafe/host/model/network"},
	"psafe/host/model/audit":             {"gonum.org/v1/gonum/", "psafe/host/model/network", "psafe/host/model/posterior"},
	"psafe/internal/testkit/convtest": {
		"psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/read/format": {
		"psafe/host/model/network", "psafe/host/read/npy", "psafe/host/read/onnx", "psafe/host/read/onnx/lower", "psafe/host/model/posterior", "psafe/host/model/audit",
		"psafe/host/read/format/graph",
		"psafe/internal/infile", "psafe/internal/nearest",
	},
	"psafe/host/read/vnnlib":   {"psafe/internal/infile"},
	"psafe/host/read/inputlaw": {"psafe/host/read/property"},
	"psafe/host/read/plant":    {"go.yaml.in/yaml/v3", "psafe/host/read/property", "psafe/internal/infile", "psafe/internal/nearest"},
	"psafe/host/prove/loop":    {"psafe/host/arith", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/plant", "psafe/internal/fault"},
	"psafe/host/read/property": {"psafe/host/arith", "psafe/host/read/npy", "psafe/host/read/vnnlib", "psafe/internal/infile", "psafe/internal/nearest"},
	"psafe/host/bound":         {"psafe/host/arith", "psafe/host/arith/gauss", "psafe/host/bound/sharp", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property", "psafe/internal/fault"},
	"psafe/host/bound/sharp":   {"psafe/host/arith", "psafe/host/model/posterior", "psafe/internal/fault", "psafe/internal/vector"},
	"psafe/host/bound/selfcheck": {
		"psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/lab/lockstep": {"psafe/host/bound"},
	"psafe/internal/testkit/devicetest": {
		"psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property",
		"psafe/internal/testscale",
	},
	// arith is arithmetic alone, and gauss facts about one normal variable: what certifies and what checks share them.
	"psafe/host/arith":       {},
	"psafe/host/arith/gauss": {"psafe/host/arith"},
	"psafe/host/prove/slack": {},
	"psafe/host/prove/neuronsum/law": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/model/network", "psafe/host/model/posterior",
		"psafe/host/read/property", "psafe/internal/fault",
	},
	"psafe/host/prove/neuronsum/grid": {
		"psafe/host/arith/gauss", "psafe/host/prove/slack", "psafe/host/arith", "psafe/host/prove/probability", "psafe/host/prove/neuronsum/law",
		"psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/prove/neuronsum": {
		"psafe/host/arith/gauss", "psafe/host/prove/slack", "psafe/host/arith", "psafe/host/prove/probability", "psafe/host/prove/neuronsum/law", "psafe/host/prove/neuronsum/grid",
		"psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/prove/covary": {"psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove/slack", "psafe/internal/fault"},
	"psafe/host/prove/ontop": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove/covary", "psafe/host/prove/probability", "psafe/host/prove/slack",
		"psafe/host/read/property", "psafe/internal/fault",
	},
	"psafe/host/prove/claim": {
		"psafe/host/arith", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove/probability", "psafe/host/prove/neuronsum/grid",
		"psafe/host/prove/branch", "psafe/host/read/property",
	},
	"psafe/host/prove/engine": {
		"psafe/host/bound", "psafe/host/bound/selfcheck", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove/claim", "psafe/host/read/property",
		"psafe/internal/fault", "psafe/internal/fpcontrol",
	},
	"psafe/host/prove/boxes": {
		"gonum.org/v1/gonum/", "psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior",
		"psafe/host/prove/claim", "psafe/host/prove/engine", "psafe/host/prove/probability", "psafe/host/read/property",
	},
	"psafe/host/prove/decide": {
		"psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove/claim", "psafe/host/prove/engine",
		"psafe/host/prove/probability", "psafe/host/prove/branch", "psafe/host/prove/slack", "psafe/host/read/property", "psafe/internal/fault",
		"psafe/internal/fault",
	},
	"psafe/host/prove/clbp": {
		"psafe/host/arith", "psafe/host/arith/gauss", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove/claim", "psafe/host/prove/covary", "psafe/host/prove/decide",
		"psafe/host/prove/engine", "psafe/host/prove/probability", "psafe/host/prove/ontop", "psafe/host/prove/slack", "psafe/host/read/property", "psafe/internal/fault",
	},
	"psafe/host/prove/phases": {
		"psafe/host/arith", "gonum.org/v1/gonum/", "psafe/host/bound", "psafe/host/bound/sharp", "psafe/host/model/posterior", "psafe/host/prove/claim",
		"psafe/host/prove/clbp", "psafe/host/prove/decide", "psafe/host/prove/engine", "psafe/host/prove/probability", "psafe/host/prove/branch",
		"psafe/host/prove/slack", "psafe/host/read/property", "psafe/internal/fault",
	},
	"psafe/host/prove/chernoff": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove/claim", "psafe/host/prove/clbp",
		"psafe/host/prove/decide", "psafe/host/prove/engine", "psafe/host/prove/probability", "psafe/host/prove/slack", "psafe/host/read/property", "psafe/internal/fault",
	},
	"psafe/host/prove/mixture": {
		"psafe/host/prove/claim", "psafe/host/prove/decide", "psafe/host/prove/engine", "psafe/host/read/property",
		"psafe/internal/fault",
	},
	"psafe/host/prove": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove/boxes", "psafe/host/prove/claim",
		"psafe/internal/fault", "psafe/host/prove/chernoff", "psafe/host/prove/clbp", "psafe/host/prove/confine", "psafe/host/prove/decide", "psafe/host/prove/engine", "psafe/host/prove/phases", "psafe/host/prove/probability",
		"psafe/host/prove/mixture", "psafe/host/prove/neuronsum", "psafe/host/prove/slack", "psafe/host/read/property",
	},
	"psafe/host/prove/branch": {
		"psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove/probability",
		"psafe/host/read/property", "psafe/internal/fault",
	},
	"psafe/host/prove/confine": {
		"psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove/claim", "psafe/host/prove/clbp", "psafe/host/prove/decide", "psafe/host/prove/engine",
		"psafe/host/prove/branch", "psafe/host/prove/slack", "psafe/host/read/property", "psafe/internal/fault",
	},
	"psafe/host/prove/verify": {
		"psafe/host/bound", "psafe/host/prove/decide", "psafe/host/prove/engine", "psafe/host/model/network", "psafe/host/model/posterior",
		"psafe/host/read/property", "psafe/host/read/vnnlib",
	},
	// The checker's rooms, from the lowest up, share with what makes records arith and gauss alone: no bounds and no
	// measures. The table of fields has names alone.
	"psafe/host/check/curves": {"psafe/host/arith", "psafe/host/model/network"},
	"psafe/host/check/sums": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/check/curves", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property", "psafe/internal/fault",
	},
	"psafe/host/check/moments": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/check/cases", "psafe/host/check/curves", "psafe/host/check/law", "psafe/host/check/relax", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property", "psafe/internal/fault",
	},
	"psafe/host/check/law": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/check/curves",
	},
	"psafe/host/check/relax": {
		"psafe/host/arith", "psafe/host/check/curves", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/check/cases": {
		"psafe/host/arith", "psafe/host/check/law", "psafe/host/check/sums", "psafe/host/read/property",
	},
	"psafe/host/check/covary": {
		"psafe/host/arith", "psafe/host/check/law", "psafe/host/check/relax", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/check/clbp": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/check/cases", "psafe/host/check/covary", "psafe/host/check/law", "psafe/host/check/relax", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/check/ontop": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/check/cases", "psafe/host/check/covary", "psafe/host/check/law", "psafe/host/check/relax", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/check/noise": {
		"psafe/host/check/cases", "psafe/host/check/clbp", "psafe/host/check/covary", "psafe/host/check/law", "psafe/host/check/ontop", "psafe/host/check/relax", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/check/mass": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/check/law", "psafe/host/check/relax", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/check/phases": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/check/cases", "psafe/host/check/clbp", "psafe/host/check/covary", "psafe/host/check/law", "psafe/host/check/relax", "psafe/host/read/property",
	},
	"psafe/host/check/decide": {
		"psafe/host/arith", "psafe/host/check/cases", "psafe/host/check/clbp", "psafe/host/check/curves", "psafe/host/check/law", "psafe/host/check/noise", "psafe/host/check/relax", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/check/mean": {
		"psafe/host/arith/gauss", "psafe/host/arith", "psafe/host/check/law", "psafe/host/check/relax", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/check/record": {
		"psafe/host/check/cases", "psafe/host/check/law", "psafe/host/check/sums", "psafe/host/read/property", "psafe/host/record/fields",
	},
	"psafe/host/check/loop":    {"psafe/host/arith", "psafe/host/read/plant"},
	"psafe/host/check/average": {"psafe/host/arith", "psafe/host/arith/gauss", "psafe/host/check/law", "psafe/host/read/inputlaw", "psafe/host/read/property"},
	"psafe/host/check": {
		"psafe/host/check/average", "psafe/host/check/loop", "psafe/host/read/inputlaw", "psafe/host/read/plant", "psafe/internal/infile", "psafe/host/arith", "psafe/host/check/cases", "psafe/host/check/decide", "psafe/host/check/law", "psafe/host/check/mass", "psafe/host/check/mean", "psafe/host/check/moments", "psafe/host/check/noise", "psafe/host/check/phases", "psafe/host/check/record", "psafe/host/check/relax", "psafe/host/check/sums", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/format", "psafe/host/read/property", "psafe/internal/fault",
	},
	"psafe/host/record/fields": {},
	"psafe/host/record": {
		"psafe/host/arith", "psafe/host/record/fields", "github.com/parquet-go/parquet-go", "psafe/host/prove", "psafe/host/prove/claim", "psafe/host/read/property",
		"psafe/internal/infile",
	},
	"psafe/internal/testkit/sumtest":    {"psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property"},
	"psafe/internal/testkit/recordtest": {"psafe/host/prove", "psafe/host/prove/claim", "psafe/host/read/property", "psafe/host/record"},
	"psafe/internal/testkit/checktest": {
		"psafe/fallback", "psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/prove", "psafe/host/prove/claim", "psafe/host/prove/engine", "psafe/host/read/property", "psafe/internal/testkit/networktest", "psafe/internal/testkit/sumtest", "psafe/internal/testscale",
	},
	"psafe/internal/testkit/provetest": {
		"psafe/internal/testkit/networktest", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property",
	},
	"psafe/host/tell/conformal": {"psafe/host/arith", "psafe/host/read/property", "psafe/host/record"},
	"psafe/host/tell/summary":   {"psafe/host/read/property", "psafe/host/record"},
	"psafe/host/job/certify": {
		"psafe/host/prove/decide",
		"psafe/host/bound", "psafe/host/prove", "psafe/host/prove/boxes", "psafe/host/prove/claim", "psafe/host/prove/engine",
		"psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/model/audit", "psafe/host/read/format", "psafe/host/read/property", "psafe/host/record", "psafe/internal/fault", "psafe/internal/infile", "psafe/internal/nearest", "psafe/internal/outfile",
	},
	"psafe/host/job/average": {
		"psafe/host/arith", "psafe/host/arith/gauss", "psafe/host/model/posterior", "psafe/host/read/inputlaw", "psafe/host/read/property", "psafe/host/record", "psafe/internal/outfile",
	},
	"psafe/host/job/loop": {
		"psafe/host/arith", "psafe/host/job/certify", "psafe/host/model/posterior", "psafe/host/prove", "psafe/host/prove/claim", "psafe/host/prove/loop", "psafe/host/read/plant", "psafe/host/read/property", "psafe/host/record", "psafe/internal/infile", "psafe/internal/outfile",
	},
	"psafe/host/job/campaign": {
		"go.yaml.in/yaml/v3", "psafe/host/prove", "psafe/host/read/property", "psafe/host/record", "psafe/host/job/certify",
		"psafe/internal/fault", "psafe/internal/infile", "psafe/internal/nearest", "psafe/internal/outfile",
	},
	"psafe/host/lab/train": {
		"gonum.org/v1/gonum/", "psafe/host/model/network", "psafe/host/model/posterior", "psafe/host/read/property",
		"psafe/internal/infile",
	},
	"psafe/host/tell/plot":   {"codeberg.org/go-pdf/fpdf", "gonum.org/v1/gonum/", "gonum.org/v1/plot", "gonum.org/v1/plot/", "psafe/host/read/property", "psafe/host/record", "psafe/host/tell/summary"},
	"psafe/host/tell/report": {"psafe/host/read/property", "psafe/host/record", "psafe/host/tell/plot", "psafe/host/tell/summary", "psafe/internal/infile"},
	"psafe/host/lab/paper": {
		"gonum.org/v1/gonum/",
		"psafe/host/bound", "psafe/host/tell/plot", "psafe/host/model/network", "psafe/host/model/posterior",
		"psafe/host/prove", "psafe/host/read/format", "psafe/host/read/property", "psafe/host/record", "psafe/host/job/certify", "psafe/host/tell/summary",
		"psafe/host/lab/train", "psafe/internal/child", "psafe/internal/infile", "psafe/internal/outfile", "psafe/testdata",
	},
	"psafe/host/lab/bench": {
		"psafe/host/bound", "psafe/host/prove/clbp", "psafe/host/prove/engine", "psafe/host/model/network", "psafe/host/model/posterior",
		"psafe/host/read/property", "psafe/host/record", "psafe/host/job/certify", "psafe/internal/fault",
	},
	"psafe/host/lab/crosscheck": {
		"psafe/host/bound", "psafe/host/lab/lockstep", "psafe/host/prove", "psafe/host/prove/claim", "psafe/host/prove/clbp", "psafe/host/prove/engine", "psafe/host/model/posterior",
		"psafe/host/read/property",
	},
	"psafe/fallback": {"psafe/host/arith", "psafe/host/bound", "psafe/host/model/network", "psafe/internal/fault", "psafe/internal/fpcontrol", "psafe/internal/vector"},
	"psafe/kernels":  {"psafe/host/model/network"},
	"psafe/gpu":      {"psafe/gpu/cl", "psafe/host/arith", "psafe/host/bound", "psafe/host/bound/selfcheck", "psafe/internal/fault", "psafe/internal/infile", "psafe/internal/outfile", "psafe/internal/vector", "psafe/kernels"},
	"psafe/gpu/cl":   {"github.com/ebitengine/purego", "psafe/internal/fpcontrol"},
	"psafe/cmd/psafe": {
		"github.com/spf13/cobra", "github.com/spf13/cobra/doc", "github.com/spf13/pflag", "golang.org/x/term", "psafe/fallback", "psafe/gpu", "psafe/gpu/cl",
		"psafe/host/lab/bench", "psafe/host/bound", "psafe/host/job/average", "psafe/host/job/campaign", "psafe/host/job/loop", "psafe/host/check", "psafe/host/read/inputlaw", "psafe/host/lab/crosscheck", "psafe/host/tell/plot",
		"psafe/host/prove", "psafe/host/prove/probability", "psafe/host/model/network", "psafe/host/read/onnx/lower", "psafe/host/tell/report", "psafe/host/lab/paper", "psafe/host/model/posterior",
		"psafe/host/model/audit", "psafe/host/read/format", "psafe/host/read/property", "psafe/host/record", "psafe/host/job/certify", "psafe/host/tell/conformal", "psafe/host/tell/summary",
		"psafe/host/lab/train", "psafe/host/prove/verify", "psafe/host/read/vnnlib", "psafe/internal/child", "psafe/internal/fault", "psafe/internal/fpcontrol", "psafe/internal/infile", "psafe/internal/nearest", "psafe/internal/outfile", "psafe/internal/vector", "psafe/python",
	},
	"psafe/internal/child":            {"psafe/internal/fault", "psafe/internal/infile"},
	"psafe/internal/fault":            {},
	"psafe/internal/fpcontrol":        {},
	"psafe/internal/infile":           {},
	"psafe/internal/nearest":          {},
	"psafe/internal/outfile":          {"psafe/internal/infile"},
	"psafe/internal/testkit/oracle":   {"psafe/internal/testscale"},
	"psafe/internal/testkit/pagetest": {},
	"psafe/internal/testscale":        {},
	"psafe/internal/vector":           {},
	"psafe/internal/mutants":          {},
	"psafe/internal/gpucode":          {"psafe/kernels"},
	"psafe/internal/release":          {},
	"psafe/python":                    {},
	"psafe/testdata":                  {},
	"psafe/testdata/gen":              {"psafe/"},
}

var update = flag.Bool("update", false, "write the list of packages in docs/architecture.md")

// TestImports holds every package to mayImport, unsafe to the OpenCL binding, and the list of packages in
// docs/architecture.md to their doc comments.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Doc,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages strings.Builder
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var pkg struct {
			ImportPath, Doc string
			Imports         []string
		}
		if err := dec.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		if pkg.ImportPath == "psafe" {
			continue // this test
		}
		packages.WriteString(pagetest.Item("`" + strings.TrimPrefix(pkg.ImportPath, "psafe/") + "` " + purpose(pkg.Doc)))
		allowed, known := mayImport[pkg.ImportPath]
		if !known {
			t.Errorf("package %s is in no row of the architecture: add it to mayImport", pkg.ImportPath)
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
	pagetest.Part(t, "docs/architecture.md", "packages", packages.String(), *update)
}

var (
	aside = regexp.MustCompile(`\s*\((?:[^()]|\([^()]*\))*\)`)
	named = regexp.MustCompile(`^(Package \w+|Command psafe|\w+) `)
)

// purpose is the first clause of a package's doc comment, without the package's name and asides.
func purpose(doc string) string {
	doc = named.ReplaceAllString(aside.ReplaceAllString(doc, ""), "")
	doc = strings.Split(doc, ". ")[0]
	return strings.TrimRight(doc[:strings.IndexAny(doc+":", ":;")], ".")
}

// standard says whether an import path is of the standard library: its first
// element has no dot and is not this module.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != "psafe" && !strings.Contains(first, ".")
}
