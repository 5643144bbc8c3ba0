package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// place holds where a declaration stands: source[from:to] of a file.
type place struct {
	file, source string
	from, to     int
}

// places are the declarations of a package by name, methods as Type.Name. Files for other
// processors may declare a name again.
type places map[string][]place

// readPlaces reads the package in a folder, without its tests.
func readPlaces(dir string) (places, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	all := places{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			for name, n := range declared(d) {
				all[name] = append(all[name], place{file, string(text), set.Position(n.Pos()).Offset, set.Position(n.End()).Offset})
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no Go code there", dir)
	}
	return all, nil
}

// declared are the names of a declaration.
func declared(d ast.Decl) map[string]ast.Node {
	if f, is := d.(*ast.FuncDecl); is {
		if f.Recv == nil {
			return map[string]ast.Node{f.Name.Name: f}
		}
		return map[string]ast.Node{receiver(f.Recv.List[0].Type) + "." + f.Name.Name: f}
	}
	names := map[string]ast.Node{}
	for _, s := range d.(*ast.GenDecl).Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			names[s.Name.Name] = s
		case *ast.ValueSpec:
			for _, n := range s.Names {
				names[n.Name] = s
			}
		}
	}
	return names
}

// receiver is the type of a method without its star and parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// find returns the one place in a declaration where a text stands.
func (all places) find(name, text string) (*place, error) {
	list := all[name]
	if len(list) == 0 {
		return nil, fmt.Errorf("nothing declares %s", name)
	}
	var found *place
	n := 0
	for i := range list {
		p := list[i]
		if k := strings.Count(p.source[p.from:p.to], text); k > 0 {
			n += k
			at := p.from + strings.Index(p.source[p.from:p.to], text)
			found = &place{p.file, p.source, at, at + len(text)}
		}
	}
	if n != 1 {
		return nil, fmt.Errorf("%q occurs %d times in %s, want once", text, n, name)
	}
	return found, nil
}
