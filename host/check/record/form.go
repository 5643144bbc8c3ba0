package record

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"psafe/host/read/property"
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

// writtenBounds refuses bounds that are not written as docs/reference.md says. A decimal between two
// float64s is taken for the nearest by other readers, which may claim more than what is proved here.
func (r *Record) writtenBounds() error {
	type bound struct {
		field string
		of    *Decimal
		text  func(float64) string
	}
	lower, upper := property.DecimalDown, property.DecimalUp
	list := []bound{{"p_lower", r.PLower, lower}, {"log10_p_lower", r.Log10PLower, lower}, {"p_upper", r.PUpper, upper},
		{"log10_ceiling", r.Log10Ceiling, upper}, {"margin", r.Margin, lower}}
	if d := r.Derived; d != nil {
		list = append(list, bound{"derived: inf_prob_lower", d.InfProbLower, lower}, bound{"derived: inf_prob_upper", d.InfProbUpper, upper},
			bound{"derived: inf_mean_lower", d.InfMeanLower, lower})
	}
	if d := r.Decision; d != nil {
		list = append(list, bound{"decision: lower", d.Lower, lower}, bound{"decision: rival_upper", d.RivalUpper, upper},
			bound{"decision: gap", d.Gap, lower}, bound{"decision: vote", d.Vote, lower}, bound{"decision: rival_gap", d.RivalGap, lower})
	}
	if m := r.OutputMean; m != nil {
		for i := range m.Lower {
			list = append(list, bound{"output_mean: lower", m.Lower[i], lower})
		}
		for i := range m.Upper {
			list = append(list, bound{"output_mean: upper", m.Upper[i], upper})
		}
		for _, of := range []struct {
			list []*Decimal
			text func(float64) string
		}{{m.SDLower, lower}, {m.SDUpper, upper}, {m.TotalSDLower, lower}, {m.TotalSDUpper, upper}} {
			for _, sd := range of.list {
				list = append(list, bound{"output_mean: a deviation", sd, of.text})
			}
		}
	}
	if s := r.Statistical; s != nil {
		list = append(list, bound{"statistical: lower", s.Lower, lower}, bound{"statistical: upper", s.Upper, upper})
	}
	if p := r.Parent; p != nil {
		list = append(list, bound{"parent: lower", p.Lower, lower}, bound{"parent: upper", p.Upper, upper})
	}
	for _, b := range list {
		if b.of == nil {
			continue
		}
		if x, err := strconv.ParseFloat(b.of.text, 64); err != nil || b.text(x) != b.of.text {
			return fmt.Errorf("%s: %.60v is not how records write a bound", b.field, b.of)
		}
	}
	return nil
}
