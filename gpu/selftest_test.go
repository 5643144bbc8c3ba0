package gpu

import (
	"fmt"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/kernels"
)

// TestSelfTestNetwork: the table of the self-test is what the fallback writes.
func TestSelfTestNetwork(t *testing.T) {
	for _, p := range precisions {
		got, err := networkHashes(fallback.New(p))
		if err != nil {
			t.Fatal(err)
		}
		wrong := len(got) != len(networkExpected[p])
		var table strings.Builder
		for _, g := range got {
			wrong = wrong || networkExpected[p][g.name] != g.hash
			table.WriteString("\t\t" + g.String() + ",\n")
		}
		if wrong {
			t.Errorf("the table for %v is out of date:\n%s", p, table.String())
		}
	}
}

// TestSelfTestJobs: so is the table of bounds.
func TestSelfTestJobs(t *testing.T) {
	for _, p := range precisions {
		got, err := bound.SelfCheck(fallback.New(p))
		if err != nil {
			t.Fatal(err)
		}
		wrong := len(got) != len(jobsExpected[p])
		var table strings.Builder
		for _, g := range got {
			wrong = wrong || jobsExpected[p][g.Name] != g.Hash
			fmt.Fprintf(&table, "\t\t%q: %#x,\n", g.Name, g.Hash)
		}
		if wrong {
			t.Errorf("the table for %v is out of date:\n%s", p, table.String())
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
		{"a wrong kernel", "concretize", "blockMag += fabs(term)", "blockMag += term", "computes concretize"},
		{"a kernel that does nothing", "drawbox", "TASK(t, tasks)", "return; TASK(t, tasks)", "did not run it"},
		{"a kernel that leaves something out", "activate", "storeUpTo(h, zHi + i, n - i);", "storeUpTo(h, zHi + i, n - i - 1);", "unwritten"},
	} {
		_, err := OpenInfo(info, bound.Float32, Options{sources: mutate(t, m.file, m.old, m.new), build: builds()})
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
