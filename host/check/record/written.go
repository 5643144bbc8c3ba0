package record

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record/fields"
)

// writtenBounds refuses bounds that are not written as docs/reference.md says. A decimal between two
// float64s is taken for the nearest by other readers, which may claim more than what is proved here.
func (r *Record) writtenBounds() error { return writtenBounds(reflect.ValueOf(r).Elem(), "") }

// writtenBounds returns the written bounds of an object in a record, whose name with a point within is.
func writtenBounds(v reflect.Value, within string) error {
	for i := range v.NumField() {
		name, _ := fieldTag(v.Type().Field(i))
		field := fields.Of(within + name)
		var bounds []*Decimal
		switch of := v.Field(i).Interface().(type) {
		case *Decimal:
			bounds = []*Decimal{of}
		case []*Decimal:
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
