package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"psafe/host/record/fields"
)

// asking is a record of which only what it says whatever comes out counts: what was asked, of
// which files by their digests, and with which numerics. Not among its fields are version, which
// tells builds apart and no numbers, and the fields of a run, since the same may be asked in many.
type asking Record

// askedFields are the places in a record of what is asked, in the order of names, askedType is an
// object of them alone, and named are the fields that may name a file with the place of its digest.
var askedFields, askedType, named = func() (places []int, object reflect.Type, named [][2]int) {
	var of []reflect.StructField
	for _, name := range fields.Asked() {
		at := slices.Index(fieldNames, name)
		places, of = append(places, at), append(of, reflect.TypeFor[Record]().Field(at))
		if digest := fields.Of(name).Digest; digest != "" {
			named = append(named, [2]int{at, slices.Index(fieldNames, digest)})
		}
	}
	return places, reflect.StructOf(of), named
}()

// asked leaves out how the paths of files are spelled of which there is a digest. Of
// FILE.npz:ARRAY the array stays: the digest is that of the whole archive.
func (r *Record) asked() *asking {
	a := asking(*r)
	a.Inputs = r.Member()
	if r.RadiusEnd != "" {
		a.Eps = "" // which is what came out
	}
	v := reflect.ValueOf(&a).Elem()
	for _, of := range named {
		if path, digest := v.Field(of[0]), v.Field(of[1]); !digest.IsZero() {
			path.SetZero()
		}
	}
	return &a
}

// Member is the :ARRAY of FILE.npz:ARRAY that Inputs names, empty for another file. It goes by
// the text alone: identities must not depend on what is on the disk.
func (r *Record) Member() string {
	const archive = ".npz:"
	at := strings.LastIndex(r.Inputs, archive)
	if at < 0 {
		return ""
	}
	return r.Inputs[at+len(archive)-1:]
}

// line is the JSON object, with values as records have them.
func (a *asking) line() []byte {
	from, object := reflect.ValueOf(a).Elem(), reflect.New(askedType).Elem()
	for i, at := range askedFields {
		object.Field(i).Set(from.Field(at))
	}
	line, err := json.Marshal(object.Interface())
	if err != nil {
		panic(fmt.Sprintf("record: what a record asks is no JSON: %v", err))
	}
	return visible(line)
}

// idDigits is the length of an identity: hexadecimal digits of a SHA-256.
const idDigits = 32

// Identify sets ID, before anything comes out: the same for records of the same question,
// however paths are spelled, whichever run they are of, and for no others.
// Precision must be the one that was asked for.
func (r *Record) Identify() { r.ID = r.asked().id() }

// Identified reports whether ID is that of what the record says of its question. Sums of neurons
// have their own precision in place of the one that was asked for.
func (r *Record) Identified() bool {
	a := r.asked()
	if a.id() == r.ID {
		return true
	}
	a.Precision = "float32"
	return r.Method == "neuronsum" && a.id() == r.ID
}

func (a *asking) id() string {
	sum := sha256.Sum256(a.line())
	return hex.EncodeToString(sum[:])[:idDigits]
}

// RunID is the field run of records whose identities these are, in the order of their tasks.
func RunID(ids func(yield func(string) bool)) string {
	digest := sha256.New()
	for id := range ids {
		fmt.Fprintln(digest, id)
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// Asked is the first field in which two records differ in what was asked, or in id, task, tasks
// or run, and its values as JSON: nothing if they do not. How a path is spelled is no difference
// where there is a digest.
func Asked(a, b *Record) (field, inA, inB string) {
	fa, fb := fieldsOf(a.asked().line()), fieldsOf(b.asked().line())
	for _, of := range []struct {
		r      *Record
		fields map[string]json.RawMessage
	}{{a, fa}, {b, fb}} {
		// Behind the others in the order of names, since they follow from them.
		of.fields["~id"], of.fields["~run"] = fmt.Appendf(nil, "%q", of.r.ID), fmt.Appendf(nil, "%q", of.r.Run)
		of.fields["~task"], of.fields["~tasks"] = fmt.Append(nil, of.r.Task), fmt.Append(nil, of.r.Tasks)
	}
	field, inA, inB = firstOther(fa, fb)
	return strings.TrimPrefix(field, "~"), inA, inB
}

// Differ is the first field in which two records of one question differ, these before others, and its
// values as JSON: nothing if they do not. What tells of the machine does not count, nor how paths are
// spelled.
func Differ(a, b *Record, these ...string) (field, inA, inB string) {
	object := func(r *Record) map[string]json.RawMessage {
		text, err := json.Marshal(r)
		if err != nil {
			panic(fmt.Sprintf("record: a record is no JSON: %v", err))
		}
		all := fieldsOf(text)
		for _, f := range fields.Table {
			if f.Apart || f.Digest != "" {
				delete(all, f.Name)
			}
		}
		return all
	}
	return firstOther(object(a), object(b), these...)
}

// firstOther is the first field whose value is another in b than in a, these before others.
func firstOther(a, b map[string]json.RawMessage, these ...string) (field, inA, inB string) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range append(these, slices.Sorted(maps.Keys(names))...) {
		if !bytes.Equal(a[name], b[name]) {
			return name, string(a[name]), string(b[name])
		}
	}
	return "", "", ""
}

// fieldsOf are the values of a JSON object.
func fieldsOf(object []byte) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		panic(fmt.Sprintf("record: no JSON object: %v", err))
	}
	return fields
}
