package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/report"
)

// TestReadme runs the command that README shows and holds the table below it to
// what comes out: index, label, p_lower, log10, gamma, boxes and verdict.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	var args []string
	rows := map[string][]string{}
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "go run ./cmd/psafe "); ok {
			args = strings.Fields(rest)
		}
		if f := strings.Fields(line); len(f) == 8 && (f[6] == "safe" || f[6] == "unknown") {
			rows[f[0]] = f
		}
	}
	if len(args) == 0 || len(rows) != 10 {
		t.Fatalf("README: command %q, %d rows of its table", args, len(rows))
	}
	t.Chdir(filepath.Join("..", ".."))
	out := filepath.Join(t.TempDir(), "results.jsonl")
	for i, a := range args {
		if a == "results.jsonl" {
			args[i] = out
		}
	}
	psafe(t, exitDone, append(args, "--device", "cpu")...)
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		var r struct {
			Index, Label int
			PLower       float64 `json:"p_lower"`
			Log10        float64 `json:"log10_p_lower"`
			Verdict      string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		row := rows[fmt.Sprint(r.Index)]
		var log10 float64
		if _, err := fmt.Sscan(row[3], &log10); err != nil {
			t.Fatal(err)
		}
		if row[1] != fmt.Sprint(r.Label) || row[2] != report.FormatDown(r.PLower, 4) || row[6] != r.Verdict || log10 > r.Log10 || r.Log10-log10 > 1e-4 {
			t.Errorf("README has %q, psafe gives %s", row, line)
		}
	}
}
