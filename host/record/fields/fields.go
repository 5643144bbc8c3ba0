// Package fields lists the fields of result records: what each is called, what it means, and what
// is known of it. It holds names and no ideas, so that what writes records, what checks them and
// the pages that describe them may all go by it.
package fields

import "slices"

// Class names what psafe check knows of a field.
type Class string

// The classes. What a record says of them is in docs/results.md.
const (
	Proved      Class = "proved"      // recomputed; less may be claimed
	Certificate Class = "certificate" // what the proof goes by: another value is another certificate
	Question    Class = "question"    // what the bounds are about
	Compared    Class = "compared"    // follows from other fields or from the proof
	Said        Class = "said"        // no claim of a proof
)

// Classes are all classes.
var Classes = []Class{Proved, Certificate, Question, Compared, Said}

// Bound is the direction in which a number is rounded.
type Bound string

// Bounds.
const (
	Down Bound = "down"
	Up   Bound = "up"
)

// Field is one field of a record, or of an object in it: then its name is both, joined by a point.
type Field struct {
	Name string
	// Type is the type in JSON for people, with ", omitted" where it is left out if it is empty.
	Type string
	// Class holds what psafe check knows of it. Of a field that is Said it needs the type alone
	// (host/check/record/record.go); it refuses records with fields that it does not read.
	Class Class
	// OfRun says of a field of class Question that it tells of the run, and not what was asked.
	OfRun bool
	// Apart reports whether records of one question may differ in it: it tells of the machine, or where a
	// file is.
	Apart bool
	// Bound is the direction in which a bound is rounded.
	Bound Bound
	// Digest is the field with the digest of the file that this one may name. Where it is there, the
	// identity has it alone.
	Digest string
	// Said is when a field of another class is no claim of a proof either.
	Said string
	// Doc is the meaning as docs/reference.md has it, empty where that of the object tells it.
	Doc string
}

// Of is the field of that name, nil if there is none.
func Of(name string) *Field {
	for i := range Table {
		if Table[i].Name == name {
			return &Table[i]
		}
	}
	return nil
}

// Asked are the names of the fields of the question, of which the field id is a digest, in the order of
// names, which is theirs in the identity. Of inputs it is the array of an archive.
func Asked() (names []string) {
	for _, f := range Table {
		if f.Class == Question && !f.OfRun || f.Name == "inputs" {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Flag is a flag that the field flags of a record may list.
type Flag struct {
	Name string
	// Bare reports whether no value follows.
	Bare bool
	// Asks reports whether it is part of the question, and not of the way to its answer.
	Asks bool
	// Rule reports whether it tells how the predictive decides.
	Rule bool
}

// Flags are these flags in their order.
var Flags = []Flag{
	{Name: "--method"}, {Name: "--samples"}, {Name: "--cells"}, {Name: "--depth"}, {Name: "--gamma"},
	{Name: "--confidence"}, {Name: "--no-upper", Bare: true}, {Name: "--derived", Bare: true}, {Name: "--target"},
	{Name: "--link", Asks: true, Rule: true}, {Name: "--costs", Asks: true, Rule: true}, {Name: "--reject", Asks: true, Rule: true}, {Name: "--action", Asks: true, Rule: true},
	{Name: "--noise", Asks: true}, {Name: "--quantile", Asks: true}, {Name: "--most"}, {Name: "--step"}, {Name: "--label-column", Asks: true}, {Name: "--precision"}, {Name: "--time-limit"}, {Name: "--require", Asks: true},
}

// FlagOf is the place of a flag in Flags, -1 if it is none of them.
func FlagOf(name string) int {
	return slices.IndexFunc(Flags, func(f Flag) bool { return f.Name == name })
}
