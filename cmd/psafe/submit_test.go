package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestBuiltByGoRun: a program that is gone when the shards start is not given to them.
func TestBuiltByGoRun(t *testing.T) {
	for program, want := range map[string]bool{
		"/tmp/go-build1410809726/b001/exe/psafe": true, "/home/u/.cache/go-build/ab/abcdef-d/psafe": true,
		"/usr/local/bin/psafe": false, "/home/u/go/bin/psafe": false, "/tmp/go-build14/b001/psafe.test": false, "/data/my-go-build/psafe": false,
	} {
		if got := builtByGoRun(program); got != want {
			t.Errorf("%s: %v", program, got)
		}
	}
}

// strangeNames are names of files that are none for a terminal, or mean something to a shell.
var strangeNames = []string{
	"zero\u200cwidth", "\u202egpj.exe\u2066", "\ufefftag\U000e0041\u2028\u00ad", `it's "two words" $HOME $(x) ` + "`x`" + ` \n`, "{a,b}=c^~",
}

// printed returns what a command prints for a program.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := program(args, &stdout, &stderr); status != exitDone || hostile(stderr.String()) != "" {
		t.Fatalf("psafe %q: status %d, %q", args, status, stderr.String())
	}
	return stdout.String()
}

// TestNamesForPrograms: what psafe plan --list and psafe submit print gives programs that read
// it, a real sh for one, the bytes of every name.
func TestNamesForPrograms(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	tiny := readTest(t, testFile("tiny-2-3-2-tanh.npz"))
	for _, name := range strangeNames {
		at := t.TempDir()
		t.Chdir(at)
		net := name + ".npz"
		writeTest(t, net, tiny)
		writeTest(t, "points.csv", "0,1\n")
		writeTest(t, "c.yaml", "posteriors: ["+strconv.Quote(net)+"]\ninputs: [points.csv]\neps: [\"0.1\"]\nmethods: [clbp]\n")
		if got, want := inSh(t, printed(t, "plan", "c.yaml", "--list")), "<certify>\n<--posterior>\n<"+net+">\n<--inputs>\n<points.csv>\n<--method>\n<clbp>\n<--eps>\n<0.1>\n"; got != want {
			t.Errorf("%q: sh gave psafe %q, want %q", name, got, want)
		}
		printed(t, "plan", "c.yaml", "--out", name)
		if err := os.Rename(name, name+"\u0085"); err != nil { // that plan would refuse
			t.Fatal(err)
		}
		dir := filepath.Join(at, name+"\u0085")
		script := printed(t, "submit", "slurm", dir, "--shards", "1", "--gpus", "1", "--psafe", "psafe", "--", "--options", "profile")
		for end, want := range map[string]string{
			"END_OF_SHARDS": "<run>\n<" + dir + ">\n<--device>\n<gpu>\n<--options>\n<profile>\n",
			"END_OF_MERGE":  "<merge>\n<" + dir + ">\n<--out>\n<" + dir + "/results.jsonl>\n<--resume>\n",
		} {
			_, job, _ := strings.Cut(script, end+"'\n")
			job, _, _ = strings.Cut(job, end+"\n")
			if got := inSh(t, strings.Replace(job, "\nexec psafe", "\npsafe", 1)); got != want {
				t.Errorf("%q: %s: sh gave psafe %q, want %q", name, end, got, want)
			}
		}
		jobs := yaml.NewDecoder(strings.NewReader(printed(t, "submit", "kubernetes", dir, "--shards", "1", "--image", "i", "--claim", "c")))
		for _, command := range []string{"run", "merge"} {
			var job struct {
				Spec struct {
					Template struct {
						Spec struct{ Containers []struct{ Args []string } }
					}
				}
			}
			if err := jobs.Decode(&job); err != nil {
				t.Fatal(err)
			}
			// That $$ is $ in the end is for host/job/campaign to show.
			want := []string{command, "/campaign/" + strings.ReplaceAll(name, "$", "$$") + "\u0085"}
			if args := job.Spec.Template.Spec.Containers[0].Args; !slices.Equal(args[:2], want) {
				t.Errorf("%q: args %q, want %q", name, args[:2], want)
			}
		}
		if err := jobs.Decode(new(any)); !errors.Is(err, io.EOF) {
			t.Errorf("%q: more than two Jobs: %v", name, err)
		}
	}
}

