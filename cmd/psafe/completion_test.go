package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// scriptOf writes the completion of a shell to a folder with a posterior in it.
func scriptOf(t *testing.T, shell string) (dir, script string) {
	t.Helper()
	dir = t.TempDir()
	writeTest(t, filepath.Join(dir, "my net.npz"), "")
	script = filepath.Join(dir, "completion")
	writeTest(t, script, psafe(t, exitDone, "completion", shell))
	return dir, script
}

// shellOf is the path of a shell, or ends the test.
func shellOf(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s: %v", name, err)
	}
	return path
}

// typed are lines as far as they are typed, and what a shell must and must not offer.
var typed = []struct{ line, want, not string }{
	{"psafe cer", "certify", "check"},
	{"psafe certify --me", "--method --memory", "--eps"},
	{"psafe certify --method n", "neuronsum", "auto"},
	{"psafe certify --precision ", "float32 float64", "my net.npz"},
	{"psafe certify --property top", "top_k:", "margin:"},
	{"psafe certify --posterior my", "my net.npz", "neuronsum"},
	{"psafe inspect my", "my net.npz", "--scale"},
	{"psafe crosscheck --method ", "clbp", "neuronsum"},
	{"psafe plot he", "heatmap", "eps"},
	{"psafe paper re", "regression", "vcas"},
	{"psafe completion ", "bash zsh fish", "my net.npz"},
	{"psafe help ch", "check", "certify"},
	{"psafe train --task ", "regression classification", "npz"},
	{"psafe version --j", "--json", "--help"},
}

// offers holds what a shell offers to what is wanted.
func offers(t *testing.T, line, want, not, got string) {
	t.Helper()
	for _, w := range strings.Fields(strings.ReplaceAll(want, "my net", "my_net")) {
		if !strings.Contains(got, strings.ReplaceAll(w, "my_net", "my net")) {
			t.Errorf("%s: offers %q, want %s", line, got, want)
		}
	}
	if strings.Contains(got, not) {
		t.Errorf("%s: offers %q, which has %s", line, got, not)
	}
}

// TestBashCompletes: bash itself, with the words that it would set, offers what is there.
func TestBashCompletes(t *testing.T) {
	bash := shellOf(t, "bash")
	dir, script := scriptOf(t, "bash")
	for _, c := range typed {
		words := ""
		for w := range strings.SplitSeq(c.line, " ") {
			words += fmt.Sprintf(" %q", w)
		}
		cmd := exec.Command(bash, "-c", fmt.Sprintf(`. %q; complete -p psafe >/dev/null || exit 9; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _psafe; printf '%%s\n' "${COMPREPLY[@]}"`, script, words))
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", c.line, err, out)
		}
		offers(t, c.line, c.want, c.not, string(out))
	}
	// bash splits --flag=value in three.
	cmd := exec.Command(bash, "-c", fmt.Sprintf(`. %q; COMP_WORDS=(psafe certify --precision = float6); COMP_CWORD=4; _psafe; echo "${COMPREPLY[@]}"
		COMP_WORDS=(psafe certify --precision =); COMP_CWORD=3; _psafe; echo "${COMPREPLY[@]}"`, script))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "float64\nfloat32 float64\n" {
		t.Errorf("--precision=: %q, %v", out, err)
	}
}

func TestFishCompletes(t *testing.T) {
	fish := shellOf(t, "fish")
	dir, script := scriptOf(t, "fish")
	for _, c := range typed {
		cmd := exec.Command(fish, "--no-config", "-c", fmt.Sprintf(`source '%s'; complete -C '%s'`, script, c.line))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", c.line, err, out)
		}
		// A tab is between a word and what it is about; fish escapes spaces.
		var offered []string
		for line := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			offered = append(offered, strings.ReplaceAll(word, `\ `, " "))
		}
		offers(t, c.line, c.want, c.not, strings.Join(offered, "\n"))
	}
}

// TestZshCompletes types at a zsh in a terminal of its own.
func TestZshCompletes(t *testing.T) {
	zsh := shellOf(t, "zsh")
	_, script := scriptOf(t, "zsh")
	if out, err := exec.Command(zsh, "-f", "-n", script).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	if testing.Short() {
		t.Skip("waits for a terminal: not with -short")
	}
	program := `zmodload zsh/zpty || exit 7
zpty -b t zsh -f -i
zpty -w t "PS1=; autoload -Uz compinit; compinit -u -D; . ` + script + `"
zpty -w t "print REA''DY"
zpty -r -m t x '*READY*'
zpty -w -n t 'psafe certify --method n'$'\t'
sleep 3
zpty -w -n t $'\x15''psafe certify --property=marg'$'\t'
sleep 3
while zpty -r -t t x; do print -r -- "$x"; done
zpty -d t`
	out, err := exec.Command(zsh, "-f", "-c", program).CombinedOutput()
	if err != nil && strings.Contains(string(out), "zpty") {
		t.Skipf("no terminal: %s", out)
	}
	for _, want := range []string{"psafe certify --method neuronsum", "psafe certify --property=margin:"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
}

// TestCompletionIsOfAll: every script has every flag.
func TestCompletionIsOfAll(t *testing.T) {
	for _, shell := range shells {
		script := psafe(t, exitDone, "completion", shell)
		for _, c := range commands() {
			for _, name := range flagNames(aboutOf(c).flags) {
				if !strings.Contains(script, name) {
					t.Errorf("%s: %s has no %s", shell, c.name, name)
				}
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
	if err != nil || len(paths) != len(commands())+2 {
		t.Fatalf("%d pages, %v", len(paths), err)
	}
	request := regexp.MustCompile(`^\.(TH|SH|TP|PP|B|BI|BR|I|nf|fi|RS 2|RE)( |$)`)
	for _, path := range paths {
		text := readTest(t, path)
		for _, part := range []string{".TH PSAFE", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH EXIT STATUS\n", `\- `} {
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
	if text := readTest(t, filepath.Join(dir, "psafe-certify.1")); psafe(t, exitDone, "man", "certify") != text || !strings.Contains(text, `.BI \-\-fail\-under`) {
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
