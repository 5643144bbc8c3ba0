package gpu

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/bound/selfcheck"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/kernels"
)

var update = flag.Bool("update", false, "write gpu/selftest.txt")

// TestSelfTestTable: the table of the self-test is what the fallback writes.
func TestSelfTestTable(t *testing.T) {
	var table strings.Builder
	for _, p := range precisions {
		got, err := selfcheck.Full(fallback.New(p))
		check(t, err)
		for _, trace := range got {
			table.WriteString(traceLine(p, trace.Job, trace.Digest()))
		}
	}
	if *update {
		check(t, os.WriteFile("selftest.txt", []byte(table.String()), 0o666))
	} else if table.String() != expectedTraces {
		t.Errorf("gpu/selftest.txt is out of date: if the definition was meant to change, go test ./gpu -run SelfTestTable -update")
	}
}

// TestExpected: a job is looked up by its whole name.
func TestExpected(t *testing.T) {
	table := traceLine(bound.Float32, "deep", "12") + traceLine(bound.Float32, "deep, shared", "34")
	for job, want := range map[string]string{"deep": "12", "deep, shared": "34", "shared": "", "dee": ""} {
		if got, known := expected(table, bound.Float32, job); got != want || known != (want != "") {
			t.Errorf("%s: %q, %v", job, got, known)
		}
	}
}

// TestHalfAdded: what an operation or a kernel lacks is named.
func TestHalfAdded(t *testing.T) {
	all := []kernels.Kernel{{Name: "affine", File: "affine"}}
	with := append(all, kernels.Kernel{Name: "swap", File: "swap"})
	for _, c := range []struct {
		operations []string
		all        []kernels.Kernel
		wrapped    []string
		want       string
	}{
		{[]string{"affine"}, all, []string{"affine"}, ""},
		{[]string{"affine"}, with, []string{"affine"}, "add gpu/swap.go"},
		{[]string{"affine"}, all, []string{"affine", "swap"}, "kernel swap is launched"},
		{[]string{"affine", "swap"}, all, []string{"affine"}, "add kernels/swap.cl"},
	} {
		wrapped := map[string]bool{}
		for _, n := range c.wrapped {
			wrapped[n] = true
		}
		if got := halfAdded(c.operations, c.all, wrapped); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestSelfTestRefuses: a device with another arithmetic is refused by name, in
// one line that says what is wrong.
func TestSelfTestRefuses(t *testing.T) {
	info := devices(t)[0]
	for _, m := range []struct{ what, file, old, new, message string }{
		{"contraction", "selftest", "storeUpTo(x * y + z,", "storeUpTo(fma(x, y, z),", "fuses multiplication and addition"},
		{"flushing", "selftest", "storeUpTo(x * y, product", "storeUpTo(fabs(x * y) < R(0x1p-126) ? VEC(R(0.0)) : x * y, product", "flushes subnormal numbers"},
		{"a wrong constant", "round", "#define PHI 0x1.000002p-24f", "#define PHI 0x1p-25f", "down(a * b)"},
		{"a wrong kernel", "concretize", "magnitude += fabs(term)", "magnitude += term", "computes concretize"},
		{"a kernel that does nothing", "drawbox", "TASK(t, tasks)", "return; TASK(t, tasks)", "did not run it"},
		{"a kernel that leaves something out", "activate", "storeUpTo(h, zHi + i, n - i);", "storeUpTo(h, zHi + i, n - i - 1);", "unwritten"},
	} {
		_, err := OpenInfo(info, bound.Float32, Options{sources: mutate(t, m.file, m.old, m.new), build: builds(t)})
		if err == nil {
			t.Errorf("%s: accepted", m.what)
			continue
		}
		if text := err.Error(); !strings.Contains(text, m.message) || !strings.Contains(text, info.Name) || strings.Contains(text, "\n") {
			t.Errorf("%s: %q does not have %q and %q in one line", m.what, text, m.message, info.Name)
		}
		if !IsDeviceLost(err) || IsOutOfMemory(err) {
			t.Errorf("%s: IsDeviceLost %v, IsOutOfMemory %v", m.what, IsDeviceLost(err), IsOutOfMemory(err))
		}
	}
}

// TestForGraphs: a device that was tested for chains of dense layers alone is tested for the rest before it
// has another network, once, and refused if it fails; what was written before is still hashed.
func TestForGraphs(t *testing.T) {
	info, table := devices(t)[0], expectedTraces
	defer func() { expectedTraces = table }()
	post := func(m network.Map) *posterior.Posterior {
		ones := func(n int) posterior.Params {
			return posterior.NewParams(slices.Repeat([]float64{1}, n), slices.Repeat([]float64{1}, n), posterior.ScaleSD)
		}
		return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{Layer: network.Layer{Map: m}, Weight: ones(m.Weights()), Bias: ones(m.Biases())}}}
	}
	conv := network.Conv{In: network.Image{Height: 2, Width: 2, Channels: 1}, Filters: 1, Groups: 1,
		Window: network.Window{Size: [2]int{2, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}
	for what, want := range map[string]string{"honest": "", "other bits": "graph", "lost write": "other numbers than it was given"} {
		expectedTraces = table
		if what == "other bits" {
			expectedTraces = strings.ReplaceAll(table, ", graph: ", ", graph: 00")
		}
		d, err := OpenInfo(info, bound.Float32, Options{build: quick, Chains: true})
		check(t, err)
		on := bound.Until(t.Context(), embedding{d}) // wrappers hide nothing
		m, err := bound.NewModel(on, post(network.Dense{In: 2, Out: 2}), 8)
		check(t, err)
		if m.Release(); !d.chains {
			t.Error("tested for a chain of dense layers")
		}
		a, err := d.NewArray(3)
		check(t, err)
		check(t, d.Write(a, []float64{1, 2, 3}))
		if what == "lost write" {
			a.(*array).written = make([]byte, 12)
		}
		m, err = bound.NewModel(on, post(conv), 8)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || !IsDeviceLost(err) {
				t.Errorf("%s: %v", what, err)
			}
			if !d.chains {
				t.Errorf("%s: taken for tested", what)
			}
			_ = d.Close()
			continue
		}
		check(t, err)
		if m.Release(); d.chains || d.launched.testing {
			t.Errorf("tested: %v, testing: %v", !d.chains, d.launched.testing)
		}
		check(t, d.Close())
	}
}

// embedding is a device as others embed it.
type embedding struct{ bound.Device }

// mutate returns the kernels' sources with one text replaced, which must be there.
func mutate(t *testing.T, file, old, new string) map[string]string {
	t.Helper()
	s := kernels.Sources()
	if !strings.Contains(s[file], old) {
		t.Fatalf("%s.cl has no %q", file, old)
	}
	s[file] = strings.Replace(s[file], old, new, 1)
	return s
}

// TestBriefSelfCheck: it has every operation, and its traces are some of those of SelfCheck.
func TestBriefSelfCheck(t *testing.T) {
	dev := fallback.New(bound.Float32)
	brief, err := selfcheck.Brief(dev)
	if err != nil {
		t.Fatal(err)
	}
	all, err := selfcheck.Full(dev)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, b := range brief {
		calls += len(b.Calls)
		at := slices.IndexFunc(all, func(a selfcheck.Trace) bool { return a.Job == b.Job })
		if at < 0 || b.Differs(all[at].Digest()) != "" {
			t.Errorf("job %q is none of SelfCheck's, or gives something else", b.Job)
		}
	}
	if calls > 300 {
		t.Errorf("%d launches are not brief", calls)
	}
}
