package record

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"

	"psafe/host/read/property"
)

// Lines that psafe wrote have their fields in order, each at most once, and no spaces. Such a
// line is read here, in a tenth of the time that encoding/json takes for a record; of any other
// nothing is concluded, and encoding/json reads it. FuzzParseRecord holds both against each
// other.

// fieldNames are the names of a record's fields in the order of the file.
var fieldNames = func() []string {
	var names []string
	t := reflect.TypeFor[Record]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()

// fast reads a line.
type fast struct {
	line []byte
	at   int
	// last is a record read before, whose texts are taken where they are the same, nil if there
	// is none.
	last *Record
}

// record fills a zero Record, and says whether the line is as psafe writes it and has p_lower
// and p_upper. If not, what was filled in is worth nothing.
func (f *fast) record(rec *Record) bool {
	if !f.token('{') {
		return false
	}
	v := reflect.ValueOf(rec).Elem()
	var last reflect.Value
	if f.last != nil {
		last = reflect.ValueOf(f.last).Elem()
	}
	bounds := 0
	for next := 0; ; {
		name, ok := f.plain()
		if !ok || !f.token(':') {
			return false
		}
		if string(name) == "checksum" {
			_, ok := f.plain()
			return ok && f.token('}') && f.at == len(f.line) && bounds == 2
		}
		for next < len(fieldNames) && fieldNames[next] != string(name) {
			next++
		}
		if next == len(fieldNames) {
			return false
		}
		before := ""
		if field := v.Field(next); field.Kind() == reflect.String && f.last != nil {
			before = last.Field(next).String()
		}
		if !f.value(v.Field(next), before) || !f.token(',') {
			return false
		}
		if fieldNames[next] == "p_lower" || fieldNames[next] == "p_upper" {
			bounds++
		}
		next++
	}
}

// token passes a character, if it is there.
func (f *fast) token(c byte) bool {
	if f.at < len(f.line) && f.line[f.at] == c {
		f.at++
		return true
	}
	return false
}

// plain passes a text in quotes that stands for itself.
func (f *fast) plain() ([]byte, bool) {
	if !f.token('"') {
		return nil, false
	}
	for i := f.at; i < len(f.line); i++ {
		switch c := f.line[i]; {
		case c == '"':
			text := f.line[f.at:i]
			f.at = i + 1
			return text, true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// value reads what a field has; before is the text it had in the record before.
func (f *fast) value(v reflect.Value, before string) bool {
	switch to := v.Addr().Interface().(type) {
	case *string:
		return f.text(to, before)
	case *[]string:
		return f.texts(to)
	case *property.Exact:
		return f.exact(to)
	}
	if v.Kind() == reflect.Pointer {
		if v.Type().Elem().Kind() == reflect.Struct {
			return f.object(v.Addr().Interface())
		}
		if f.null() {
			return true
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Float64:
		x, ok := f.number()
		v.SetFloat(x)
		return ok
	case reflect.Int, reflect.Int64:
		x, err := strconv.ParseInt(f.digits(), 10, strconv.IntSize)
		v.SetInt(x)
		return err == nil
	case reflect.Uint64:
		x, err := strconv.ParseUint(f.digits(), 10, 64)
		v.SetUint(x)
		return err == nil
	}
	return false
}

func (f *fast) null() bool {
	if !strings.HasPrefix(string(f.line[f.at:min(len(f.line), f.at+4)]), "null") {
		return false
	}
	f.at += 4
	return true
}

func (f *fast) text(to *string, before string) bool {
	at := f.at
	text, ok := f.plain()
	if !ok {
		f.at = at
		return f.object(to)
	}
	if *to = before; string(text) != before {
		*to = string(text)
	}
	return true
}

func (f *fast) texts(to *[]string) bool {
	if f.null() {
		return true
	}
	if !f.token('[') {
		return false
	}
	*to = []string{}
	if f.token(']') {
		return true
	}
	for {
		text, ok := f.plain()
		if !ok {
			return false
		}
		*to = append(*to, string(text))
		if !f.token(',') {
			return f.token(']')
		}
	}
}

// lastExact is the number that was read last: in most files all records ask for the same.
var lastExact atomic.Pointer[struct {
	text  string
	exact property.Exact
}]

func (f *fast) exact(to *property.Exact) bool {
	text := f.float()
	if last := lastExact.Load(); last != nil && last.text == string(text) {
		*to = last.exact
		return true
	}
	if len(text) == 0 || to.UnmarshalJSON(text) != nil {
		return false
	}
	lastExact.Store(&struct {
		text  string
		exact property.Exact
	}{string(text), *to})
	return true
}

// number reads a float64.
func (f *fast) number() (float64, bool) {
	text := f.float()
	if len(text) == 0 {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(text), 64)
	return x, err == nil
}

// digits passes a whole number, empty if there is none.
func (f *fast) digits() string {
	text := f.float()
	if strings.ContainsAny(string(text), ".eE") {
		return ""
	}
	return string(text)
}

// float passes a number by the grammar of JSON, empty if there is none.
func (f *fast) float() []byte {
	start := f.at
	some := func() bool {
		from := f.at
		for f.at < len(f.line) && '0' <= f.line[f.at] && f.line[f.at] <= '9' {
			f.at++
		}
		return f.at > from
	}
	f.token('-')
	if !f.token('0') && !some() {
		return nil
	}
	if f.token('.') && !some() {
		return nil
	}
	if f.token('e') || f.token('E') {
		if !f.token('+') {
			f.token('-')
		}
		if !some() {
			return nil
		}
	}
	return f.line[start:f.at]
}

// object has encoding/json read one value, whatever it is.
func (f *fast) object(to any) bool {
	start, depth, quoted := f.at, 0, false
	for f.at < len(f.line) {
		c := f.line[f.at]
		f.at++
		switch {
		case quoted && c == '\\':
			f.at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case depth == 0: // neither a text nor an object
			return false
		}
		if depth == 0 && !quoted {
			return json.Unmarshal(f.line[start:f.at], to) == nil
		}
		if depth > 1000 { // encoding/json has a limit for the whole line
			return false
		}
	}
	return false
}
