package campaign

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// synthetic is a folder of a campaign with n tasks in jobs of at most 100, whose lines differ in
// length.
func synthetic(t testing.TB, n int) *Folder {
	t.Helper()
	dir := t.TempDir()
	var lines bytes.Buffer
	digest := sha256.New()
	m := Manifest{Format: Format, Numerics: 1, Version: "test", Base: ".", Tasks: n}
	for k := range n {
		if k%100 == 0 {
			m.Jobs = append(m.Jobs, Call{First: k, Tasks: min(100, n-k)})
		}
		sum := sha256.Sum256([]byte(fmt.Sprint(k)))
		id := hex.EncodeToString(sum[:16])
		digest.Write([]byte(id + "\n"))
		fmt.Fprintf(&lines, `{"task":%d,"id":"%s","job":%d,"index":%d,"property":"%s"}`+"\n", k, id, k/100, k%7, strings.Repeat("x", int(sum[0])*int(sum[1])/64))
	}
	m.Campaign = campaignID(digest)
	sum := sha256.Sum256(lines.Bytes())
	m.TasksSHA256 = hex.EncodeToString(sum[:])
	if err := os.WriteFile(filepath.Join(dir, TasksName), lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.write(filepath.Join(dir, ManifestName)); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTasksFrom: reading begins at any task, and finds its line.
func TestTasksFrom(t *testing.T) {
	f := synthetic(t, 5000)
	for first := 0; first <= 5000; first += 1 + first%37 {
		r, err := f.TasksFrom(first)
		if err != nil {
			t.Fatal(err)
		}
		if first < 5000 {
			if task, err := r.Next(); err != nil || task.Task != first || f.JobOf(first) != first/100 {
				t.Errorf("from %d: %+v, %v", first, task, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if list, err := all(f, 4321); err != nil || len(list) != 679 {
		t.Errorf("%d tasks from 4321 on, %v", len(list), err)
	}
}

// TestTasksChanged: a file of tasks that is not the one planned is an error, and every byte
// counts where all is read.
func TestTasksChanged(t *testing.T) {
	f := synthetic(t, 300)
	path := filepath.Join(f.Dir, TasksName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	without := func(from, to int) []byte {
		return append(bytes.Join(lines[:from], nil), bytes.Join(lines[to:], nil)...)
	}
	for name, changed := range map[string][]byte{
		"empty": nil, "no line 100": without(100, 101), "no last line": without(299, 300), "torn": text[:len(text)-1], "one line more": append(bytes.Clone(text), lines[0]...),
		"lines swapped": append(append(append(without(100, 301), lines[101]...), lines[100]...), bytes.Join(lines[102:], nil)...),
		"a long line":   append(bytes.Clone(text[:1000]), bytes.Repeat([]byte("x"), 3*mostLine)...), "zeros": make([]byte, len(text)),
	} {
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, first := range []int{0, 100, 150, 299, 300} {
			_, err := all(f, first)
			if err == nil && (first == 0 || name == "one line more" && first < 300) {
				t.Errorf("%s: no error from task %d on", name, first)
			}
			if err != nil && (!strings.Contains(err.Error(), TasksName+": is not the file that was planned: ") || strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for at := 0; at < len(text); at += 1009 {
		changed := bytes.Clone(text)
		changed[at] ^= 1
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := all(f, 0); err == nil {
			t.Errorf("byte %d: no error", at)
		}
	}
}

// TestManifestRefused: a manifest that contradicts itself is an error that names its file.
func TestManifestRefused(t *testing.T) {
	f := synthetic(t, 300)
	path := filepath.Join(f.Dir, ManifestName)
	for name, change := range map[string]func(m *Manifest){
		"format": func(m *Manifest) { m.Format++ }, "no tasks": func(m *Manifest) { m.Tasks, m.Jobs = 0, nil }, "count": func(m *Manifest) { m.Tasks++ },
		"hole": func(m *Manifest) { m.Jobs[1].First++ }, "negative": func(m *Manifest) { m.Jobs[1].Tasks = -100 }, "large": func(m *Manifest) { m.Jobs[2].Tasks = 1 << 62 },
		"campaign": func(m *Manifest) { m.Campaign = "../../x" }, "digest": func(m *Manifest) { m.TasksSHA256 = "" }, "capitals": func(m *Manifest) { m.Campaign = "ABCDEF0123456789" },
	} {
		m := f.Manifest
		m.Jobs = append([]Call(nil), f.Jobs...)
		change(&m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(f.Dir); err == nil || !strings.Contains(err.Error(), ManifestName+": has ") && !strings.Contains(err.Error(), ManifestName+": job ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "{", "[]", "null", strings.Repeat("[", 100), `{"format": 1, "jobs": 3}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(f.Dir); err == nil || !strings.Contains(err.Error(), ManifestName+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder, and no campaign") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); err == nil || !strings.Contains(err.Error(), "there is no such folder") {
		t.Errorf("no folder: %v", err)
	}
}
