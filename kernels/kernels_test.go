package kernels

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"psafe/host/model/network"
)

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

// TestHalfAdded: a file or a place in the order alone is named, and a kernel that cannot be launched.
func TestHalfAdded(t *testing.T) {
	files, order := []string{"round.cl", "affine.cl"}, []string{"round", "affine"}
	for _, c := range []struct {
		files, order []string
		want         string
	}{
		{files, order, ""},
		{append(files, "swap.cl"), order, "kernels/swap.cl has no place"},
		{files, append(order, "swap"), "add kernels/swap.cl"},
	} {
		if got := misplaced(c.files, c.order); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for text, want := range map[string]string{
		"KERNEL void swap(__global real *out, const int n) {":                                "kernel swap takes (__global real *out, const int n), and a launch ends with",
		"KERNEL void swap(__global float *out, " + launch + ") {":                            `kernel swap takes "__global float *out", of a type that no launch passes`,
		"/* KERNEL void swap() */ TILED_KERNEL void other(const int a,\n  " + launch + ") {": "",
	} {
		list, err := read("swap", code(text), nil)
		if want == "" && (err != nil || len(list) != 1 || fmt.Sprint(list[0]) != "{other swap [{a const int}] true}") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v, want %q", text, list, err, want)
		}
	}
}

// TestContractionOff: each file forbids contraction by itself.
func TestContractionOff(t *testing.T) {
	for name := range Sources() {
		text := code(Sources()[name])
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
		for i, line := range strings.Split(code(Sources()[name]), "\n") {
			if name == "digest" { // integers modulo 2^32, whose sum is the same in any order
				line = strings.Replace(line, "atomic_add(&receipts[", "", 1)
			}
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

// TestManifest: every KERNEL of the sources is in the list, with its arguments.
func TestManifest(t *testing.T) {
	kernels := 0
	for name := range Sources() {
		kernels += strings.Count(code(Sources()[name]), "KERNEL void ")
	}
	if kernels != len(All) {
		t.Errorf("%d kernels, %d in the list", kernels, len(All))
	}
	found := map[string]string{}
	for _, k := range All {
		found[k.Name] = fmt.Sprint(k.File, k.Args, k.Tiled)
	}
	for name, want := range map[string]string{
		"intersect": "intersect[{lo __global real *} {hi __global real *} {bound const __global real *} {n const int}] false",
		"digest": "digest[{a0 const __global real *} {a1 const __global real *} {a2 const __global real *} {a3 const __global real *} {a4 const __global real *} {a5 const __global real *} {a6 const __global real *} {a7 const __global real *} " +
			"{n0 const ulong} {n1 const ulong} {n2 const ulong} {n3 const ulong} {n4 const ulong} {n5 const ulong} {n6 const ulong} {n7 const ulong} {runs const uint} {run const ulong} {at const uint}] false",
		"backtiles": "backtiles[{sLo __global real *} {sHi __global real *} {c __global real *} {a const __global real *} {cIn const __global real *} {wLo const __global real *} {wHi const __global real *} {bLo const __global real *} {bHi const __global real *} " +
			"{wantHi const int} {items const int} {perBox const int} {rows const int} {in const int} {out const int}] true",
	} {
		if found[name] != want {
			t.Errorf("%s: %s, want %s", name, found[name], want)
		}
	}
}

// TestTiles: the numbers that Go and the sources must agree on.
func TestTiles(t *testing.T) {
	define := func(file, name string, branch int) string {
		m := regexp.MustCompile(`(?m)^#define `+name+` (\d+)$`).FindAllStringSubmatch(code(Sources()[file]), -1)
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
