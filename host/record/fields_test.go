package record

import (
	"maps"
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

// bounds are how the fields of t are rounded, by their types, empty where they are no bounds.
func bounds(t reflect.Type, within string) map[string]fields.Bound {
	of := map[string]fields.Bound{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		kind := t.Field(i).Type
		if kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		of[within+name] = map[reflect.Type]fields.Bound{reflect.TypeFor[Down](): fields.Down, reflect.TypeFor[Up](): fields.Up}[kind]
		if kind.Kind() == reflect.Struct && within == "" && name != "proof" && name != "require" {
			maps.Copy(of, bounds(kind, name+"."))
		}
	}
	return of
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
		// What was asked is in the identity, but for what tells of a run.
		if ofRun := slices.Contains([]string{"id", "task", "tasks", "run"}, f.Name); f.OfRun != ofRun {
			t.Errorf("%s: it tells of the run: %v", f.Name, f.OfRun)
		}
	}
	for name, bound := range bounds(reflect.TypeFor[Record](), "") {
		if f := fields.Of(name); f.Bound != bound {
			t.Errorf("%s is rounded %q, the table has %q", name, bound, f.Bound)
		}
	}
	if names = append(names, "checksum"); !slices.Equal(names, table) {
		t.Errorf("records have\n%q\nthe table has\n%q", names, table)
	}
}
