package main

import (
	"encoding/xml"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/record"
	"psafe/internal/testscale"
)

// told is a gate with records of so many inputs each.
func told(g *gate, safe, unsafe, unknown int) *gate {
	for verdict, n := range map[string]int{"safe": safe, "unsafe": unsafe, "unknown": unknown} {
		for range n {
			g.add(&record.Record{Verdict: verdict})
		}
	}
	return g
}

// TestGates: shares are compared with decimals exactly, and the line says what was found.
func TestGates(t *testing.T) {
	const worst = "; the worst is index 0, p_lower 0.0000, p_upper 0.0000"
	for _, c := range []struct {
		gate                  string
		safe, unsafe, unknown int
		want                  string
	}{
		{"safe>=0.95", 95, 3, 2, ""},
		{"safe>=0.95", 949, 50, 1, "949 of 1000 inputs are safe, a share of 0.949: --fail-unless safe>=0.95" + worst},
		{"safe>0.95", 95, 3, 2, "95 of 100 inputs are safe, a share of 0.95: --fail-unless safe>0.95" + worst},
		{"unsafe<=0.03", 95, 3, 2, ""},
		{" unknown < 0.02 ", 95, 3, 2, "2 of 100 inputs are unknown, a share of 0.02: --fail-unless unknown < 0.02" + worst},
		{"safe>=1", 10, 0, 0, ""},
		{"unsafe<=0", 1, 0, 9, ""},
		{"safe>=.3333333333333333", 1, 1, 1, ""},
		{"safe>=0.33333333333333333333333333333333333334", 1, 1, 1, "1 of 3 inputs are safe, a share of 0.333333: --fail-unless safe>=0.33333333333333333333333333333333333334" + worst},
		{"safe<=0.33333333333333333333333333333333333333", 1, 1, 1, "1 of 3 inputs are safe, a share of 0.333334: --fail-unless safe<=0.33333333333333333333333333333333333333"},
		{"safe<=0.1", 1, 0, 9, ""}, // 0.1 is no float64
		{"safe>=0.1", 1, 0, 9, ""},
	} {
		g, err := parseGate(c.gate)
		if err != nil {
			t.Errorf("%q: %v", c.gate, err)
			continue
		}
		if got := told(g, c.safe, c.unsafe, c.unknown).refusal(); got != c.want {
			t.Errorf("%q of %d, %d, %d: %q, want %q", c.gate, c.safe, c.unsafe, c.unknown, got, c.want)
		}
	}
	for _, bad := range []string{"", "safe", "safe>=", "safe>=.", "safe=0.9", "safe>=1.1", "safe>=-0.1", "safe>=1e-3", "safe>=0x1", "safe>=3/2", "Safe>=1", "safe>=0.5,unsafe<=0.1",
		"safe>=NaN", "safe>=\x1b[2J", "safe>=" + strings.Repeat("0", 1000)} {
		if g, err := parseGate(bad); err == nil || !strings.HasPrefix(err.Error(), "--fail-unless ") || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %v, %v", bad, g, err)
		}
	}
}

// TestGatesWorst: a gate that fails names the input of those against it that has the lowest bounds.
func TestGatesWorst(t *testing.T) {
	for gate, want := range map[string]string{
		"p_lower>=0.5": "3 of 4 inputs do not keep it, the worst is index 2, eps 0.1, p_lower 0.0000, p_upper 0.0001: --fail-unless p_lower>=0.5",
		"safe>=0.5":    "1 of 4 inputs are safe, a share of 0.25: --fail-unless safe>=0.5; the worst is index 2, eps 0.1, p_lower 0.0000, p_upper 0.0001",
		"unknown<=0.1": "2 of 4 inputs are unknown, a share of 0.5: --fail-unless unknown<=0.1; the worst is a name, eps 0.1, p_lower 0.0000, p_upper 1.0000",
		"safe<=0.1":    "1 of 4 inputs are safe, a share of 0.25: --fail-unless safe<=0.1",
		"p_lower>=0":   "",
	} {
		g, err := parseGate(gate)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []record.Record{{Verdict: "safe", PLower: 0.9, PUpper: 1}, {Index: 1, Verdict: "unknown", PLower: 0.25, PUpper: 1},
			{Index: 2, Verdict: "unsafe", PUpper: 5e-5}, {Index: 3, Name: "a name", Verdict: "unknown", PUpper: 1}} {
			r.Eps = "0.1"
			g.add(&r)
		}
		if got := g.refusal(); got != want {
			t.Errorf("%s: %q, want %q", gate, got, want)
		}
	}
}

