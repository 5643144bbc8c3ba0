package check

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record/fields"
)

// fieldTag is the name of a field in JSON, and whether it is left out where it says nothing.
func fieldTag(f reflect.StructField) (name string, omitted bool) {
	name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, option == "omitempty"
}

// formed refuses, of the JSON text that v was decoded from, what certify does not write: a field
// that is missing, one that is null where nothing is left unknown by that, and one that is there
// although it says nothing. Programs that read records differ in what they make of these.
func formed(v reflect.Value, text []byte) error {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return formed(v.Elem(), text)
	case v.Kind() == reflect.Slice && ofFields(v.Type().Elem()):
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil || len(list) != v.Len() {
			return fmt.Errorf("a list is null or cannot be read: %w", err)
		}
		for i := range list {
			if err := formed(v.Index(i), list[i]); err != nil {
				return err
			}
		}
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[decimal]():
		return formedFields(v, text)
	}
	return nil
}

// ofFields reports whether something of this type has fields of its own.
func ofFields(t reflect.Type) bool {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

func formedFields(v reflect.Value, text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for f := range v.NumField() {
		name, omitted := fieldTag(v.Type().Field(f))
		value, there := fields[name]
		pointer := v.Field(f).Kind() == reflect.Pointer
		empty := v.Field(f).IsZero() || v.Field(f).Kind() == reflect.Slice && v.Field(f).Len() == 0
		switch {
		case !there && omitted:
			continue
		case !there:
			return fmt.Errorf("%s: it is missing", name)
		case string(value) == "null" && (omitted || !pointer):
			return fmt.Errorf("%s: it is null", name)
		case omitted && !pointer && empty:
			return fmt.Errorf("%s: it is there and says nothing", name)
		}
		if err := formed(v.Field(f), value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// writtenBounds refuses bounds that are not written as docs/reference.md says. A decimal between two
// float64s is taken for the nearest by other readers, which may claim more than what is proved here.
func (r *record) writtenBounds() error { return writtenBounds(reflect.ValueOf(r).Elem(), "") }

// writtenBounds are those of an object in a record, whose name with a point within is.
func writtenBounds(v reflect.Value, within string) error {
	for i := range v.NumField() {
		name, _ := fieldTag(v.Type().Field(i))
		field := fields.Of(within + name)
		var bounds []*decimal
		switch of := v.Field(i).Interface().(type) {
		case *decimal:
			bounds = []*decimal{of}
		case []*decimal:
			bounds = of
		default:
			if of := v.Field(i); within == "" && of.Kind() == reflect.Pointer && of.Type().Elem().Kind() == reflect.Struct && !of.IsNil() {
				if err := writtenBounds(of.Elem(), name+"."); err != nil {
					return err
				}
			}
		}
		text := map[fields.Bound]func(float64) string{fields.Down: property.DecimalDown, fields.Up: property.DecimalUp}[field.Bound]
		for _, b := range bounds {
			if b == nil || text == nil {
				continue
			}
			if x, err := strconv.ParseFloat(b.text, 64); err != nil || text(x) != b.text {
				return fmt.Errorf("%s: %.60v is not how records write a bound", strings.Replace(field.Name, ".", ": ", 1), b)
			}
		}
	}
	return nil
}
