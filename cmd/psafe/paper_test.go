package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"psafe/host/job/certify"
)

// tree reads all files under a folder.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(name)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, w := range want {
		if g, ok := got[name]; !ok || g != w {
			t.Errorf("%s: there: %v, %d bytes, want %d", name, ok, len(g), len(w))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is there as well", name)
		}
	}
}

var paperArgs = []string{"--quick", "--out", "o", "--omit-timing", "--device", "cpu"}

// TestPaperQuick runs all experiments from the program alone: every file that paper.md
// shows is there, and an interrupted run that is resumed ends with the same files.
func TestPaperQuick(t *testing.T) {
	deepOnly(t) // the other tests run an experiment each
	t.Chdir(t.TempDir())
	var stdout, stderr bytes.Buffer
	start := time.Now()
	if s := program(append([]string{"paper", "all"}, paperArgs...), &stdout, &stderr); s != exitDone {
		t.Fatalf("status %d: %s", s, &stderr)
	}
	t.Logf("%v: %s", time.Since(start), &stdout)
	whole := tree(t, "o")
	text := whole["paper.md"]
	for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
		if whole[m[1]] == "" || whole[strings.TrimSuffix(m[1], "svg")+"png"] == "" {
			t.Errorf("paper.md shows %s, which is not there", m[1])
		}
	}
	if n := strings.Count(text, "!["); n < 6 {
		t.Errorf("%d figures in paper.md", n)
	}
	for name, content := range whole {
		if strings.HasSuffix(name, ".partial") || content == "" {
			t.Errorf("%s: %d bytes are left", name, len(content))
		}
	}
	tables := 0
	for name, content := range whole {
		if strings.HasSuffix(name, ".csv") && strings.HasPrefix(name, "tables/") {
			tables++
			checkTable(t, name, content)
		}
	}
	if tables < 6 {
		t.Errorf("%d tables", tables)
	}
	t.Run("resumed", func(t *testing.T) { resumedPaper(t, whole) })
	t.Run("refused", refusedPaper)
}

// checkTable: columns have names of their own, and a p_lower is never above the
// statistical upper limit in its row.
func checkTable(t *testing.T, name, content string) {
	rows, err := csv.NewReader(strings.NewReader(content)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Errorf("%s: %d rows, %v", name, len(rows), err)
		return
	}
	at := map[string]int{}
	for i, column := range rows[0] {
		if _, twice := at[column]; twice || column == "" {
			t.Errorf("%s: two columns are called %q", name, column)
		}
		at[column] = i
	}
	for _, row := range rows[1:] {
		for column, i := range at {
			if !strings.Contains(column, "p_lower") || strings.Contains(column, "log10") || strings.Contains(column, "images") {
				continue
			}
			for _, limit := range []string{"statistical_upper", "mean_statistical_upper"} {
				k, there := at[limit]
				if !there || row[i] == "" || row[k] == "" {
					continue
				}
				lower, e1 := strconv.ParseFloat(row[i], 64)
				upper, e2 := strconv.ParseFloat(row[k], 64)
				if e1 != nil || e2 != nil || lower > upper {
					t.Errorf("%s: %s %s beside %s %s (%v, %v)", name, column, row[i], limit, row[k], e1, e2)
				}
			}
		}
	}
}

// resumedPaper takes away what a run that was interrupted would not have.
func resumedPaper(t *testing.T, whole map[string]string) {
	for _, name := range []string{"paper.md", "tables", "figures", "runs/mnist-glyphs-64-32-10-clbp-eps-0.01.jsonl", "runs/scale-clbp-10.jsonl"} {
		if err := os.RemoveAll(filepath.Join("o", name)); err != nil {
			t.Fatal(err)
		}
	}
	const cut = "runs/vcas-clbp.jsonl"
	lines := strings.SplitAfter(whole[cut], "\n")
	if err := os.WriteFile(filepath.Join("o", cut+certify.PartialSuffix), []byte(lines[0]+lines[1][:40]), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join("o", cut)); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if s := program(append([]string{"paper", "all", "--resume"}, paperArgs...), &bytes.Buffer{}, &stderr); s != exitDone {
		t.Fatalf("status %d: %s", s, &stderr)
	}
	sameTree(t, tree(t, "o"), whole)
}

// refusedPaper: results that are there are not written over by mistake.
func refusedPaper(t *testing.T) {
	var stderr bytes.Buffer
	if s := program(append([]string{"paper", "scale"}, paperArgs...), &bytes.Buffer{}, &stderr); s != exitUsage || !strings.Contains(stderr.String(), "--resume goes on") {
		t.Errorf("status %d: %s", s, &stderr)
	}
}

// cancelAt cancels when a text goes by.
type cancelAt struct {
	bytes.Buffer
	text   string
	cancel func()
}

func (c *cancelAt) Write(b []byte) (int, error) {
	if strings.Contains(string(b), c.text) {
		c.cancel()
	}
	return c.Buffer.Write(b)
}

// TestPaperInterrupted: what is finished stays, and nothing claims to be complete.
func TestPaperInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	w := &cancelAt{text: " 3/", cancel: cancel}
	err := execute(ctx, append([]string{"paper", "scale"}, paperArgs...), &bytes.Buffer{}, w)
	if status(err, io.Discard) != exitInterrupted || !strings.Contains(err.Error(), "command 4 of") || !strings.Contains(err.Error(), "--resume") {
		t.Fatalf("error %v", err)
	}
	runs, err := filepath.Glob(filepath.Join("o", "runs", "*"))
	if err != nil || len(runs) != 3 {
		t.Errorf("%q, %v: three commands were finished", runs, err)
	}
	if _, err := os.Stat(filepath.Join("o", "paper.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("paper.md is there: %v", err)
	}
}
