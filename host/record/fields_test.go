package record

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"psafe/host/record/fields"
)

var update = flag.Bool("update", false, "write the tables of fields in docs")

// tagged are the names of the fields of t in their order, those of objects in it behind them, with
// whether they are left out where they are empty.
func tagged(t reflect.Type, within string) (names []string, omitted map[string]bool) {
	omitted = map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		names, omitted[name] = append(names, within+name), option == "omitempty"
		if of := f.Type; within == "" && of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Struct {
			inner, _ := tagged(of.Elem(), name+".")
			names = append(names, inner...)
		}
	}
	return names, omitted
}

// TestFieldTable: the table of fields has those of a record, in their order.
func TestFieldTable(t *testing.T) {
	names, omitted := tagged(reflect.TypeFor[Record](), "")
	var table []string
	for _, f := range fields.Table {
		table = append(table, f.Name)
		// Every record that certify writes has flags.
		if !strings.Contains(f.Name, ".") && f.Name != "flags" && omitted[f.Name] != strings.HasSuffix(f.Type, ", omitted") {
			t.Errorf("%s: left out where it is empty: %v, the table has %q", f.Name, omitted[f.Name], f.Type)
		}
		if !slices.ContainsFunc(fields.Classes, func(c fields.ClassDoc) bool { return c.Class == f.Class }) || f.Digest != "" && fields.Of(f.Digest) == nil {
			t.Errorf("%s: class %q, digest %q", f.Name, f.Class, f.Digest)
		}
		// What may be another question must be in the identity, but for what tells of a run.
		if ofRun := slices.Contains([]string{"id", "task", "tasks", "run"}, f.Name); f.Asked != (f.Class == fields.Question && !ofRun) && f.Name != "inputs" {
			t.Errorf("%s: it is of class %s, part of the identity: %v", f.Name, f.Class, f.Asked)
		}
	}
	if names = append(names, "checksum"); !slices.Equal(names, table) {
		t.Errorf("records have\n%q\nthe table has\n%q", names, table)
	}
}

// TestFieldPages: the tables of docs/cli.md and docs/check.md are made of that of fields.
func TestFieldPages(t *testing.T) {
	var record, proof strings.Builder
	for _, f := range fields.Table {
		if name, within := strings.CutPrefix(f.Name, "proof."); within {
			fmt.Fprintf(&proof, "| `%s` | %s | %s |\n", name, f.Type, f.Doc)
		} else if f.Doc != "" {
			fmt.Fprintf(&record, "| `%s` | %s | %s |\n", f.Name, f.Type, f.Doc)
		}
	}
	var classes strings.Builder
	for _, c := range fields.Classes {
		var names []string
		for _, f := range fields.Table {
			if f.Class == c.Class {
				names = append(names, "`"+f.Name+"`")
			}
		}
		fmt.Fprintf(&classes, "| %s | %s | %s |\n", c.Class, strings.Join(names, ", "), c.Doc)
	}
	const head = "\n| field | type | meaning |\n|---|---|---|\n"
	compared(t, "cli.md", []pagePart{
		{"\n### The result record\n", head, "\n", record.String()},
		{"with their values as in the line:", "", ". A field", "\n" + filled(fields.Asked())},
		{"\n`proof` has these fields", head, "\n", proof.String()},
	})
	compared(t, "check.md", []pagePart{{"", "\n| what | fields | what that means |\n|---|---|---|\n", "\n", classes.String()}})
}

// filled are names in lines of less than 100 columns, with room for what comes behind.
func filled(names []string) string {
	var b strings.Builder
	width := 0
	for i, name := range names {
		name = "`" + name + "`"
		switch {
		case width+len(name) > 80:
			b.WriteString(",\n")
			width = 0
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(name)
		width += len(name) + 2
	}
	return b.String()
}

// pagePart is the text of a page behind two others and before the end.
type pagePart struct{ section, head, end, want string }

// compared holds parts of a page against what they must be, or writes them.
func compared(t *testing.T, page string, parts []pagePart) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", page)
	read, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(read)
	for _, p := range parts {
		start := strings.Index(text, p.section)
		if start < 0 {
			t.Fatalf("docs/%s does not have %q", page, p.section)
		}
		start += len(p.section)
		head := strings.Index(text[start:], p.head)
		if head < 0 {
			t.Fatalf("docs/%s does not have %q", page, p.head)
		}
		start += head + len(p.head)
		end := start
		if p.end == "\n" { // of a table: the first line that is empty
			for end < len(text) && text[end] == '|' {
				end += strings.Index(text[end:], "\n") + 1
			}
		} else {
			end += strings.Index(text[end:], p.end)
		}
		if text[start:end] == p.want {
			continue
		}
		if !*update {
			t.Errorf("docs/%s has\n%s\nthe table of fields makes it\n%s\n(-update writes it)", page, text[start:end], p.want)
		}
		text = text[:start] + p.want + text[end:]
	}
	if *update && text != string(read) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
