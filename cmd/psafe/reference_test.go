package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"psafe/host/record/fields"
	"psafe/internal/testkit/pagetest"
)

var update = flag.Bool("update", false, "write the parts of docs/reference.md that are made of help and of the table of fields")

// TestReference: docs/reference.md has every command with its flags as psafe help prints them, and
// every field of records from their table.
func TestReference(t *testing.T) {
	page := "../../docs/reference.md"
	pagetest.Part(t, page, "commands", referenceCommands(), *update)
	record, proof := referenceFields()
	pagetest.Part(t, page, "fields", record, *update)
	pagetest.Part(t, page, "proof", proof, *update)
}

// referenceCommands are the commands; of each but certify the flags that certify does not have alike.
func referenceCommands() string {
	var b strings.Builder
	certify := certifyCommand().Flags()
	b.WriteString("Commands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "[%s](#%[1]s)\n", c.Name())
	}
	b.WriteString("\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "## %s\n\n```\n%s\n", c.Name(), strings.TrimSpace(c.Long))
		var as, own []string
		alike := optionsAlike(c.Flags(), certify)
		for _, name := range flagNames(c.Flags()) {
			of := certify.Lookup(name)
			switch {
			case name == "help" || name == helpAll:
			case c.Name() != "certify" && of != nil && flagText(of) == flagText(c.Flags().Lookup(name)) && (name != "options" || alike != nil):
				as = append(as, name)
			default:
				own = append(own, name)
			}
		}
		for _, g := range groupsOf(c) {
			names := g.names
			if g.title == "Flags" {
				names = own
			}
			if len(names) > 0 && g.title != "Help" && (!g.options || slices.Contains(own, "options")) {
				fmt.Fprintf(&b, "\n%s:\n", g.title)
				for _, name := range names {
					printFlag(g.of.Lookup(name), g.options, &b)
				}
			}
		}
		b.WriteString("```\n\n")
		if len(as) == 0 {
			continue
		}
		text, names := "as of certify:", as
		if len(as) > 30 { // shorter by what is missing
			text, names = "as of certify, all but", nil
			certify.VisitAll(func(f *pflag.Flag) {
				if !slices.Contains(as, f.Name) && f.Name != helpAll && f.Name != "help" {
					names = append(names, f.Name)
				}
			})
		}
		b.WriteString(pagetest.Item(text + " `--" + strings.Join(names, "`, `--") + "`"))
		if len(alike) > 0 && len(alike) < len(flagNames(optionsOf(certify))) {
			b.WriteString(pagetest.Item("of its options: `" + strings.Join(alike, "`, `") + "`"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// optionsAlike are the keys of --options if certify has them all alike.
func optionsAlike(f, certify *pflag.FlagSet) []string {
	keys := optionsOf(f)
	if keys == nil {
		return nil
	}
	names := flagNames(keys)
	for _, name := range names {
		if of := optionsOf(certify).Lookup(name); of == nil || flagText(of) != flagText(keys.Lookup(name)) {
			return nil
		}
	}
	return names
}

// flagText is a flag as help prints it.
func flagText(f *pflag.Flag) string {
	var b bytes.Buffer
	printFlag(f, false, &b)
	return b.String()
}

// referenceFields are the fields of records, and those of their object proof.
func referenceFields() (record, proof string) {
	var text string
	end := func(to *string) {
		if text != "" {
			*to += pagetest.Item(text)
		}
		text = ""
	}
	to, last := &record, fields.Class("")
	for _, f := range fields.Table {
		object, name, within := strings.Cut(f.Name, ".")
		switch {
		case within && object == "proof":
			end(to)
			to = &proof
			text = fmt.Sprintf("`%s` (%s): %s", name, typeOf(f), f.Doc)
		case within:
			sep := ", "
			if f.Class != last {
				sep, last = fmt.Sprintf("; %s: ", f.Class), f.Class
			}
			text += fmt.Sprintf("%s`%s`", sep, name)
			if kind := typeOf(f); !strings.HasPrefix(kind, "number") { // most are
				text += " (" + kind + ")"
			}
		default:
			end(to)
			to, last = &record, ""
			text = fmt.Sprintf("`%s` (%s, %s): %s", f.Name, typeOf(f), f.Class, f.Doc)
			if f.Said != "" {
				text += "; said " + f.Said
			}
		}
	}
	end(to)
	return record, proof
}

// typeOf is a field's type, with a question mark if it is left out where it is empty.
func typeOf(f fields.Field) string { return strings.Replace(f.Type, ", omitted", "?", 1) }

// TestReferenceNamesJSON: docs/reference.md says what --json prints, of every command that has it.
func TestReferenceNamesJSON(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../docs/reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, json, _ := strings.Cut(string(page), "\n## JSON of commands\n")
	for _, c := range commands() {
		if c.Flags().Lookup("json") != nil && !strings.Contains(json, "\n- `"+c.Name()+"`") {
			t.Errorf("docs/reference.md does not say what psafe %s --json prints", c.Name())
		}
	}
}
