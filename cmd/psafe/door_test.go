package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"psafe/host/read/format"
	"psafe/host/record"
	"psafe/internal/testscale"
)

// hostile says what of a text a terminal would obey or hide, "" if nothing. Line feeds are
// allowed.
func hostile(text string) string {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return text[i : i+1]
			}
		}
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return string(r)
		}
	}
	return ""
}

// hostileWords are what a file or its name might try.
var hostileWords = []string{
	"\x1b[2J", "\x1b]0;title\a", "\u009b31m", "\x9b31m", "a\rb", "\b\b\b", "\x7f", "\u202egpj.exe", "\u2066x\u2069", "\u200b", "\u2028", "\ufeff", "\xff\xfe",
	"\U000e0041", "\xed\xa0\x80", "\x00", "tab\there", "line\npsafe: 10 of 10 safe",
}

func TestEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain ünïcode 日本 \U0001f600 \\x": "plain ünïcode 日本 \U0001f600 \\x", "": "",
		"\x1b[2J": `\u001b[2J`, "\u009b1m": `\u009b1m`, "\x9b1m": `\x9b1m`, "a\tb\r": `a\tb\r`, "\x7f": `\u007f`,
		"\u202ex": `\u202ex`, "\U000e0041": `\udb40\udc41`, "end\xc3": `end\xc3`, "\ufffd": "\ufffd",
	} {
		if got := string(escaped([]byte(text), false)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got := plain(text + "\n"); got != want+`\n` {
			t.Errorf("plain %q: %q", text, got)
		}
		if got := string(escaped([]byte(text+"\n"), false)); got != want+"\n" {
			t.Errorf("%q and the end of a line: %q", text, got)
		}
	}
}

// FuzzEscaped: nothing gets through a door that a terminal would obey; what is harmless
// gets through as it is; and JSON says the same afterwards.
func FuzzEscaped(f *testing.F) {
	for _, w := range hostileWords {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b bytes.Buffer
		d := &door{w: &b}
		if n, err := d.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		if bad := hostile(b.String()); bad != "" {
			t.Errorf("%q became %q, which has %q", text, b.String(), bad)
		}
		if hostile(text) == "" && b.String() != text {
			t.Errorf("%q became %q", text, b.String())
		}
		if p := plain(text); strings.Contains(p, "\n") || hostile(p) != "" {
			t.Errorf("%q is %q in a field", text, p)
		}
		line, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if json.Unmarshal(line, &before) != nil || json.Unmarshal(escaped(line, false), &after) != nil || before != after {
			t.Errorf("%s became %s", line, escaped(line, false))
		}
	})
}

// TestHostileText: of no command does a hostile name of a file, text in a file, flag or
// variable reach a terminal, in results or in messages. Records are JSON and excepted.
func TestHostileText(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	words := testscale.Few(t, hostileWords, 3)
	for i, word := range words {
		if i%2 == 1 { // some with another
			word += hostileWords[rng.IntN(len(hostileWords))]
		}
		for _, args := range hostileRuns(t, word, testscale.Deep(t) && i%6 == 1) {
			t.Setenv("PSAFE_DEVICE", "cpu")
			if args[0] == "DEVICE" {
				t.Setenv("PSAFE_DEVICE", strings.ReplaceAll(word, "\x00", ""))
				args = args[1:]
			}
			var stdout, stderr bytes.Buffer
			status := program(args, &stdout, &stderr)
			if bad := hostile(stderr.String()); bad != "" {
				t.Errorf("psafe %q: standard error has %q: %q", args, bad, stderr.String())
			}
			if status != exitDone && strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("psafe %q: status %d with %q", args, status, stderr.String())
			}
			for line := range strings.Lines(stdout.String()) {
				if bad := hostile(line); bad != "" && !json.Valid([]byte(line)) {
					t.Errorf("psafe %q: standard output has %q: %q", args, bad, line)
				}
			}
		}
	}
}