// TestGatesProperty: a gate says what a comparison of integers says.
func TestGatesProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range testscale.Cases(t, 20_000) {
		safe, others, hundredths := rng.IntN(60), rng.IntN(60), int64(rng.IntN(101))
		if safe+others == 0 {
			continue
		}
		relation := []string{">=", "<=", ">", "<"}[rng.IntN(4)]
		g, err := parseGate(fmt.Sprintf("safe%s%d.%02d", relation, hundredths/100, hundredths%100))
		if err != nil {
			t.Fatal(err)
		}
		a, b := 100*int64(safe), hundredths*int64(safe+others)
		want := map[string]bool{">=": a >= b, "<=": a <= b, ">": a > b, "<": a < b}[relation]
		text := told(g, safe, others, 0).refusal()
		if (text == "") != want {
			t.Errorf("%s of %d and %d: %q", g.text, safe, others, text)
		}
		// What the line says as the share missed the limit as well.
		if text == "" {
			continue
		}
		_, said, _ := strings.Cut(text, "a share of ")
		said, _, _ = strings.Cut(said, ":")
		share, ok := new(big.Rat).SetString(said)
		if order := share.Cmp(g.limit); !ok || relation[0] == '>' && order > 0 || relation[0] == '<' && order < 0 {
			t.Errorf("%q: the share that it says is not refused", text)
		}
	}
}

// TestGatesRun: all records are written, whatever a gate says; gates are applied to
// finished records too.
func TestGatesRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.jsonl")
	const unsafe = "index 2, eps 0.03, p_lower 0.0000, p_upper 0.0001"
	args := []string{"certify", "--device", "cpu", "--posterior", testFile("glyphs-64-32-10.npz"), "--inputs", testFile("glyphs-test-images-idx3-ubyte.gz"),
		"--index", "0:3", "--eps", "0.03", "--clip", "0,1", "--quiet", "--out", out, "--resume"} // 1 safe, 1 unsafe, 1 unknown
	for _, c := range []struct {
		gates  string
		want   int
		failed string
	}{
		{"safe>=0.33", exitDone, ""},
		{"safe>=0.33 unsafe<=0.34 unknown<0.5", exitDone, ""},
		{"safe>=0.34", exitUnder, "--fail-unless safe>=0.34: 1 of 3 inputs are safe, a share of 0.333333: --fail-unless safe>=0.34; the worst is " + unsafe + "\n" +
			"index 1, eps 0.03, argmax_is:1: p_lower 0.0000, p_upper 1.0000: unknown: --fail-unless safe>=0.34\n" +
			"index 2, eps 0.03, argmax_is:2: p_lower 0.0000, p_upper 0.0001: unsafe: --fail-unless safe>=0.34"},
		{"safe>=0.33 unsafe<=0.33", exitUnder, "--fail-unless unsafe<=0.33: 1 of 3 inputs are unsafe, a share of 0.333334: --fail-unless unsafe<=0.33; the worst is " + unsafe + "\n" +
			"index 2, eps 0.03, argmax_is:2: p_lower 0.0000, p_upper 0.0001: unsafe: --fail-unless unsafe<=0.33"},
		{"safe>=2", exitUsage, ""},
	} {
		junit := filepath.Join(t.TempDir(), "junit.xml")
		more := append(args, "--junit", junit)
		for g := range strings.FieldsSeq(c.gates) {
			more = append(more[:len(more):len(more)], "--fail-unless", g)
		}
		var stdout, stderr strings.Builder
		if got := program(more, &stdout, &stderr); got != c.want || strings.Count(stderr.String(), "\n") != min(1, c.want) {
			t.Errorf("%s: status %d, want %d; %q", c.gates, got, c.want, stderr.String())
		}
		if c.want == exitUsage {
			continue
		}
		if n := strings.Count(readTest(t, out), "\n"); n != 3 {
			t.Errorf("%s: %d records", c.gates, n)
		}
		var suite struct {
			Tests    int         `xml:"tests,attr"`
			Failures int         `xml:"failures,attr"`
			Skipped  int         `xml:"skipped,attr"`
			Cases    []junitCase `xml:"testcase"`
		}
		if err := xml.Unmarshal([]byte(readTest(t, junit)), &suite); err != nil {
			t.Fatal(err)
		}
		var failed []string
		for _, one := range suite.Cases {
			if one.Failure != nil {
				failed = append(failed, one.Name+": "+one.Failure.Message)
			} else if one.Skipped != nil {
				suite.Skipped--
			}
		}
		if text := strings.Join(failed, "\n"); text != c.failed || suite.Tests != len(suite.Cases) || suite.Failures != len(failed) || suite.Skipped != 0 || suite.Tests != 3+strings.Count(c.gates, " ")+1 {
			t.Errorf("%s: %+v, failed:\n%s", c.gates, suite, text)
		}
	}
}
