package report

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"psafe/host/read/property"
	"psafe/host/record"
)

// table is the records as the page's script reads them: columns of texts. A bound is the text
// that its record has, which is a bound itself; the script never writes a number of its own.
type table struct {
	Rows    int      `json:"rows"`
	Columns []column `json:"columns"`
}

// column is a text for each row. Either Texts has them all, with line feeds between, or Words
// has the different ones and At which of them each row has; a column of one word has no At.
// No text has a line feed: shown escapes it.
type column struct {
	Name  string   `json:"name"`
	Texts string   `json:"texts,omitempty"`
	Words []string `json:"words,omitempty"`
	At    []int    `json:"at,omitempty"`
}

// packer makes a column of texts that come row by row.
type packer struct {
	words  []string
	number map[string]int
	at     []int
	// bytes of both forms
	all, few int
}

func (p *packer) add(text string) {
	k, known := p.number[text]
	if !known {
		if p.number == nil {
			p.number = map[string]int{}
		}
		k = len(p.words)
		p.number[text], p.words = k, append(p.words, text)
		p.few += len(text) + len(`"",`)
	}
	p.at = append(p.at, k)
	p.all += len(text) + len(`\n`)
	p.few += len(strconv.Itoa(k)) + len(",")
}

// column is in the form that takes fewer bytes.
func (p *packer) column(name string) column {
	switch {
	case len(p.words) == 1:
		return column{Name: name, Words: p.words}
	case p.all >= p.few:
		return column{Name: name, Words: p.words, At: p.at}
	}
	texts := make([]string, len(p.at))
	for i, k := range p.at {
		texts[i] = p.words[k]
	}
	return column{Name: name, Texts: strings.Join(texts, "\n")}
}

// says reports whether a row says anything.
func (p *packer) says() bool { return len(p.words) > 1 || p.words[0] != "" }

// field is a field of records, or one of an object in a record, as psafe's tables call it.
type field struct {
	name string
	at   []int // for reflection
}

// fields returns the fields of records in their order, without the proof, which only psafe check reads.
func fields() []field { return fieldsOf(reflect.TypeFor[record.Record](), "", nil) }

func fieldsOf(t reflect.Type, prefix string, at []int) []field {
	var list []field
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		f := field{prefix + name, append(at[:len(at):len(at)], i)}
		of := t.Field(i).Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case f.name == "proof":
		case of.Kind() == reflect.Struct && of != reflect.TypeFor[property.Exact]():
			list = append(list, fieldsOf(of, f.name+".", f.at)...)
		default:
			list = append(list, f)
		}
	}
	return list
}

// text returns what a record says in the field, empty where it says nothing: numbers and lists as
// in its line.
func (f *field) text(r *record.Record) string {
	v := reflect.ValueOf(r)
	for _, i := range f.at {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return ""
		}
		v = reflect.Indirect(v).Field(i)
	}
	switch v.Kind() {
	case reflect.String:
		return shown(v.String())
	case reflect.Pointer, reflect.Interface, reflect.Slice:
		if v.IsNil() {
			return ""
		}
	case reflect.Int:
		return strconv.FormatInt(v.Int(), 10)
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		panic("report: " + f.name + ": " + err.Error()) // a record that was read has finite bounds
	}
	var word string
	if json.Unmarshal(text, &word) == nil {
		return shown(word) // a fraction
	}
	return shown(string(text))
}

// maybe are whole numbers that records leave out where they are 0.
var maybe = map[string]bool{"samples": true, "boxes_tried": true, "cells": true, "tau": true}

// columnsOf packs all that records say, leaving out the columns that say nothing.
func columnsOf(records []record.Placed) []column {
	all := fields()
	packers := make([]packer, len(all))
	for i := range records {
		for k := range all {
			text := all[k].text(records[i].Record)
			if maybe[all[k].name] && text == "0" {
				text = ""
			}
			packers[k].add(text)
		}
	}
	var list []column
	for k := range packers {
		if packers[k].says() {
			list = append(list, packers[k].column(all[k].name))
		}
	}
	return list
}

// shown is text with escapes in place of what is not seen or turns the direction of writing:
// names in records may be anybody's.
func shown(text string) string {
	hidden := func(c rune) bool {
		return unicode.Is(unicode.Cc, c) || unicode.Is(unicode.Cf, c) || c == '\u2028' || c == '\u2029'
	}
	if !strings.ContainsFunc(text, hidden) {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	var b strings.Builder
	for _, c := range text {
		if hidden(c) {
			quoted := strconv.QuoteRuneToASCII(c)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// fitted is shown, of any length.
func fitted(text string, _ int) string { return shown(text) }
