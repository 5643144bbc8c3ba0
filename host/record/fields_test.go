package record

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"psafe/host/record/fields"
)

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
		if !slices.Contains(fields.Classes, f.Class) || f.Digest != "" && fields.Of(f.Digest) == nil {
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
