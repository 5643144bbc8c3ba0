package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// terms are the licences under which a module may be linked into a program that is given
// away as a file, each with words that its text must have.
var terms = map[string]string{
	"Apache-2.0":   "Apache License",
	"BSD-2-Clause": "Redistribution and use in source and binary forms",
	"BSD-3-Clause": "Redistribution and use in source and binary forms",
	"CC-BY-4.0":    "Creative Commons Attribution 4.0 International",
	"FTL":          "The FreeType Project LICENSE",
	"MIT":          "Permission is hereby granted, free of charge",
	"OFL-1.1":      "SIL OPEN FONT LICENSE Version 1.1",
}

// module is a module that somebody has read the licence of.
type module struct {
	path, licence string // licence in SPDX's short form; more than one joined by " AND "
	files         string // patterns of further files with terms, beside those of isTerms
}

// modules that psafe may link. A new one fails TestLicences until it stands here.
var modules = []module{
	{path: "codeberg.org/go-fonts/liberation", licence: "BSD-3-Clause AND OFL-1.1"},
	{path: "codeberg.org/go-latex/latex", licence: "BSD-3-Clause"},
	{path: "codeberg.org/go-pdf/fpdf", licence: "MIT"},
	{path: "git.sr.ht/~sbinet/gg", licence: "MIT"},
	{path: "github.com/ajstarks/svgo", licence: "CC-BY-4.0"}, // of gonum.org/v1/plot; the heading names its author, as that licence asks
	{path: "github.com/andybalholm/brotli", licence: "MIT"},
	{path: "github.com/cpuguy83/go-md2man/v2", licence: "MIT"}, // of cobra/doc
	{path: "github.com/ebitengine/purego", licence: "Apache-2.0"},
	{path: "github.com/golang/freetype", licence: "FTL", files: "licenses/ftl.txt"}, // of its two licences the one we take
	{path: "github.com/google/uuid", licence: "BSD-3-Clause"},
	{path: "github.com/inconshreveable/mousetrap", licence: "Apache-2.0"},                                               // of cobra, on Windows
	{path: "github.com/klauspost/compress", licence: "BSD-3-Clause AND MIT", files: "zstd/internal/xxhash/LICENSE.txt"}, // Apache-2.0 is of gzhttp, which is not linked
	{path: "github.com/parquet-go/bitpack", licence: "Apache-2.0"},
	{path: "github.com/parquet-go/jsonlite", licence: "MIT"},
	{path: "github.com/parquet-go/parquet-go", licence: "Apache-2.0 AND MIT", files: "*/*/LICENSE"}, // bloom/xxhash, encoding/thrift
	{path: "github.com/pierrec/lz4/v4", licence: "BSD-3-Clause"},
	{path: "github.com/russross/blackfriday/v2", licence: "BSD-2-Clause"}, // of go-md2man
	{path: "github.com/spf13/cobra", licence: "Apache-2.0"},
	{path: "github.com/spf13/pflag", licence: "BSD-3-Clause"},
	{path: "github.com/twpayne/go-geom", licence: "BSD-2-Clause"},
	{path: "go.yaml.in/yaml/v3", licence: "Apache-2.0 AND MIT"},
	{path: "golang.org/x/image", licence: "BSD-3-Clause", files: "font/gofont/ttfs/README"},
	{path: "golang.org/x/sys", licence: "BSD-3-Clause"},
	{path: "golang.org/x/term", licence: "BSD-3-Clause"},
	{path: "golang.org/x/text", licence: "BSD-3-Clause"},
	{path: "gonum.org/v1/gonum", licence: "BSD-3-Clause", files: "THIRD_PARTY_LICENSES/*"},
	{path: "gonum.org/v1/plot", licence: "BSD-3-Clause"},
	{path: "google.golang.org/protobuf", licence: "BSD-3-Clause"},
}

const heading = `The program psafe contains Go's standard library and the modules below, each under
its own terms. Portions of this software are copyright The FreeType Project
(www.freetype.org). All rights reserved. SVG figures are written by svgo, by Anthony Starks
(https://github.com/ajstarks/svgo), unchanged, under the licence CC BY 4.0
(https://creativecommons.org/licenses/by/4.0/).
`

// thirdParty is the file with the licences of everything that psafe for p links. It
// fails for a module that is in no row of modules or whose text is not what the row says.
func thirdParty(p platform) ([]byte, error) {
	goroot, err := p.goTool("env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	list, err := p.goTool("list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/psafe").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	slices.Sort(lines)
	out := bytes.NewBufferString(heading)
	std := module{path: "Go's standard library", licence: "BSD-3-Clause"}
	if err := std.write(out, "", strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	for _, line := range slices.Compact(lines) {
		f := strings.Split(line, "\t")
		if len(f) != 3 || f[2] == "" {
			return nil, fmt.Errorf("go list says %q: run go mod download", line)
		}
		row := slices.IndexFunc(modules, func(m module) bool { return m.path == f[0] })
		if row < 0 {
			return nil, fmt.Errorf("module %s is in no row of internal/release/licences.go: read its licence and add it", f[0])
		}
		if err := modules[row].write(out, " "+f[1], f[2]); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// isTerms reports whether a file at the root of a module says on what terms it comes.
func isTerms(name string) bool {
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS", "AUTHORS"},
		func(word string) bool { return strings.HasPrefix(strings.ToUpper(name), word) })
}

// write appends every file with terms in dir, where the module lies.
func (m module) write(out *bytes.Buffer, version, dir string) error {
	var paths []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && isTerms(e.Name()) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	if m.files != "" {
		more, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(m.files)))
		if err != nil || len(more) == 0 {
			return fmt.Errorf("%s%s: %s names no file: correct internal/release/licences.go", m.path, version, m.files)
		}
		paths = append(paths, more...)
	}
	var all []byte
	rule := strings.Repeat("=", 80)
	fmt.Fprintf(out, "\n%s\n%s%s: %s\n%s\n", rule, m.path, version, m.licence, rule)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n--- %s ---\n\n%s\n", filepath.ToSlash(name), bytes.TrimRight(text, "\n"))
		all = append(all, text...)
	}
	for _, licence := range strings.Split(m.licence, " AND ") {
		if words := terms[licence]; words == "" || !bytes.Contains(all, []byte(words)) {
			return fmt.Errorf("%s%s: %s has no text of %s: read it again and correct internal/release/licences.go", m.path, version, dir, licence)
		}
	}
	return nil
}
