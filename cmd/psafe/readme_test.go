package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/report"
)

// TestReadme runs the command that README shows and holds the table below it to
// what comes out: index, label, p_lower, log10, p_upper, interval, method and verdict.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
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
		if f := strings.Fields(line); len(f) == 9 && (f[7] == "safe" || f[7] == "unknown" || f[7] == "unsafe") {
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
			PUpper       float64 `json:"p_upper"`
			Statistical  struct{ Lower, Upper, Confidence float64 }
			Method       string
			Verdict      string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		row := rows[fmt.Sprint(r.Index)]
		interval := fmt.Sprintf("%s..%s@%v", report.FormatDown(r.Statistical.Lower, 4), report.FormatUp(r.Statistical.Upper, 4), r.Statistical.Confidence)
		want := []string{row[0], fmt.Sprint(r.Label), report.FormatDown(r.PLower, 4), row[3], report.FormatUp(r.PUpper, 4), interval, r.Method, r.Verdict, row[8]}
		if !slices.Equal(row, want) {
			t.Errorf("README has %q, psafe gives %q", row, want)
		}
	}
}
