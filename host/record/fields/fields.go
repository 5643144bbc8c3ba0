// Package fields is the table of the fields of result records: what each is called, what it means,
// and what is known of it. It holds names and no ideas, so that what writes records, what checks them
// and the pages that describe them may all go by it.
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

// Field is one field of a record, or of an object in it: then its name is both, joined by a point.
type Field struct {
	Name string
	// Type is the type in JSON for people, with ", omitted" where it is left out if it is empty.
	Type string
	// Class is what psafe check knows of it. Of a field that is Said it needs the type alone
	// (host/check/record/record.go); it refuses records with fields that it does not read.
	Class Class
	// Asked says that the field is part of the question, which the field id is a digest of.
	Asked bool
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

// Asked are the names of the fields of the question, in the order of names, which is theirs in the
// identity.
func Asked() (names []string) {
	for _, f := range Table {
		if f.Asked {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}
