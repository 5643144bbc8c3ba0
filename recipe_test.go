package psafe_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/internal/testscale"
)

// The recipe of docs/architecture.md for a new activation, followed for s(t) = 2 max(t, 0) in an
// overlay of the sources: complete, and with one piece missing at a time. Once, with code that
// took ReLU's place for a kind that it did not know, this gave p_lower 0.970 and p_upper 0.104.

// insertion puts text in front of the only place of a file that reads so.
type insertion struct{ file, before, text string }

// doubleFacts is the entry of the table of facts, a fact a line.
var doubleFacts = []string{
	"word: \"double_relu\",",
	"slope: no,",
	"value: func(_ Activation, t float64) float64 { return 2 * max(t, 0) },",
	"derivative: func(_ Activation, t, _ float64) float64 { if t > 0 { return 2 }; return 0 },",
	"up: func(_ Activation, t, sign float64) float64 { return sign * 2 * max(t, 0) },",
	"monotone: yes,",
	"nonNeg: yes,",
	"deadBelow: yes,",
	"kinked: no,",
	"below: func(Activation) float64 { return 0 },",
	"bend: straight,",
	"lipschitz: 2,",
	"growth: 2,",
	"bound: inf,",
}

// doubleReLU are the other pieces.
var doubleReLU = map[string]insertion{
	"kind":         {"host/model/network/activation.go", "\t// Kinds is how many", "\tDoubleReLU\n"},
	"fallback":     {"fallback/activation.go", "\t}\n}\n\n// A kind without", "\t\tnetwork.DoubleReLU: {ACTIVATE, RELAX},\n"},
	"activate.cl":  {"kernels/activate.cl", "} else if (kind != KIND_IDENTITY) {", "} else if (kind == KIND_DOUBLE_RELU) { l = R(2.0) * relu(l); h = R(2.0) * relu(h);\n        "},
	"relax.cl":     {"kernels/relax.cl", "} else { /* nothing is known */", "} else if (kind == KIND_DOUBLE_RELU) { relaxLinear(&al, &bl, &ah, &bh, l, h, 0, 0); al *= 2; ah *= 2; bh *= 2;\n        "},
	"fallback.fns": {"fallback/activate.go", "func (d *Device[T]) activateIdentity(", doubleFunctions},
}

const doubleFunctions = `func (d *Device[T]) activateDouble(lo, hi, _, _ T) (zLo, zHi T) {
	return d.lower(T(2 * max(lo, 0))), d.upper(T(2 * max(hi, 0)))
}

func (d *Device[T]) relaxDouble(l, u, _, _ T) (aLo, bLo, aHi, bHi T) {
	aLo, bLo, aHi, bHi = d.relaxLinear(l, u, 0, 0)
	return T(2 * aLo), T(2 * bLo), T(2 * aHi), d.upper(T(2 * bHi))
}

`

