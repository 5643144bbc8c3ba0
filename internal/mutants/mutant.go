package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// mutant is one change of one line, and the tests that must notice it.
type mutant struct {
	table     string
	line      int
	file      string // below the module's root
	old, new  string
	pkg, test string
}

func (m *mutant) where() string { return fmt.Sprintf("%s:%d %s", m.table, m.line, m.file) }

// readTable reads a table. A mutant is four lines, and mutants are separated by
// blank lines; lines that begin with # are comments:
//
//	file FILE            relative to the module's root
//	old  TEXT            part of exactly one line of the file
//	new  TEXT            what stands there in the mutant; may be empty
//	test PACKAGE REGEX   arguments of go test: PACKAGE -run REGEX
func readTable(path string) ([]mutant, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []mutant
	for i, line := range append(strings.Split(string(raw), "\n"), "") {
		key, value, _ := strings.Cut(line, " ")
		value = strings.TrimSpace(value)
		if key == "file" {
			list = append(list, mutant{table: path, line: i + 1, file: value})
		}
		if key == "" || strings.HasPrefix(key, "#") || key == "file" {
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s:%d: %q before the first file", path, i+1, key)
		}
		m := &list[len(list)-1]
		switch key {
		case "old":
			m.old = value
		case "new":
			m.new = value
		case "test":
			m.pkg, m.test, _ = strings.Cut(value, " ")
		default:
			return nil, fmt.Errorf("%s:%d: %q is none of file, old, new, test", path, i+1, key)
		}
	}
	for _, m := range list {
		if m.old == "" || m.test == "" {
			return nil, fmt.Errorf("%s:%d: a mutant needs file, old, new and test", path, m.line)
		}
	}
	return list, nil
}

type verdict string

const (
	caught   verdict = "caught"
	survived verdict = "SURVIVED"
	broken   verdict = "BROKEN" // the table is out of date or the mutant does not compile
)

type result struct {
	verdict verdict
	took    time.Duration
	output  string
}

// apply writes the changed file and an overlay that puts it in place of the
// original, and runs the tests.
func (m *mutant) apply(ctx context.Context, dir string) result {
	overlay, err := m.write(dir)
	if err != nil {
		return result{verdict: broken, output: err.Error()}
	}
	return m.goTest(ctx, overlay)
}

func (m *mutant) write(dir string) (overlay string, err error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(source, []byte(m.old)); n != 1 {
		return "", fmt.Errorf("%s: %q occurs %d times in %s, want once", m.where(), m.old, n, m.file)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(changed, bytes.Replace(source, []byte(m.old), []byte(m.new), 1), 0o666); err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o666)
}

// goTest runs the mutant's tests. A mutant that does not compile is no mutant,
// and tests that do not exist catch nothing.
func (m *mutant) goTest(ctx context.Context, overlay string) result {
	args := []string{"test", "-count=1", "-vet=off", "-timeout=300s", "-run", m.test}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	out, err := exec.CommandContext(ctx, "go", append(args, m.pkg)...).CombinedOutput()
	r := result{verdict: survived, output: string(out)}
	switch {
	case ctx.Err() != nil, bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")),
		bytes.Contains(out, []byte("no tests to run")), bytes.Contains(out, []byte("[no test files]")):
		r.verdict = broken
	case err != nil:
		r.verdict = caught
	}
	return r
}
