package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"psafe/internal/nearest"
)

// What is wrong with the JSON of a header or a map, in the words of its fields: encoding/json
// has those of Go.

// unknownField is a key that none of the allowed ones is; at is where it ends.
type unknownField struct {
	name string
	at   int64
}

func (e *unknownField) Error() string { return fmt.Sprintf("unknown field %.60q", e.name) }

// located gives an error of a text the layer that it is in, and what the field may hold, or the
// field that may have been meant.
func located(text []byte, err error, keys []string) error {
	var value *json.UnmarshalTypeError
	var key *unknownField
	switch {
	case errors.As(err, &value):
		what := "it" // the outermost value, or one that encoding/json does not name
		if value.Field != "" {
			what = fmt.Sprintf("field %.60q", value.Field[strings.LastIndexByte(value.Field, '.')+1:])
		}
		return placed(text, value.Offset, fmt.Errorf("%s holds %.40s, where it takes %s", what, article(value.Value), holds(value.Type)))
	case errors.As(err, &key):
		return placed(text, key.at, fmt.Errorf("%w%s", err, nearest.Hint(key.name, keys)))
	}
	return err
}

// article puts a or an in front of number, string, object, array and bool.
func article(value string) string {
	if strings.HasPrefix(value, "o") || strings.HasPrefix(value, "a") {
		return "an " + value
	}
	return "a " + value
}

// holds returns what a field of that Go type holds.
func holds(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Int {
			return "a list of whole numbers, such as [3, 3]"
		}
		return "a list"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number that a float64 can be"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	}
	return "an object"
}

// placed puts the layer in front of an error, if what ends at that offset is in one.
func placed(text []byte, at int64, err error) error {
	if k := layerAt(text, at); k >= 0 {
		return fmt.Errorf("layer %d: %w", k, err)
	}
	return err
}

// layerAt is the number of the element of the list "layers" of the outermost object that an
// offset is in, -1 if it is in none.
func layerAt(text []byte, at int64) int {
	d := json.NewDecoder(bytes.NewReader(text))
	depth, layer, named, inside := 0, -1, false, false
	for {
		token, err := d.Token()
		if err != nil || d.InputOffset() > at {
			return layer
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			inside = inside || depth == 1 && named
			if depth++; inside && depth == 3 {
				layer++
			}
		case json.Delim('}'), json.Delim(']'):
			if depth--; inside && depth == 1 {
				inside, layer = false, -1
			}
		}
		named = depth == 1 && token == "layers"
	}
}
