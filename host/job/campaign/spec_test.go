package campaign

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testFlags are some flags of psafe certify.
var testFlags = []Flag{
	{Name: "posterior"}, {Name: "inputs", List: true}, {Name: "method"}, {Name: "property"},
	{Name: "eps", List: true}, {Name: "clip", List: true}, {Name: "index", List: true}, {Name: "label"}, {Name: "gamma"},
	{Name: "input-scale"}, {Name: "no-upper", Switch: true}, {Name: "scale-factor"},
	{Name: "out", Elsewhere: "psafe merge has it"},
}

// readText reads a campaign file of that text.
func readText(t testing.TB, text string) (*Spec, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "campaign.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadSpec(path, testFlags)
}

// lines are the jobs of a campaign, each as a line of words.
func lines(t *testing.T, text string) []string {
	t.Helper()
	s, err := readText(t, text)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	var list []string
	for i := range s.Jobs() {
		list = append(list, strings.Join(s.Args(i), " "))
	}
	return list
}

// TestSpecJobs: a campaign is the product of its lists, and scalars are texts.
func TestSpecJobs(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"posteriors: [a.npz]", []string{"--posterior a.npz"}},
		{"posterior: a.npz\nmethod: lbp", []string{"--posterior a.npz --method lbp"}},
		{"eps: [0.10, 2/255, 1e-3]\nposteriors: a.npz\ninputs: x.csv", []string{"--posterior a.npz --inputs x.csv --eps 0.10,2/255,1e-3"}},
		// What YAML takes for other things than texts.
		{"posteriors: [1:30, 0x10, on, 2001-01-01, 1_000]\nno_upper: true", []string{
			"--posterior 1:30 --no-upper=true", "--posterior 0x10 --no-upper=true", "--posterior on --no-upper=true",
			"--posterior 2001-01-01 --no-upper=true", "--posterior 1_000 --no-upper=true",
		}},
		{"posteriors: [a.npz]\ninputs: [{path: x.gz, index: 0:20, clip: [0, 1]}]", []string{"--posterior a.npz --inputs x.gz --index 0:20 --clip 0,1"}},
		{"posteriors:\n- a.npz\n- path: b.npz\n  scale_factor: 0.5\ninputs:\n- inputs: [x.png, y.png]\nno-upper: false", []string{
			"--posterior a.npz --inputs x.png,y.png --no-upper=false", "--posterior b.npz --scale-factor 0.5 --inputs x.png,y.png --no-upper=false",
		}},
		// The last list varies fastest, whatever the order in the file.
		{"properties: ['margin:0.5', p.json]\nmethods: [ibp, {method: lbp, gamma: 2}]\nposteriors: [a, b]", []string{
			"--posterior a --method ibp --property margin:0.5", "--posterior a --method ibp --property p.json",
			"--posterior a --method lbp --gamma 2 --property margin:0.5", "--posterior a --method lbp --gamma 2 --property p.json",
			"--posterior b --method ibp --property margin:0.5", "--posterior b --method ibp --property p.json",
			"--posterior b --method lbp --gamma 2 --property margin:0.5", "--posterior b --method lbp --gamma 2 --property p.json",
		}},
		// An entry's own value counts.
		{"posteriors: [a]\ninputs: [x, {path: y, eps: '1,2'}]\neps: 0.5", []string{"--posterior a --inputs x --eps 0.5", "--posterior a --inputs y --eps 1,2"}},
		{"posteriors: [a]\neps: ['[0.1,0]', '[0,0.1]']", []string{"--posterior a --eps [0.1,0],[0,0.1]"}},
		{"# a comment\n---\nposteriors: [a] # one\nlabel: ''\n...\n", []string{"--posterior a --label "}},
	} {
		if got := lines(t, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s\nis\n%s\nwant\n%s", c.text, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestSpecRefused: a mistake is one line with its place and what to do.
func TestSpecRefused(t *testing.T) {
	for _, c := range []struct{ text, line, says string }{
		{"", "", "says nothing"},
		{"# nothing\n", "", "says nothing"},
		{"---\n---\nposteriors: [a]", "line 2", "one"},
		{"posteriors: [a]\n---\nposteriors: [b]", "line 2", "second document"},
		{"inputs: [a]", "", "has no posteriors"},
		{"[a, b]", "line 1", "a list stands where keys"},
		{"posteriors:[a]", "line 1", "a single value stands where keys"},
		{"posteriors: [a", "", "is no YAML"},
		{"\tposteriors: [a]", "line 1", "a tab"},
		{"posteriors: [a]\neps:\n  \t- 1", "line 3", "a tab"},
		{"posteriors: [a]\nproperties:\n- margin: 0.5", "line 3", `quote it: "margin:0.5"`},
		{"posteriors: [a]\nproperties: [top_k: 2]", "line 2", `quote it: "top_k:2"`},
		{"posteriors: [a]\n  eps: 1", "", "is no YAML near line 1"},
		{"posteriors: a\nposteriors: b", "line 2", "given in line 1 already"},
		{"posteriors: a\ninput-scale: 1\ninput_scale: 1", "line 3", "given in line 2 already"},
		{"posteriors: a\nposterior: b", "line 2", "posteriors and posterior are both given"},
		{"posteriors: a\nmethdos: [lbp]", "line 2", `did you mean "methods"?`},
		{"posteriors: a\nesp: 1", "line 2", `did you mean "eps"?`},
		{"posteriors: a\n1: 1", "line 2", `no key "1"`},
		{"posteriors: a\ninputs:\n- path: x\n  claip: 1", "line 4", `did you mean "clip"?`},
		{"posteriors: [{paht: a}]", "line 1", `did you mean "path"?`},
		{"posteriors: a\nout: r.jsonl", "line 2", "psafe merge has it"},
		{"posteriors: a\ninputs: [{path: x, out: y}]", "line 2", "psafe merge has it"},
		{"posteriors: a\nmethods: []", "line 2", "methods is empty"},
		{"posteriors: []", "line 1", "posteriors is empty"},
		{"posteriors: [a, ~]", "line 1", "has no value"},
		{"posteriors: [a]\neps:", "line 2", "eps has no value"},
		{"posteriors: [a]\neps: []", "line 2", "list of eps is empty"},
		{"posteriors: [a]\neps: ['']", "line 2", "is empty"},
		{"posteriors: [a]\neps: [[1, 2]]", "line 2", "quote it if its brackets"},
		{"posteriors: [a]\neps: {a: 1}", "line 2", "eps is a mapping"},
		{"posteriors: [a]\ngamma: [1, 2]", "line 2", "gamma takes one value"},
		{"posteriors: [a]\nno-upper: yes", "line 2", "write true or false"},
		{"posteriors: [[a]]", "line 1", "is a list"},
		{"posteriors: [{index: 1}]", "line 1", "add path"},
		{"posteriors: a\nmethods: [{gamma: 1}]", "line 2", "add method"},
		{"posteriors: a\nmethods: [{path: lbp}]", "line 2", `no key "path"`},
		{"posteriors: [{path: a, posterior: b}]", "line 1", "the same: give one"},
		{"posteriors: [{path: a, method: lbp}]", "line 1", "write it in methods"},
		{"posteriors: [a, b, a]", "line 1", "list it once"},
		{"posteriors: [a]\ninputs: [{path: x, gamma: 1}]\nmethods:\n- ibp\n- {method: lbp, gamma: 2}", "line 5", "a job has both"},
		{"posteriors: &x [a]", "line 1", "&NAME"},
		{"posteriors: [&x a, *x]", "line 1", "&NAME"},
		{"posteriors: [a]\neps: !!float 1", "line 2", `the tag "!!float"`},
		{"posteriors: [!mine a]", "line 1", `the tag "!mine"`},
		{"? [a]\n: b", "line 1", "a key is a list"},
		{"posteriors: |\n  a\n  b\n", "line 1", "more than one line"},
		{`posteriors: ["a\0"]`, "line 1", "control character"},
		{"posteriors: [" + strings.Repeat("a,", mostSpecBytes) + "]", "", "the limit for such a file"},
		{"posteriors: [" + numbers(400) + "]\ninputs: [" + numbers(400) + "]", "", "more than 100000 jobs"},
		{strings.Repeat("[", 20_000), "", "is no YAML"},
		{strings.Repeat("- ", 20_000), "", "is no YAML"},
		{"posteriors: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "line 1", "is a list"},
		{"<<: {posteriors: [a]}", "line 1", `no key "<<"`},
		{"\xff\xfe", "", "says nothing"},
		{"posteriors: [\x80]", "", "is no YAML"},
	} {
		short := c.text[:min(len(c.text), 60)]
		s, err := readText(t, c.text)
		if err == nil {
			t.Errorf("%s\nis read: %+v", short, s)
			continue
		}
		text := err.Error()
		if !strings.Contains(text, "campaign.yaml: "+c.line) || !strings.Contains(text, c.says) || strings.Contains(text, "\n") || len(text) > 600 {
			t.Errorf("%s\nsays %q, want %s and %q", short, text, c.line, c.says)
		}
	}
	if _, err := ReadSpec(filepath.Join(t.TempDir(), "absent.yaml"), nil); err == nil || !strings.Contains(err.Error(), "absent.yaml: cannot open") {
		t.Errorf("absent file: %v", err)
	}
}

// numbers are the numbers below n, as a list.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("1", i+1) + ",")
	}
	return b.String()
}

// FuzzSpec: no text takes ReadSpec down, and every error is one line with the name of the file.
func FuzzSpec(f *testing.F) {
	for _, text := range []string{
		"posteriors: [a]", "posteriors: [{path: a, eps: [1, 2]}]\nmethods: lbp", "a: &a [*a]", "- - ? : |", "posteriors: !!binary YQ==", "%YAML 1.1\n---\n", "posteriors: >-\n a",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := readText(t, text)
		if err != nil {
			if line := err.Error(); !strings.Contains(line, "campaign.yaml: ") || strings.Contains(line, "\n") {
				t.Errorf("%q", line)
			}
			return
		}
		for i := range min(s.Jobs(), 100) {
			if words := s.Args(i); len(words) < 2 || words[0] != "--posterior" {
				t.Errorf("job %d: %q", i, words)
			}
		}
	})
}
