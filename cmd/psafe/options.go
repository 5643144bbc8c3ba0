package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"psafe/host/record"
	"psafe/internal/nearest"
)

// options is the value of --options: what belongs to one method or is hardly ever used, as
// KEY=VALUE with commas between, each key a flag of a set of its own.
type options struct {
	of   *pflag.FlagSet // the command's flags
	keys *pflag.FlagSet
}

// newOptions is an empty set of keys.
func newOptions() *pflag.FlagSet {
	var keys pflag.FlagSet
	keys.SortFlags = false
	return &keys
}

// addOptions adds the flag, whose keys are all there.
func addOptions(f, keys *pflag.FlagSet) {
	onlyOnce(keys)
	f.Var(&options{f, keys}, "options", "`KEY=VALUE,...` of the options below; may be given several times")
}

// optionsOf are the keys of --options of a command, nil if it has none.
func optionsOf(f *pflag.FlagSet) *pflag.FlagSet {
	if flag := f.Lookup("options"); flag != nil {
		return flag.Value.(*options).keys
	}
	return nil
}

// listOfOptions is the key whose value has commas itself.
const listOfOptions = "costs"

// Set takes all keys of a text. A word that is no KEY=VALUE and no switch goes on with the value of
// a list.
func (o *options) Set(text string) error {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if n := len(words); n > 0 && !strings.Contains(word, "=") && o.keys.Lookup(word) == nil && strings.HasPrefix(words[n-1], listOfOptions+"=") {
			words[n-1] += "," + word
			continue
		}
		words = append(words, word)
	}
	for _, word := range words {
		if err := o.set(word); err != nil {
			return &optionError{err}
		}
	}
	return nil
}

// set takes one key.
func (o *options) set(word string) error {
	name, value, given := strings.Cut(word, "=")
	flag := o.keys.Lookup(name)
	switch {
	case flag == nil && name != "" && o.of.Lookup(name) != nil:
		name, _ = record.Today(name, "")
		return fmt.Errorf("--options %s is a flag of its own: write --%[1]s", name)
	case flag == nil:
		return fmt.Errorf("--options: there is no option %.60q: they are %s%s", name, strings.Join(o.known(), ", "), nearest.Hint(name, flagNames(o.keys)))
	case !given && flag.NoOptDefVal == "":
		return fmt.Errorf("--options %s has no value: write %[1]s=VALUE", name)
	case !given:
		value = flag.NoOptDefVal
	}
	err := o.keys.Set(name, value)
	if _, twice := errors.AsType[*givenTwice](err); twice {
		return fmt.Errorf("--options %s is given twice: give it once", name)
	} else if err != nil {
		return fmt.Errorf("--options %s: %.60q is %s", name, value, notOf(flag.Value.Type()))
	}
	return nil
}

// optionFor says what an option is for, where it is not for all.
var optionFor = map[string]string{
	"depth": "by lbp, clbp", "confidence": "by statistical, finite, --draws", "seed": "by drawn boxes, statistical, --draws",
	"noise": "of --target mean", "link": "of --target decision", "costs": "of --target decision", "reject": "of --target decision", "action": "of --target decision",
}

// known are the options, each with what it is for.
func (o *options) known() []string {
	names := flagNames(o.keys)
	for i, name := range names {
		if of := optionFor[name]; of != "" {
			names[i] += " (" + of + ")"
		}
	}
	return names
}

func (o *options) String() string { return "" }
func (o *options) Type() string   { return "options" }

// Append, Replace and GetSlice say that the flag may be given several times.
func (o *options) Append(text string) error     { return o.Set(text) }
func (o *options) Replace(texts []string) error { return o.Set(strings.Join(texts, ",")) }
func (o *options) GetSlice() []string           { return nil }

// optionError is an error that names the flag.
type optionError struct{ error }

// notOf tells what a value that cannot be read should be.
func notOf(kind string) string {
	switch kind {
	case "float64":
		return "no number: give a decimal such as 0.5"
	case "int":
		return "no whole number: give one such as 10"
	case "uint64":
		return "no whole number from 0: give one such as 10"
	case "bool":
		return "neither true nor false: leave the value out for true"
	case "duration":
		return "no time: give one with its unit, such as 10s, 5m or 1h"
	case "intSlice":
		return "no list of whole numbers: give one such as 0,1"
	}
	return "no " + kind
}

// once is the value of a flag that may be given once.
type once struct {
	pflag.Value
	flag *pflag.Flag
}

func (o *once) Set(text string) error {
	if o.flag.Changed {
		return &givenTwice{o.flag.Name}
	}
	return o.Value.Set(text)
}

// onlyOnce has every flag refused that comes again, unless its values make a list.
func onlyOnce(f *pflag.FlagSet) {
	f.VisitAll(func(flag *pflag.Flag) {
		if _, list := flag.Value.(pflag.SliceValue); !list {
			flag.Value = &once{flag.Value, flag}
		}
	})
}

// givenTwice reports that a flag which has one value was given two.
type givenTwice struct{ name string }

func (e *givenTwice) Error() string {
	return fmt.Sprintf("--%s is given twice: give it once", e.name)
}

// flagNames are the flags of a set.
func flagNames(f *pflag.FlagSet) []string {
	var names []string
	f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}