// inSh runs a script in which psafe says what it got.
func inSh(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command("sh")
	cmd.Stdin = strings.NewReader("psafe() { for a; do printf '<%s>\\n' \"$a\"; done; }\n" + script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s in %s", err, out, script)
	}
	return string(out)
}

// TestNamesOnTerminal: a terminal gets nothing that it obeys, and a note that says so.
func TestNamesOnTerminal(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip(err)
	}
	for name, noted := range map[string]bool{"plain": false, "zero\u200cwidth\u202e": true} {
		cmd := exec.Command(script, "-qec", "psafe plan c.yaml --list", os.DevNull)
		cmd.Dir, cmd.Env = t.TempDir(), os.Environ()
		writeTest(t, filepath.Join(cmd.Dir, "c.yaml"), "posteriors: ["+strconv.Quote(name)+"]\ninputs: [points.csv]\neps: [\"0.1\"]\n")
		out, err := cmd.CombinedOutput()
		text := strings.ReplaceAll(string(out), "\r\n", "\n")
		if err != nil || hostile(text) != "" || strings.Contains(text, "psafe: note: names have") != noted || !strings.Contains(text, "--posterior") {
			t.Errorf("%q: %v, %q", name, err, text)
		}
	}
}

// TestPlanRefusesNames: what no script can have is said when it is planned, in one line.
func TestPlanRefusesNames(t *testing.T) {
	tiny := readTest(t, testFile("tiny-2-3-2-tanh.npz"))
	spec := "posteriors: [net.npz]\ninputs: [points.csv]\neps: [\"0.1\"]\nmethods: [clbp]\n"
	files := func(dir, spec string) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		writeTest(t, filepath.Join(dir, "net.npz"), tiny)
		writeTest(t, filepath.Join(dir, "points.csv"), "0,1\n")
		writeTest(t, filepath.Join(dir, "c.yaml"), spec)
	}
	for _, c := range []struct{ bad, want string }{
		{"a\nb", "U+000A"}, {"a\x1b[2Jb", "U+001B"}, {"a\x7fb", "U+007F"}, {"a\u0085b", "U+0085"}, {"\u009b31m", "U+009B"}, {"a\xff", "UTF-8"},
	} {
		at := t.TempDir()
		t.Chdir(at)
		files("here", spec)
		files(c.bad, spec)
		inside := strings.Replace(spec, "net.npz", strconv.Quote(c.bad+"/net.npz"), 1)
		files("names", inside)
		for _, r := range []struct {
			args []string
			want []string
		}{
			{[]string{"here/c.yaml", "--out", c.bad + "/c"}, []string{"--out", c.want, "name another folder"}},
			{[]string{c.bad + "/c.yaml", "--out", "out"}, []string{"c.yaml", c.want, "rename it"}},
			{[]string{"names/c.yaml", "--out", "out"}, []string{"names/c.yaml", "line 1"}},
			{[]string{"names/c.yaml", "--list"}, []string{"names/c.yaml", "line 1"}},
		} {
			if c.want == "UTF-8" && r.args[0] == "names/c.yaml" {
				continue // no text of YAML is such
			}
			t.Chdir(at)
			var stdout, stderr bytes.Buffer
			status := program(append([]string{"plan"}, r.args...), &stdout, &stderr)
			said := stderr.String()
			if status != exitUsage || stdout.Len() > 0 || strings.Count(said, "\n") != 1 || slices.ContainsFunc(r.want, func(w string) bool { return !strings.Contains(said, w) }) {
				t.Errorf("psafe plan %q: status %d, %q, want %q", r.args, status, said, r.want)
			}
			for _, left := range []string{"out", c.bad + "/c"} {
				if _, err := os.Lstat(filepath.Join(at, left)); err == nil {
					t.Errorf("psafe plan %q made %q", r.args, left)
				}
			}
		}
	}
}
