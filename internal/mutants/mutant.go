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
	dir, name string // the package below the module's root, and the declaration in it
	old, new  string
	pkg, test string
}

func (m *mutant) where() string { return fmt.Sprintf("%s:%d %s %s", m.table, m.line, m.dir, m.name) }

// readTable reads a table. A mutant is four lines, and mutants are separated by
// blank lines; lines that begin with # are comments:
//
//	in   DIR NAME        a package, relative to the module's root, and what it declares there:
//	                     a function, a method as Type.Name, a type, a constant or variable
//	old  TEXT            part of exactly one line of the declaration
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
		if key == "in" {
			dir, name, _ := strings.Cut(value, " ")
			list = append(list, mutant{table: path, line: i + 1, dir: dir, name: name})
		}
		if key == "" || strings.HasPrefix(key, "#") || key == "in" {
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s:%d: %q before the first in", path, i+1, key)
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
			return nil, fmt.Errorf("%s:%d: %q is none of in, old, new, test", path, i+1, key)
		}
	}
	for _, m := range list {
		if m.old == "" || m.test == "" {
			return nil, fmt.Errorf("%s:%d: a mutant needs in, old, new and test", path, m.line)
		}
	}
	return list, nil
}

type verdict string

const (
	caught     verdict = "caught"
	caughtDeep verdict = "deep" // caught, but not by the few cases of make test
	survived   verdict = "SURVIVED"
	broken     verdict = "BROKEN" // the mutant does not compile, or its tests do not exist
)

type result struct {
	verdict verdict
	took    time.Duration
	output  string
}

// apply builds the tests with the changed file in place of the original, and runs
// them.
func (m *mutant) apply(ctx context.Context, base *baseline, dir string) (r result) {
	start := time.Now()
	defer func() { r.took = time.Since(start) }()
	defer os.RemoveAll(dir)
	overlay, env, err := m.write(dir)
	if err != nil {
		return result{verdict: broken, output: err.Error()}
	}
	binary := filepath.Join(dir, "mutant.test")
	if err := buildTests(ctx, m.pkg, overlay, binary, env...); err != nil {
		return result{verdict: broken, output: err.Error()}
	}
	if r = runTests(ctx, binary, m, false, base.limit(ctx, m, false)); r.verdict != survived {
		return r
	}
	limit := base.limit(ctx, m, true)
	if limit == 0 {
		return result{verdict: broken, output: "its tests fail without the mutant when PSAFE_DEEP=1"}
	}
	if r = runTests(ctx, binary, m, true, limit); r.verdict == caught {
		r.verdict = caughtDeep
	}
	return r
}

// vectors begins the files of loops that only an experiment of Go builds, which make mutants does
// without.
const vectors = "//go:build goexperiment.simd"

// write writes the changed file and an overlay that puts it in place of the original, and says with
// what environment that is built.
func (m *mutant) write(dir string) (overlay string, env []string, err error) {
	all, err := readPlaces(m.dir)
	if err != nil {
		return "", nil, err
	}
	at, err := all.find(m.name, m.old)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", nil, err
	}
	changed := filepath.Join(dir, filepath.Base(at.file))
	if err := os.WriteFile(changed, []byte(at.source[:at.from]+m.new+at.source[at.to:]), 0o666); err != nil {
		return "", nil, err
	}
	original, err := filepath.Abs(at.file)
	if err != nil {
		return "", nil, err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", nil, err
	}
	if strings.HasPrefix(at.source, vectors) {
		env = []string{"GOEXPERIMENT=simd"}
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, env, os.WriteFile(overlay, text, 0o666)
}

// buildTests builds the test binary of a package. A mutant that does not compile is
// no mutant.
func buildTests(ctx context.Context, pkg, overlay, binary string, env ...string) error {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	c := exec.CommandContext(ctx, "go", append(args, pkg)...)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err == nil {
		_, err = os.Stat(binary) // there is none where there are no tests
	}
	if err != nil {
		return fmt.Errorf("go test -c %s: %v\n%s", pkg, err, out)
	}
	return nil
}

// runTests runs the tests that a mutant names, as go test would. Tests that do not
// exist catch nothing.
func runTests(ctx context.Context, binary string, m *mutant, deep bool, limit time.Duration) result {
	c := exec.CommandContext(ctx, binary, "-test.run", m.test, "-test.failfast", "-test.timeout", limit.String())
	c.Dir, c.Env = m.pkg, append(os.Environ(), "PSAFE_DEEP=0")
	if deep {
		c.Env = append(c.Env, "PSAFE_DEEP=1")
	}
	out, err := c.CombinedOutput()
	r := result{verdict: survived, output: string(out)}
	switch {
	case ctx.Err() != nil, bytes.Contains(out, []byte("no tests to run")):
		r.verdict = broken
	case err != nil:
		r.verdict = caught
	}
	return r
}
