package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"psafe/internal/testscale"
)

// TestPlanRefused: what cannot be planned is one line that names the campaign file and the job,
// and leaves nothing behind.
func TestPlanRefused(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"posteriors: [a.safetensors, absent.npz]\ninputs: x.csv\neps: 1", "job 1 (posterior absent.npz of line 1, inputs x.csv of line 2): posterior absent.npz: cannot open"},
		{"posteriors: [a.safetensors]\ninputs: x.csv", "job 0 (posterior a.safetensors of line 1, inputs x.csv of line 2): eps is missing"},
		{"posteriors: [a.safetensors]\nmethods:\n- clbp\n- lpb\ninputs: x.csv\neps: 1", "job 1 (posterior a.safetensors of line 1, inputs x.csv of line 5, method lpb of line 4): method \"lpb\" is none of"},
		{"posteriors: [a.safetensors]\ninputs: x.csv\neps: 1\nproperties: [keeps_class, p.json]", "job 1 (posterior a.safetensors of line 1, inputs x.csv of line 2, property p.json of line 4): inputs and a property file"},
		{"posteriors: [a.safetensors]\ngamma: 2", "job 0 (posterior a.safetensors of line 1, gamma of line 2): gamma is no flag"},
		{"posteriors: [a.safetensors, ./a.safetensors]\ninputs: x.csv\neps: 1", "job 1 (posterior ./a.safetensors of line 1, inputs x.csv of line 2): index 0, eps 1, property argmax_is:"},
		{"posteriors: [a.safetensors]\ninputs: [{path: x.csv, index: '0:2'}, {path: x.csv, index: '1:3'}]\neps: 1", "is the same task as one of job 0, posterior a.safetensors of line 1, inputs x.csv of line 2: leave one of them out"},
	} {
		files := testFiles(t)
		files["p.json"] = []byte(boxes)
		files["campaign.yaml"] = []byte(c.text)
		dir := write(t, files)
		before := folderText(t, dir)
		_, _, err := planned(filepath.Join(dir, "deep", "c"))
		if err == nil || !strings.HasPrefix(err.Error(), "campaign.yaml: ") || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\nsays %v, want %s", c.text, err, c.says)
		}
		if after := folderText(t, dir); after != before {
			t.Errorf("%s\nleaves %s", c.text, after)
		}
	}
}

// TestPlanFolder: nothing that is in a folder is lost or mistaken for a campaign.
func TestPlanFolder(t *testing.T) {
	files := testFiles(t)
	files["killed/tasks.jsonl"], files["own/tasks.jsonl"] = []byte(`{"task":0,"id":"01"}`), []byte("{}\n")
	files["full/notes.txt"], files["killed/.psafe-0123.tmp"], files["lost/results/0.jsonl"] = nil, nil, nil
	files["bad/campaign.json"] = []byte("{}")
	dir := write(t, files)
	for name, says := range map[string]string{
		"full": `full: holds "notes.txt" and no campaign`, "own": `own: holds "tasks.jsonl" and no campaign`, "lost": "lost: holds results, and no campaign.json", "bad": "campaign.json: has format 0, this psafe reads 1",
		"x.csv": "x.csv", "x.csv/c": "x.csv/c",
	} {
		before := folderText(t, dir)
		if _, _, err := planned(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", name, err, says)
		}
		if after := folderText(t, dir); after != before {
			t.Errorf("%s: %s became %s", name, before, after)
		}
	}
	if _, isNew, err := planned(filepath.Join(dir, "killed")); err != nil || !isNew {
		t.Errorf("after a plan that was killed: %v", err)
	}
	if err := os.Mkdir("empty", 0o777); err != nil {
		t.Fatal(err)
	}
	if _, isNew, err := planned(filepath.Join(dir, "empty")); err != nil || !isNew {
		t.Errorf("an empty folder: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	spec, err := ReadSpec("campaign.yaml", testFlags)
	if err != nil {
		t.Fatal(err)
	}
	p := Planner{Parse: parseTest}
	if _, _, err := p.Plan(ctx, spec, filepath.Join(dir, "stopped")); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted plan: %v", err)
	}
	if _, err := os.Stat("stopped"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an interrupted plan leaves its folder: %v", err)
	}
}

// TestPlanLinks: a campaign finds its files also through symbolic links, and moved as a whole.
func TestPlanLinks(t *testing.T) {
	dir := write(t, testFiles(t))
	if err := os.MkdirAll(filepath.Join("elsewhere", "deep"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere", "deep"), "link"); err != nil {
		t.Skip(err)
	}
	f, _, err := planned(filepath.Join(dir, "link", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if f.BaseDir() != resolved(t, dir) {
		t.Errorf("base %s", f.BaseDir())
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Skip(err)
	}
	t.Chdir(moved)
	if f, err = Open(filepath.Join("elsewhere", "deep", "c")); err != nil || f.BaseDir() != resolved(t, moved) {
		t.Errorf("moved: %v", err)
	}
}

// TestPlanMillion: memory grows with the ids of the tasks and with nothing else of them.
func TestPlanMillion(t *testing.T) {
	testscale.DeepOnly(t)
	files := testFiles(t)
	delete(files, "labels.idx")
	var points bytes.Buffer
	for i := range 250_000 {
		fmt.Fprintf(&points, "0.%06d,0.5\n", i)
	}
	files["x.csv"] = points.Bytes()
	files["campaign.yaml"] = []byte("posteriors: [a.safetensors, b.safetensors]\ninputs: x.csv\neps: [0.1, 0.2]\nmethods: clbp\n")
	dir := write(t, files)
	spec, err := ReadSpec("campaign.yaml", testFlags)
	if err != nil {
		t.Fatal(err)
	}
	most := uint64(0)
	p := Planner{Parse: parseTest, Progress: func(done, total int) {
		if done%100_000 == 1 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
	}}
	start := time.Now()
	f, _, err := p.Plan(t.Context(), spec, filepath.Join(dir, "c"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tasks in %v, %d MiB", f.Manifest.Tasks, time.Since(start), most>>20)
	if f.Manifest.Tasks != 1_000_000 || most > 256<<20 {
		t.Errorf("%d tasks, %d bytes", f.Manifest.Tasks, most)
	}
	start = time.Now()
	for _, first := range []int{999_999, 500_000, 1} {
		r, err := f.TasksFrom(first)
		if err != nil {
			t.Fatal(err)
		}
		if task, err := r.Next(); err != nil || task.Task != first {
			t.Errorf("from %d: %+v, %v", first, task, err)
		}
		r.Close()
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("three tasks were found in %v", took)
	}
	if list, err := all(f, 0); err != nil || len(list) != 1_000_000 {
		t.Errorf("%d tasks, %v", len(list), err)
	}
}
