package main

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
)

// writes has what each command that writes files is given before the name of one. Its inputs are
// absent, which shows that none is read before. The commands without read a campaign's folder
// first: testdata/script/campaign.txtar, submit.txtar and plan.txtar have them.
var writes = map[string][]string{
	"certify":   {"--posterior", "absent.npz", "--eps", "0", "--inputs", "absent.csv", "--out"},
	"radius":    {"--posterior", "absent.npz", "--most", "1", "--inputs", "absent.csv", "--out"},
	"loop":      {"absent.yaml", "--posterior", "absent.npz", "--out"},
	"map":       {"--posterior", "absent.npz", "--box", "[0,1]", "--grid", "2", "--property", "argmax_is:1", "--out"},
	"predict":   {"--posterior", "absent.npz", "--inputs", "absent.csv", "--out"},
	"convert":   {"absent.npz", "--out"},
	"exporter":  {"--out"},
	"plot":      {"eps", "absent.jsonl", "--out"},
	"report":    {"absent.jsonl", "--out"},
	"conformal": {"absent.jsonl", "--calibration", "absent.jsonl", "--calibration-label", "absent.npy", "--out"},
	"paper":     {"regression", "--posterior", "absent.npz", "--out"},
	"train":     {"--data", "absent.csv", "--task", "regression", "--out"},
	"man":       {},
	"merge":     nil, "plan": nil, "submit": nil,
}

// written are the files that commands write to a folder which is named, and the kinds of files
// that others ask for.
var written = map[string]string{"paper": "r/paper.md", "man": "r/psafe-train.1", "train": "r.npz", "plot": "r.svg"}

// TestOverwrite: every command that writes refuses a file that exists, before it reads anything,
// in one line that says what to do, and the file stays as it is.
func TestOverwrite(t *testing.T) {
	for _, cmd := range commands() {
		name, f := cmd.Name(), cmd.Flags()
		args, writing := writes[name]
		if f.Lookup("out") != nil && !writing {
			t.Errorf("%s has --out, and no row in writes", name)
		}
		if writing && name != "plan" && f.Lookup("overwrite") == nil {
			t.Errorf("%s writes and has no --overwrite", name)
		}
		if args == nil {
			continue
		}
		dir := t.TempDir()
		file := filepath.Join(dir, cmp.Or(written[name], "r"))
		out := file
		if folder := filepath.Dir(file); folder != dir {
			out = folder
			if err := os.Mkdir(folder, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		writeTest(t, file, "precious")
		status, stdout, stderr := endOf(append(append([]string{name}, args...), out)...)
		if status != exitUsage || stdout != "" {
			t.Errorf("%s: status %d, %q, %q", name, status, stdout, stderr)
		}
		wantLine(t, name, stderr, out, "--overwrite replaces")
		if got := readTest(t, file); got != "precious" {
			t.Errorf("%s: the file became %q", name, got)
		}
	}
}
