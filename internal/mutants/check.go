package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

// check returns which mutants no longer apply: the old text must occur once in the declaration, and
// each alternative of the expression must name a test of the package. Nothing is built, so that
// make test can do it for all tables; subtests are not looked for.
func check(root string, all []mutant) error {
	var errs []error
	sources, tests := map[string]places{}, map[string][]string{}
	for i := range all {
		m := &all[i]
		fail := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%s: %s", m.where(), fmt.Sprintf(format, args...)))
		}
		if _, known := sources[m.dir]; !known {
			all, err := readPlaces(filepath.Join(root, m.dir))
			if err != nil {
				fail("%v", err)
			}
			sources[m.dir] = all
		}
		if _, err := sources[m.dir].find(m.name, m.old); err != nil {
			fail("%v", err)
		}
		if m.old == m.new {
			fail("%q is not changed", m.old)
		}
		if _, known := tests[m.pkg]; !known {
			names, err := testsOf(filepath.Join(root, m.pkg))
			if err != nil {
				fail("%v", err)
			}
			tests[m.pkg] = names
		}
		for _, expression := range topLevel(m.test) {
			if n, err := matching(expression, tests[m.pkg]); n == 0 || err != nil {
				fail("no test of %s matches %q (%v)", m.pkg, expression, err)
			}
		}
	}
	return errors.Join(errs...)
}

// topLevel takes the expression of go test -run apart: alternatives, and of each what
// comes before the first slash.
func topLevel(expression string) (list []string) {
	depth, from, slash := 0, 0, -1
	end := func(i int) {
		if slash < 0 {
			slash = i
		}
		list, from, slash = append(list, expression[from:slash]), i+1, -1
	}
	for i, c := range expression {
		switch {
		case strings.ContainsRune("([", c):
			depth++
		case strings.ContainsRune(")]", c):
			depth--
		case depth == 0 && c == '|':
			end(i)
		case depth == 0 && c == '/' && slash < 0:
			slash = i
		}
	}
	end(len(expression))
	return list
}

func matching(expression string, names []string) (n int, err error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if re.MatchString(name) {
			n++
		}
	}
	return n, nil
}

// testsOf lists the test functions in a folder.
func testsOf(dir string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no tests", dir)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && strings.HasPrefix(d.Name.Name, "Test") && d.Name.Name != "TestMain" {
				names = append(names, d.Name.Name)
			}
		}
	}
	return names, err
}
