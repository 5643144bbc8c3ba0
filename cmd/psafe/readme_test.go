package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"psafe/host/read/npy"
	"psafe/host/record"
)

// TestReadme runs the two certify commands that README shows, the second on the
// network that its Python code saves with the file that psafe exporter writes, and
// holds the tables below them to what the program prints, apart from the seconds.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := readmeCommands(string(text))
	if len(commands) != 4 || len(commands[0].table) != 12 || commands[1].args[0] != "exporter" || len(commands[2].table) != 5 || len(commands[3].table) != 0 {
		t.Fatalf("README shows these commands: %q", commands)
	}
	data, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(data, "testdata"); err != nil {
		t.Skip(err) // Windows, without the right to make links
	}
	for _, c := range commands {
		if c.args[0] == "exporter" {
			psafe(t, exitDone, c.args...)
			writeReadmeNetwork(t, string(text))
			continue
		}
		psafe(t, exitDone, append(c.args, "--device", "cpu")...)
		got := strings.Split(strings.TrimSpace(tableOf(t, c.args[slices.Index(c.args, "--out")+1])), "\n")
		for j, line := range c.table {
			if j >= len(got) || withoutSeconds(line) != withoutSeconds(got[j]) {
				t.Errorf("README has\n%s\npsafe prints\n%s", strings.Join(c.table, "\n"), strings.Join(got, "\n"))
				break
			}
		}
	}
}

// TestVerdictExample runs the command of docs/recipes.md that stops when verdicts are known, and holds
// the records below it, as far as the page has them, to what the program writes.
func TestVerdictExample(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "recipes.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "$ psafe certify --posterior advisory-4-32-9.npz")
	command, after, _ := strings.Cut(after, "\n")
	wanted, _, _ := strings.Cut(after, "    ...")
	t.Chdir(filepath.Join("..", "..", "testdata"))
	args := append([]string{"certify", "--posterior", "advisory-4-32-9.npz"}, strings.Fields(command)...)
	got := strings.Split(psafe(t, exitDone, append(args, "--device", "cpu")...), "\n")
	lines := strings.Split(strings.TrimSpace(wanted), "\n")
	if len(lines) != 2 {
		t.Fatalf("docs/recipes.md shows these records: %q", lines)
	}
	for i, line := range lines {
		for _, part := range strings.Split(strings.TrimSpace(line), "...") {
			if !strings.Contains(got[i], part) {
				t.Errorf("docs/recipes.md has %s\npsafe writes %s", part, got[i])
			}
		}
	}
}

// readmeCommand is a certify command of README, and the lines of the table that
// comes next in the page, from its header to its summary.
type readmeCommand struct {
	args, table []string
}

func readmeCommands(text string) (commands []readmeCommand) {
	open := false
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "go run ./cmd/psafe "); ok {
			commands = append(commands, readmeCommand{args: strings.Fields(rest)})
		}
		open = open || strings.HasPrefix(line, "index ")
		if open && len(commands) > 0 {
			c := &commands[len(commands)-1]
			c.table = append(c.table, line)
		}
		open = open && !strings.Contains(line, "safe with probability")
	}
	return commands
}

// withoutSeconds are the cells of a line of a table, without those of its last
// column where that is the time.
func withoutSeconds(line string) string {
	cells := strings.Fields(line)
	if !strings.Contains(line, "safe with probability") {
		cells = cells[:max(0, len(cells)-1)]
	}
	return strings.Join(cells, " ")
}

// tableOf returns what certify prints about the records of a result file.
func tableOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var records []*record.Record
	for dec := json.NewDecoder(bytes.NewReader(content)); dec.More(); {
		r := new(record.Record)
		if err := dec.Decode(r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	var table strings.Builder
	if err := record.Table(&table, records, 0); err != nil {
		t.Fatal(err)
	}
	return table.String()
}

// writeReadmeNetwork writes points.csv, and net.npz by the Python code of README, or by
// the same in Go where no Python with torch is (PSAFE_PYTHON may name one).
func writeReadmeNetwork(t *testing.T, text string) {
	t.Helper()
	code := regexp.MustCompile("(?s)```python\n(.*?)```").FindStringSubmatch(text)
	if code == nil || strings.Count(code[1], "\n") != 10 {
		t.Fatalf("README has no Python code of ten lines: %q", code)
	}
	if err := os.WriteFile("points.csv", []byte("0.8,0.2\n0.2,0.6\n0.5,0.4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, python := range []string{os.Getenv("PSAFE_PYTHON"), "/usr/bin/python3", "python3"} {
		if python == "" {
			continue
		}
		run := exec.Command(python, "-c", code[1])
		run.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		out, err := run.CombinedOutput()
		if err == nil {
			return
		}
		if exec.Command(python, "-c", "import torch").Run() == nil { // it is not that torch is lacking
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Log("no torch: the network of README is written by Go")
	header := `{"format": "psafe-posterior", "version": 1, "scale": "sd", "layout": "in,out", "layers": [
		{"kind": "dense", "activation": "relu", "in": 2, "out": 2},
		{"kind": "dense", "activation": "identity", "in": 2, "out": 2}]}`
	meta := &npy.Array{Shape: []int{len(header)}, DType: "|u1"}
	for _, b := range []byte(header) {
		meta.Data = append(meta.Data, float64(b))
	}
	arrays := []npy.Named{{Name: "__meta__", Array: meta}}
	add := func(name string, shape []int, sd float64, mean ...float64) {
		arrays = append(arrays,
			npy.Named{Name: name + ".mean", Array: &npy.Array{Shape: shape, DType: "<f8", Data: mean}},
			npy.Named{Name: name + ".scale", Array: &npy.Array{Shape: shape, DType: "<f8", Data: slices.Repeat([]float64{float64(float32(sd))}, len(mean))}})
	}
	add("layers.0.weight", []int{2, 2}, 0.1, 1, -1, -1, 1)
	add("layers.0.bias", []int{2}, 0, 0, 0)
	add("layers.1.weight", []int{2, 2}, 0.1, 1, 0, 0, 1)
	add("layers.1.bias", []int{2}, 0, 0, 0)
	var file bytes.Buffer
	if err := npy.WriteZip(&file, arrays); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("net.npz", file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
