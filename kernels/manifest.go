package kernels

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// The program does not start with a file that is not compiled, or a kernel that cannot be launched.
func init() {
	names, err := fs.Glob(files, "*.cl")
	if err != nil {
		panic("kernels: " + err.Error())
	}
	if what := misplaced(names, order); what != "" {
		panic("kernels: " + what)
	}
	sources, macros := Sources(), map[string]string{}
	for name, text := range sources {
		sources[name] = code(text)
		if !strings.Contains(text, "_ARGS") {
			continue
		}
		for _, m := range shared.FindAllStringSubmatch(text, -1) {
			macros[m[1]] = strings.ReplaceAll(m[2], "\\\n", " ")
		}
	}
	for _, name := range order {
		list, err := read(name, sources[name], macros)
		if err != nil {
			panic("kernels: " + err.Error())
		}
		All = append(All, list...)
	}
}

// misplaced says which file lacks its place in the order of compilation, or the other way round,
// or is "".
func misplaced(names, order []string) string {
	for _, n := range names {
		if !slices.Contains(order, strings.TrimSuffix(n, ".cl")) {
			return fmt.Sprintf("kernels/%s has no place in the order of compilation: add it to order in kernels/kernels.go", n)
		}
	}
	for _, n := range order {
		if !slices.Contains(names, n+".cl") {
			return fmt.Sprintf("the order of compilation in kernels/kernels.go names %s: add kernels/%s.cl", n, n)
		}
	}
	return ""
}

// All lists every kernel, with its arguments as the sources have them.
var All []Kernel

// shared are the arguments of several kernels, a macro of the preprocessor.
var shared = regexp.MustCompile(`#define (\w+_ARGS)((?:.*\\\n)*.*)\n`)

// launch are the last three arguments of every kernel, which a launch adds.
const launch = "const uint tasks, __global uint *receipts, const uint receipt"

// code is a source without its comments.
func code(text string) string {
	var b strings.Builder
	for {
		before, after, comment := strings.Cut(text, "/*")
		b.WriteString(before)
		if !comment {
			return b.String()
		}
		b.WriteByte(' ')
		_, text, _ = strings.Cut(after, "*/")
	}
}

// read lists the kernels of a source without comments, whose arguments may be macros.
func read(name, source string, macros map[string]string) (list []Kernel, err error) {
	parts := strings.Split(source, "KERNEL void ")
	for i, part := range parts[1:] {
		head, rest, _ := strings.Cut(part, "(")
		text, _, _ := strings.Cut(rest, ")")
		k := Kernel{Name: head, File: name, Tiled: strings.HasSuffix(parts[i], "TILED_")}
		for macro, args := range macros {
			text = strings.Replace(text, macro, args, 1)
		}
		own, ends := strings.CutSuffix(strings.Join(strings.Fields(text), " "), ", "+launch)
		if !ends {
			return nil, fmt.Errorf("%s.cl: kernel %s takes (%s), and a launch ends with %s", name, k.Name, text, launch)
		}
		for arg := range strings.SplitSeq(own, ", ") {
			at := strings.LastIndexAny(arg, " *") + 1
			a := Arg{arg[at:], strings.TrimSpace(arg[:at])}
			if !slices.Contains([]string{Out, In, Real, Int, Uint, Long}, a.Type) {
				return nil, fmt.Errorf("%s.cl: kernel %s takes %q, of a type that no launch passes", name, k.Name, arg)
			}
			k.Args = append(k.Args, a)
		}
		list = append(list, k)
	}
	return list, nil
}