// hostileRuns are commands with a word wherever a user or a file can put one; those that take
// minutes only if slow is set.
func hostileRuns(t *testing.T, word string, slow bool) [][]string {
	dir := t.TempDir()
	copyOf := func(name, from string) string {
		path := filepath.Join(dir, strings.NewReplacer("/", "", "\x00", "").Replace(name))
		writeTest(t, path, readTest(t, from))
		return path
	}
	net := copyOf(word+".npz", testFile("tiny-2-3-2-tanh.npz"))
	points := copyOf(word+".csv", pointsOf(t, "0.0,1\n0.1,0.9\n"))
	garbage := copyOf(word+"garbage.npz", pointsOf(t, word))
	badPoints := copyOf(word+"bad.csv", pointsOf(t, "a,"+word+"\n1,"+word+"\n"))
	noted := filepath.Join(dir, "noted.npz")
	post, err := format.Read(net, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	post.Source.Note = word
	var b bytes.Buffer
	if err := format.WriteNPZ(&b, post); err != nil {
		t.Fatal(err)
	}
	writeTest(t, noted, b.String())
	named, err := json.Marshal(word)
	if err != nil {
		t.Fatal(err)
	}
	property := copyOf(word+".json", pointsOf(t, strings.Replace(readTest(t, testFile("cubic-property.json")), `"one_within_5"`, string(named), 1)))
	records := copyOf(word+".jsonl", pointsOf(t, recordsOf(t, net, points, word)))
	at := func(name string) string {
		return filepath.Join(dir, strings.NewReplacer("/", "", "\x00", "").Replace(name))
	}
	certify := []string{"certify", "--posterior", net, "--inputs", points, "--eps", "0.05", "--method", "clbp"}
	with := func(more ...string) []string { return append(certify[:len(certify):len(certify)], more...) }
	runs := [][]string{
		{word}, {"help", word}, {"inspect", net}, {"inspect", noted}, {"inspect", garbage}, {"inspect", at(word + "absent")}, {"inspect", word, word},
		{"inspect", net, "--scale", word}, {"inspect", net, "--activation", word}, {"inspect", net, "--" + word},
		{"convert", net, "--note", word, "--out", at(word + "out.npz")}, {"convert", net, "--out", at("absent/" + word)}, {"convert", net, "--out", net},
		{"convert", net, "--format", word, "--out", at("x")},
		with(), with("--out", at(word+"out.jsonl")), with("--out", at(word+"out.jsonl")), with("--out", at(word+"out.jsonl"), "--resume"), with("--out", net),
		with("--eps", word), with("--clip", word), with("--index", word), with("--method", word), with("--property", word), with("--property", "output_box:"+word),
		with("--label", word), with("--label-column", word), with("--input-scale", word), with("--device", word), with("--options", "memory="+word), with("--options", word), with("--precision", word),
		with("--fail-unless", word), with("--fail-unless", "p_lower>="+word), with("--require", word), with("--scale-factor", word), with("--inputs", badPoints), with("--inputs", points+":"+word),
		with("--posterior", garbage), with("--inputs", garbage), with("--label", garbage), with("--property", garbage),
		{"certify", "--posterior", testFile("cubic-128.npz"), "--property", property, "--method", "clbp"},
		{"certify", "--posterior", net, "--property", property}, {"certify", "--posterior", net, "--property", property, "--eps", word},
		{"plot", "eps", records, "--out", at(word + ".svg")}, {"plot", "bars", records, garbage, "--out", at("f.png")}, {"plot", word, records, "--out", at("f.svg")},
		{"plot", "eps", records, "--by", word, "--out", at("f.svg")}, {"plot", "heatmap", records, "--points", points, "--out", at(word + ".png")},
		{"plot", "heatmap", records, "--points", badPoints, "--out", at("f.svg")}, {"plot", "eps", records, "--out", at(word)}, {"summary", records, garbage}, {"summary", records}, {"summary", records, "--json"},
		{"report", records, "--out", at(word + ".html"), "--title", word, "--points", badPoints, "--data", word}, {"report", records, "--out", records}, {"report", garbage, "--out", at("r.html")},
		{"train", "--data", "cubic", "--samples", "20", "--epochs", "1", "--hidden", "2", "--out", at(word + "t.npz")}, {"train", "--data", badPoints, "--task", "regression", "--out", at("t.npz")},
		{"train", "--data", word, "--task", word, "--out", at("t.npz")}, {"train", "--data", "cubic", "--hidden", word, "--out", at("t.npz")},
		{"train", "--data", points, "--labels", garbage, "--task", "classification", "--out", at("t.npz")}, {"train", "--data", "cubic", "--activation", word, "--out", word},
		{"crosscheck", "--posterior", net, "--against", "cpu"}, {"crosscheck", "--posterior", garbage}, {"crosscheck", "--posterior", net, "--device", word}, {"crosscheck", "--posterior", net, "--method", word},
		{"bench", "--device", word}, {"bench", "--seconds", word}, {"paper", word, "--out", word}, {"paper", "vcas", "--data", word, "--out", at(word)}, {"paper", "regression", "--posterior", garbage, "--out", at(word + "p")},
		{"DEVICE", "certify", "--help"}, append([]string{"DEVICE"}, certify...), {"devices", word},
	}
	if !slow {
		return runs
	}
	return append(runs, []string{"paper", "regression", "--quick", "--posterior", copyOf(word+"1.npz", testFile("cubic-128.npz")), "--out", at(word + "q")})
}

// recordsOf are records with a word in every text.
func recordsOf(t *testing.T, net, points, word string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "r.jsonl")
	certifyTo(t, out, "--device", "cpu", "--posterior", net, "--inputs", points, "--eps", "0.05", "--method", "clbp", "--quiet")
	var b bytes.Buffer
	for line := range strings.Lines(readTest(t, out)) {
		rec, err := record.ParseRecord([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		rec.Name, rec.Posterior, rec.Inputs, rec.Property = word, word, word, word
		if err := rec.Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestTerminal: on a terminal, also one that does not say how large it is, there are a table, its
// verdicts in colour unless that is not wanted, a bar that is erased by psafe's own two sequences,
// and nothing else that commands it; records on a terminal are escaped too.
func TestTerminal(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	net := filepath.Join(dir, "\x1b[2J\u009b1m\u202e.npz")
	writeTest(t, net, readTest(t, testFile("tiny-2-3-2-tanh.npz")))
	points := pointsOf(t, "0.0,1\n0.1,0.9\n")
	const unknown = "  \x1b[33munknown\x1b[0m  "
	for i, c := range []struct {
		size, env string
		out       bool
		coloured  int
	}{
		{"cols 120", "TERM=xterm", false, 2}, {"cols 120", "TERM=xterm", true, 2}, {"cols 0 rows 0", "TERM=xterm", true, 2},
		{"cols 80", "TERM=dumb", true, 0}, {"cols 80", "NO_COLOR=1", true, 0},
	} {
		more := ""
		if c.out {
			more = fmt.Sprintf("--out r%d.jsonl", i)
		}
		cmd := exec.Command(script, "-qec", "stty "+c.size+`; psafe certify --device cpu --posterior "$NET" --inputs `+points+" --eps 0.05 --method lbp --draws 2 --gamma 9 "+more, os.DevNull)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "NET="+net, "NO_COLOR=", "TERM=xterm", c.env)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %q", err, out)
		}
		text := strings.ReplaceAll(string(out), "\r\n", "\n")
		if got := strings.Count(text, unknown); got != c.coloured || got == 0 && strings.Count(text, "  unknown  ") != 2 {
			t.Errorf("%+v: %d verdicts are coloured: %q", c, got, text)
		}
		bare := strings.NewReplacer("\r\x1b[K", "", "\r", "", unknown, "  unknown  ").Replace(text)
		if bad := hostile(bare); bad != "" || !strings.Contains(bare, "verdict  seconds") || !strings.Contains(bare, "of 2 safe") {
			t.Errorf("%+v: %q has %q", c, text, bad)
		}
		if !c.out && (!strings.Contains(bare, "records are not kept, only a table is printed") || strings.Contains(bare, `"p_lower"`)) {
			t.Errorf("records on a terminal: %q", text)
		}
		if c.out && !strings.Contains(text, "\r\x1b[K[====") {
			t.Errorf("%+v: no bar: %q", c, text)
		}
	}
}

// TestColours: verdicts alone are coloured, each in its own, and no word of a name is.
func TestColours(t *testing.T) {
	table := "  index  verdict  seconds\n safe  safe     safe    0.100\n      1  unsafe        -\n   2  unknown\n1 of 3 safe with probability >= 0.9, 1 unsafe, 1 unknown; mean p_lower 0.1\n"
	want := "  index  verdict  seconds\n safe  safe     \x1b[32msafe\x1b[0m    0.100\n      1  \x1b[31munsafe\x1b[0m        -\n   2  \x1b[33munknown\x1b[0m\n1 of 3 safe with probability >= 0.9, 1 unsafe, 1 unknown; mean p_lower 0.1\n"
	if got := string(inColours([]byte(table))); got != want {
		t.Errorf("%q", got)
	}
}

// TestFullOutput: what nobody gets is no success: every command that prints to standard
// output says so and fails if that takes nothing.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	points := pointsOf(t, "0,1\n")
	tiny := testFile("tiny-2-3-2-tanh.npz")
	runs := [][]string{
		{"help"}, {"--help"}, {"-h"}, {"version"}, {"--version"}, {"help", "help"},
		{"predict", "--posterior", tiny, "--inputs", points}, {"predict", "--posterior", tiny, "--inputs", points, "--json"},
		{"inspect", tiny}, {"inspect", testFile("samples-2-8-3.npz")},
		{"certify", "--device", "cpu", "--posterior", tiny, "--inputs", points, "--eps", "0.05", "--method", "clbp"},
		{"certify", "--device", "cpu", "--posterior", tiny, "--inputs", points, "--eps", "0.05", "--method", "clbp", "--fail-unless", "p_lower>=1", "--quiet"},
		{"crosscheck", "--posterior", tiny, "--against", "cpu", "--precision", "float32"},
		{"bench", "--device", "cpu", "--small", "--seconds", "0.0001"},
		{"train", "--data", "cubic", "--samples", "20", "--epochs", "1", "--hidden", "2", "--out", filepath.Join(t.TempDir(), "t.npz")},
	}
	if testscale.Deep(t) {
		runs = append(runs, []string{"devices"}, []string{"devices", "--json"},
			[]string{"paper", "regression", "--quick", "--quiet", "--device", "cpu", "--out", filepath.Join(t.TempDir(), "p")})
	}
	for _, c := range commands() {
		runs = append(runs, []string{"help", c.Name()}, []string{c.Name(), "--help"})
	}
	for _, args := range runs {
		var stderr bytes.Buffer
		got := program(args, full, &stderr)
		last := stderr.String()[strings.LastIndex(strings.TrimSuffix(stderr.String(), "\n"), "\n")+1:]
		if got != exitUsage || !strings.Contains(last, "no space left on device") || !strings.HasPrefix(last, "psafe: ") {
			t.Errorf("psafe %q >/dev/full: status %d, %q", args, got, stderr.String())
		}
	}
}
