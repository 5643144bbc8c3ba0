package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"psafe/host/read/property"
)

// Decimal is a real number as a record writes it, and the float64 around it.
type Decimal struct {
	property.Exact
	property.Decimal
	text string
}

// UnmarshalJSON reads a JSON number, or a fraction as property.Exact writes one.
func (d *Decimal) UnmarshalJSON(text []byte) (err error) {
	d.text = property.FractionOfJSON(string(text))
	if d.Exact, err = property.NewExact(d.text); err == nil {
		d.Decimal, err = property.NewDecimal(d.text)
	}
	return err
}

func (d *Decimal) String() string { return d.text }

// Is reports whether the number is that whole number.
func (d *Decimal) Is(n float64) bool { return d.Lo == n && d.Hi == n }

// Strictly decodes JSON text into v, a pointer to a struct: a field that v does not have, by
// its exact name, or that is there twice, at any depth, is an error, and so is anything
// behind the text.
func Strictly(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := onceEach(dec, fieldNames(reflect.TypeOf(v).Elem()), 0); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("there is something behind the JSON object")
	}
	dec = json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return formed(reflect.ValueOf(v).Elem(), text)
}

// fieldNames are the JSON names of a struct, nil if t is none.
func fieldNames(t reflect.Type) []string {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for f := range t.NumField() {
		name, _ := fieldTag(t.Field(f))
		names = append(names, name)
	}
	return names
}

// onceEach reads one value and refuses objects with a key twice; known, if not nil, are the
// keys that there may be. All keys are words of lower case, since encoding/json would take
// others for the same.
func onceEach(dec *json.Decoder, known []string, depth int) error {
	token, err := dec.Token()
	if err != nil {
		return fmt.Errorf("no JSON object: %w", err)
	}
	if depth > 100 {
		return fmt.Errorf("lists within lists, 100 deep")
	}
	open, isOpen := token.(json.Delim)
	if !isOpen {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			name := key.(string)
			switch {
			case seen[name]:
				return fmt.Errorf("%.40q: it is there twice", name)
			case known != nil && !slices.Contains(known, name), strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
				return fmt.Errorf("%.40q: a field that this program does not know: check the record with the version that it names", name)
			}
			seen[name] = true
		}
		if err := onceEach(dec, nil, depth+1); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

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
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[Decimal]():
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