// overlayOf writes the sources with the recipe, all but one piece, for go build -overlay.
func overlayOf(t *testing.T, without string) string {
	t.Helper()
	dir, sources := t.TempDir(), map[string]string{}
	var entry []string
	for _, fact := range doubleFacts {
		if name, _, _ := strings.Cut(fact, ":"); name != without {
			entry = append(entry, fact)
		}
	}
	facts := insertion{"host/model/network/facts.go", "}\n\nfunc init() {", "\tDoubleReLU: {\n" + strings.Join(entry, "\n") + "\n},\n"}
	for name, in := range doubleReLU {
		if name == without {
			continue
		}
		for place, code := range map[string]string{"ACTIVATE": "(*Device[T]).activateDouble", "RELAX": "(*Device[T]).relaxDouble"} {
			if place == without {
				code = "nil"
			}
			in.text = strings.ReplaceAll(in.text, place, code)
		}
		in.apply(t, sources)
	}
	if without != "facts" {
		facts.apply(t, sources)
	}
	replace := map[string]string{}
	for file, text := range sources {
		changed := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		original, err := filepath.Abs(file)
		if err == nil {
			err = os.WriteFile(changed, []byte(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		replace[original] = changed
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	overlay := filepath.Join(dir, "overlay.json")
	if err == nil {
		err = os.WriteFile(overlay, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return overlay
}

func (in insertion) apply(t *testing.T, sources map[string]string) {
	t.Helper()
	if sources[in.file] == "" {
		text, err := os.ReadFile(in.file)
		if err != nil {
			t.Fatal(err)
		}
		sources[in.file] = string(text)
	}
	if n := strings.Count(sources[in.file], in.before); n != 1 {
		t.Fatalf("%s has %q %d times, want once: the recipe is out of date", in.file, in.before, n)
	}
	sources[in.file] = strings.Replace(sources[in.file], in.before, in.text+in.before, 1)
}

// TestHalfAddedActivation: with any one piece of the recipe missing the program does not
// compile, or stops when it starts.
func TestHalfAddedActivation(t *testing.T) {
	testscale.DeepOnly(t)
	pieces := []string{"facts", "kind", "fallback", "fallback.fns", "ACTIVATE", "RELAX", "activate.cl", "relax.cl"}
	for _, fact := range doubleFacts {
		name, _, _ := strings.Cut(fact, ":")
		pieces = append(pieces, name)
	}
	for _, without := range pieces {
		overlay := overlayOf(t, without)
		// No test runs: what is compiled and what the packages check at the start is all.
		out, err := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-run", "^$", "./host/model/network", "./fallback", "./kernels").CombinedOutput()
		if err == nil {
			t.Errorf("without %s the program starts:\n%s", without, out)
		}
		t.Logf("without %s: %s", without, firstComplaint(string(out)))
	}
}

func firstComplaint(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "panic:") || strings.Contains(line, ".go:") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// TestAddedActivation: with every piece in place the bounds agree with those of the same
// function written with ReLU, the weights behind it doubled.
func TestAddedActivation(t *testing.T) {
	testscale.DeepOnly(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "psafe")
	build := exec.Command("go", "build", "-overlay", overlayOf(t, ""), "-o", program, "./cmd/psafe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the recipe does not compile: %v\n%s", err, out)
	}
	twice, single := filepath.Join(dir, "double.safetensors"), filepath.Join(dir, "relu.safetensors")
	if err := os.WriteFile(twice, renamed(t, smallReLU(1), `\"relu\"`, `\"double_relu\"`), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(single, safetensors(t, smallReLU(2)), 0o666); err != nil {
		t.Fatal(err)
	}
	points := filepath.Join(dir, "points.csv")
	if err := os.WriteFile(points, []byte("0.5,-0.25\n1,1\n-0.75,0.5\n0.25,0.125\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"auto", "clbp", "ibp --draws 20 --gamma 1", "lbp --draws 20 --gamma 1", "neuronsum"} {
		a, b := certified(t, program, twice, points, method), certified(t, program, single, points, method)
		for i := range a {
			if a[i].PLower > b[i].PUpper || b[i].PLower > a[i].PUpper {
				t.Errorf("%s, point %d: bounds [%v, %v] of 2 max(t, 0) contradict [%v, %v]", method, i, a[i].PLower, a[i].PUpper, b[i].PLower, b[i].PUpper)
			}
			if a[i].PLower < b[i].PLower-0.05 {
				t.Errorf("%s, point %d: p_lower %v of 2 max(t, 0), %v of the same by ReLU", method, i, a[i].PLower, b[i].PLower)
			}
		}
	}
}

// smallReLU is a 2-4-2 network whose last weights are multiplied by factor.
func smallReLU(factor float64) *posterior.Posterior {
	params := func(factor float64, mean ...float64) posterior.Params {
		sd := make([]float64, len(mean))
		for i := range mean {
			mean[i], sd[i] = factor*mean[i], factor*0.0625
		}
		return posterior.NewParams(mean, sd, posterior.ScaleSD)
	}
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(2, 4, network.Activation{Kind: network.ReLU}), Weight: params(1, 1, -0.5, 0.75, -1, 0.25, 1, -0.5, 0.5), Bias: params(1, 0.125, 0, -0.25, 0.5)},
		{Layer: network.DenseLayer(4, 2, network.Activation{}), Weight: params(factor, 1, -0.5, 0.25, 0.5, -0.75, 0.5, 0.5, -0.25), Bias: params(1, 0.25, -0.25)},
	}}
}

func safetensors(t *testing.T, p *posterior.Posterior) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := format.WriteSafetensors(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// renamed replaces text in the header of the file of p.
func renamed(t *testing.T, p *posterior.Posterior, old, new string) []byte {
	t.Helper()
	file := safetensors(t, p)
	n := binary.LittleEndian.Uint64(file)
	header := strings.Replace(string(file[8:8+n]), old, new, 1)
	if header == string(file[8:8+n]) {
		t.Fatalf("the header has no %s: %s", old, header)
	}
	for len(header)%8 != 0 {
		header += " "
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), file[8+n:]...)
}

type boundsRecord struct {
	PLower float64 `json:"p_lower"`
	PUpper float64 `json:"p_upper"`
}

// certified runs psafe certify and reads the bounds.
func certified(t *testing.T, program, post, points, method string) []boundsRecord {
	t.Helper()
	args := []string{"certify", "--posterior", post, "--inputs", points, "--label", "0", "--eps", "0.01", "--precision", "float64", "--device", "cpu", "--quiet", "--method"}
	out, err := exec.Command(program, append(args, strings.Fields(method)...)...).Output()
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	var list []boundsRecord
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var r boundsRecord
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if len(list) != 4 {
		t.Fatalf("%s: %d records of 4 points", method, len(list))
	}
	return list
}
