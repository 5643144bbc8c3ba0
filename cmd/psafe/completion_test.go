package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shellOf is the path of a shell, or ends the test.
func shellOf(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s: %v", name, err)
	}
	return path
}

// files stands for the names of files, which the shell itself offers.
const files = "FILES"

// typed are lines as far as they are typed, and what a shell must and must not offer.
var typed = []struct{ line, want, not string }{
	{"cer", "certify", "check"},
	{"certify --me", "--method", "--eps"},
	{"certify --method n", "neuronsum", files},
	{"certify --method=n", "neuronsum", files},
	{"certify --precision ", "float32 float64", files},
	{"certify --property top", "top_k: " + files, "--eps"},
	{"certify --posterior my", files, "neuronsum"},
	{"certify --eps ", "", files},
	{"certify --quiet ", "", files},
	{"certify --options de", "depth= derived", files},
	{"inspect my", files, "--scale"},
	{"crosscheck --method ", "clbp", "neuronsum"},
	{"plot he", "heatmap " + files, "lower"},
	{"paper re", "regression", files},
	{"completion ", "bash zsh fish", files},
	{"help ch", "check", files},
	{"train --task ", "regression classification", files},
	{"version --j", "--json", "--help"},
}

// offered returns what psafe tells a shell that asks for what may follow a line: words that begin
// with the last one, with files where the shell is to offer them.
func offered(t *testing.T, line string) (words []string) {
	t.Helper()
	asked := strings.Split(line, " ")
	out := psafe(t, exitDone, append([]string{"__complete"}, asked...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	end := lines[len(lines)-1]
	last := asked[len(asked)-1]
	if flag, value, both := strings.Cut(last, "="); both && strings.HasPrefix(flag, "--") {
		last = value
	}
	for _, line := range lines[:len(lines)-1] {
		if word, _, _ := strings.Cut(line, "\t"); strings.HasPrefix(word, last) {
			words = append(words, word)
		}
	}
	var directive int
	if _, err := fmt.Sscanf(end, ":%d", &directive); err != nil {
		t.Fatalf("%s: %q: %v", line, out, err)
	}
	if directive&4 == 0 { // cobra.ShellCompDirectiveNoFileComp
		words = append(words, files)
	}
	return words
}

// TestCompletes: what psafe tells shells is what is there, and names of files only where a file
// may stand.
func TestCompletes(t *testing.T) {
	for _, c := range typed {
		got := offered(t, c.line)
		for w := range strings.FieldsSeq(c.want) {
			if !slices.Contains(got, w) {
				t.Errorf("%s: offers %q, want %s", c.line, got, c.want)
			}
		}
		if slices.Contains(got, c.not) {
			t.Errorf("%s: offers %q, which has %s", c.line, got, c.not)
		}
	}
}

// TestCompletionScripts: there is a script for each shell, which the shell can read.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range shells {
		t.Run(shell, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "completion")
			writeTest(t, script, psafe(t, exitDone, "completion", shell))
			if !strings.Contains(readTest(t, script), "__complete") {
				t.Errorf("the script does not ask psafe")
			}
			if out, err := exec.Command(shellOf(t, shell), "-n", script).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestBashCompletes: bash with the script offers what psafe tells it. One short function stands
// for the package bash-completion.
func TestBashCompletes(t *testing.T) {
	bash := shellOf(t, "bash")
	script := filepath.Join(t.TempDir(), "completion")
	writeTest(t, script, psafe(t, exitDone, "completion", "bash"))
	for line, want := range map[string]string{
		"psafe certify --method n": "neuronsum\n", "psafe certify --posterior my": "\n", "psafe cer": "certify\n",
	} {
		words := strings.Split(line, " ")
		out, err := exec.Command(bash, "-c", fmt.Sprintf(`_get_comp_words_by_ref() { words=(%s); cword=%d; cur=%q; prev=%q; }
. %q
complete -p psafe >/dev/null || exit 9
COMP_TYPE=9
__start_psafe 2>/dev/null
echo "${COMPREPLY[@]}"`, line, len(words)-1, words[len(words)-1], words[len(words)-2], script)).CombinedOutput()
		if err != nil || strings.ReplaceAll(string(out), " \n", "\n") != want {
			t.Errorf("%s: %q, %v, want %q", line, out, err, want)
		}
	}
}

// TestCompletionIsOfAll: a shell is told every flag of every command.
func TestCompletionIsOfAll(t *testing.T) {
	for _, c := range commands() {
		got := offered(t, c.Name()+" --")
		for _, name := range flagNames(c.Flags()) {
			if !slices.Contains(got, "--"+name) {
				t.Errorf("%s: no --%s in %q", c.Name(), name, got)
			}
		}
	}
}

// TestManPages: every page has its parts, nothing in them is an unknown request, and mandoc,
// if it is there, has nothing to say but of dates.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	psafe(t, exitDone, "man", dir)
	paths, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(paths) != len(commands())+1 {
		t.Fatalf("%d pages, %v", len(paths), err)
	}
	request := regexp.MustCompile(`^\.(nh|TH|SH|SS|TP|PP|EX|EE)( |$)`)
	for _, path := range paths {
		text := readTest(t, path)
		for _, part := range []string{`.TH "PSAFE`, ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH EXIT STATUS\n", ".SH SEE ALSO\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q", path, part)
			}
		}
		for line := range strings.Lines(text) {
			if line[0] == '\'' || line[0] == '.' && !request.MatchString(strings.TrimSpace(line)) {
				t.Errorf("%s: %q", path, line)
			}
		}
	}
	if text := readTest(t, filepath.Join(dir, "psafe-certify.1")); psafe(t, exitDone, "man", "certify") != text || !strings.Contains(text, `\fB--fail-unless VALUE\fP`+"\nexit with status 10 unless") {
		t.Error("psafe man certify is not the page in the folder, or has no flags")
	}
	if psafe(t, exitDone, "man") != readTest(t, filepath.Join(dir, "psafe.1")) {
		t.Error("psafe man is not psafe.1")
	}
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("no mandoc: pages are not looked over")
	}
	out, _ := exec.Command(mandoc, append([]string{"-Tlint"}, paths...)...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "missing date") {
			t.Error(line)
		}
	}
}
