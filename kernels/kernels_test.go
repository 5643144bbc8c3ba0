package kernels

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"psafe/host/model/network"
)

var comment = regexp.MustCompile(`(?s)/\*.*?\*/`)

// code is a source without comments.
func code(name string) string { return comment.ReplaceAllString(Sources()[name], " ") }

// TestFiles: every file says what it is and is short.
func TestFiles(t *testing.T) {
	for name, text := range Sources() {
		if !strings.HasPrefix(text, "/* "+name+":") && !strings.HasPrefix(text, "/* "+name+".cl:") {
			t.Errorf("%s.cl does not begin with what it is", name)
		}
		if n := strings.Count(text, "\n"); n > 400 {
			t.Errorf("%s.cl has %d lines", name, n)
		}
	}
}

// TestHalfAdded: a file, a place in the order or a kernel alone is named.
func TestHalfAdded(t *testing.T) {
	files, order := []string{"round.cl", "affine.cl"}, []string{"round", "affine"}
	all := []Kernel{{"affine", "affine", affineArgs}}
	for _, c := range []struct {
		files, order []string
		all          []Kernel
		want         string
	}{
		{files, order, all, ""},
		{append(files, "swap.cl"), order, all, "kernels/swap.cl has no place"},
		{files, append(order, "swap"), all, "add kernels/swap.cl"},
		{files, order, append(all, Kernel{"swap", "swap", affineArgs}), "kernel swap of the manifest has no file: add kernels/swap.cl"},
		{files, order, append(all, Kernel{"swap", "affine", nil}), "kernel swap has no arguments"},
	} {
		if got := halfAdded(c.files, c.order, c.all); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestContractionOff: each file forbids contraction by itself.
func TestContractionOff(t *testing.T) {
	for name := range Sources() {
		text := code(name)
		pragma := strings.Index(text, "#pragma OPENCL FP_CONTRACT OFF")
		first := regexp.MustCompile(`\b(KERNEL|INLINE)\b[^\n]*\(`).FindStringIndex(text)
		if strings.Contains(text, "FP_CONTRACT ON") || pragma < 0 || first != nil && first[0] < pragma {
			t.Errorf("%s.cl does not turn contraction off before its code", name)
		}
	}
}

// TestForbiddenWords: nothing whose result is the vendor's choice, nothing that
// OpenCL C 1.2 does not have, nothing that makes an order of work-items matter.
func TestForbiddenWords(t *testing.T) {
	words := regexp.MustCompile(`native_|half_|\bhalf\b|\bmad(24|_hi|_sat)?\b|fast|atom(ic)?_|atomic|sub_group|cl_khr_fp16|` +
		`cl_(nv|amd|intel|arm|qcom)_|asm\b|\bgeneric\b|work_group_(all|any|reduce|scan|broadcast)|\b(exp|log|tanh|pow|sqrt|rsqrt|native|erf)\(|` +
		`/ *R\(|fp64 *: *require`)
	for name := range Sources() {
		for i, line := range strings.Split(code(name), "\n") {
			if w := words.FindString(line); w != "" {
				t.Errorf("%s.cl has the forbidden %q: %s (code line %d)", name, w, strings.TrimSpace(line), i+1)
			}
			if strings.Contains(line, "fma(") && name != "benchfma" {
				t.Errorf("%s.cl uses fma: %s", name, line)
			}
		}
	}
	if strings.Contains(BaseOptions, "fast") || strings.Contains(BaseOptions, "unsafe") || strings.Contains(BaseOptions, "mad") {
		t.Errorf("build options %q", BaseOptions)
	}
}

// launch are the last three arguments of every kernel.
var launch = []Arg{{"tasks", Uint}, {"receipts", "__global uint *"}, {"receipt", Uint}}

// TestManifest: All is what the sources say, kernel by kernel and argument by
// argument, and no kernel is missing.
func TestManifest(t *testing.T) {
	kernel := regexp.MustCompile(`(?s)\b(|TILED_)KERNEL void (\w+)\((.*?)\)\s*\{`)
	affine := regexp.MustCompile(`(?s)#define AFFINE_ARGS(.*?)\n\n`)
	back := regexp.MustCompile(`(?s)#define BACK_ARGS(.*?)\n\n`)
	expand := func(text, name, file string, define *regexp.Regexp) string {
		if m := define.FindStringSubmatch(code(file)); m != nil {
			return strings.ReplaceAll(text, name, strings.ReplaceAll(m[1], "\\", " "))
		}
		return text
	}
	source := map[string]string{}
	for _, name := range order {
		text := expand(expand(code(name), "AFFINE_ARGS", "affine", affine), "BACK_ARGS", "backsubstitute", back)
		for _, m := range kernel.FindAllStringSubmatch(text, -1) {
			source[m[2]] = name + ": " + strings.Join(strings.Fields(m[3]), " ")
			if (m[1] == "TILED_") != (Kernel{Name: m[2]}).Tiled() {
				t.Errorf("%s is a %sKERNEL", m[2], m[1])
			}
		}
	}
	for _, k := range All {
		var args []string
		for _, a := range append(append([]Arg(nil), k.Args...), launch...) {
			space := " "
			if strings.HasSuffix(a.Type, "*") {
				space = ""
			}
			args = append(args, a.Type+space+a.Name)
		}
		want := k.File + ": " + strings.Join(args, ", ")
		if got := source[k.Name]; got != want {
			t.Errorf("kernel %s\nsource   %s\nmanifest %s", k.Name, got, want)
		}
		delete(source, k.Name)
	}
	for name := range source {
		t.Errorf("kernel %s is not in the manifest", name)
	}
}

// TestTiles: the numbers that Go and the sources must agree on.
func TestTiles(t *testing.T) {
	define := func(file, name string, branch int) string {
		m := regexp.MustCompile(`(?m)^#define `+name+` (\d+)$`).FindAllStringSubmatch(code(file), -1)
		if len(m) == 0 {
			return "none"
		}
		return m[min(branch, len(m)-1)][1]
	}
	for branch, lanes := range []int{1, 16} { // the first definition is for VW == 1
		shared, back := AffineShared(lanes), BackTile(lanes)
		for _, c := range []struct {
			file, name string
			want       int
		}{
			{"affine", "TO_SHARED", shared.To}, {"affine", "TI_SHARED", shared.Ti}, {"affine", "TO_WIDE", AffineWide(lanes).To},
			{"backsubstitute", "TR", back.Tr}, {"backsubstitute", "TJ", back.Tj}, {"mergerows", "MJ", MergeInputs},
			{"round", "RECEIPTS", Receipts}, {"digest", "DIGESTS", Digests}, {"round", "BLOCK", 32}, {"tiles", "GROUP", Group}, {"tiles", "SIDE", Side},
			{"benchfma", "FMA_CHAINS", FMAChains}, {"sharerows", "SP", SharePositions}, {"sharerows", "SK", ShareTaps},
		} {
			if got := define(c.file, c.name, branch); got != fmt.Sprint(c.want) {
				t.Errorf("lanes %d: %s.cl has %s = %s, Go has %d", lanes, c.file, c.name, got, c.want)
			}
		}
		var dw, dt, cw int
		fmt.Sscan(define("drawbox", "DW", branch), &dw)
		fmt.Sscan(define("drawbox", "DT", branch), &dt)
		fmt.Sscan(define("benchcopy", "CW", branch), &cw)
		if 4*dw*dt != DrawRun(lanes) || cw*lanes != CopyRun(lanes) {
			t.Errorf("lanes %d: drawbox.cl has runs of %d, Go of %d; benchcopy.cl of %d, Go of %d", lanes, 4*dw*dt, DrawRun(lanes), cw*lanes, CopyRun(lanes))
		}
	}
}

// TestHalfAddedActivation: with the case of an activation missing in a source the
// program does not start.
func TestHalfAddedActivation(t *testing.T) {
	for _, file := range []string{"activate", "relax"} {
		for k := range network.Kind(network.Kinds) {
			sources := Sources()
			sources[file] = strings.ReplaceAll(sources[file], kindName(k), "KIND_NONE")
			func() {
				defer func() {
					if said, _ := recover().(string); !strings.Contains(said, k.String()) || !strings.Contains(said, file) {
						t.Errorf("%s.cl without %v: %q", file, k, said)
					}
				}()
				checkKinds(sources)
			}()
		}
	}
}
