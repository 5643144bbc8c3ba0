package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// identityFields are what a record says whatever comes out, in the order of names: what was
// asked, of which files by their digests, and with which numerics. Not among them are
// version, which tells builds apart and no numbers, and the fields of a run, since the same
// may be asked in many.
var identityFields = []string{"activations", "channels", "clip", "clip_sha256", "eps", "eps_sha256", "fix", "flags", "free", "index", "input_scale", "inputs",
	"inputs_sha256", "label", "mean", "mean_sha256", "name", "numerics", "posterior_scale", "posterior_sd", "posterior_sd_sha256", "posterior_sha256",
	"precision", "property", "require", "seed", "std", "std_sha256", "template_entry", "template_sha256"}

// idDigits is the length of an identity: hexadecimal digits of a SHA-256.
const idDigits = 32

// identity is the digest of identityFields: of the JSON object of those that the record has,
// in their order, each value as the record's line has it, after unspell. Precision must be
// the one that was asked for.
func (r *Record) identity() string {
	plain := *r
	plain.unspell()
	fields := plain.fields()
	var object bytes.Buffer
	for _, name := range identityFields {
		if value, there := fields[name]; there {
			fmt.Fprintf(&object, ",%q:%s", name, value)
		}
	}
	object.WriteByte('}')
	object.Bytes()[0] = '{' // in place of the first comma: index is always there
	sum := sha256.Sum256(object.Bytes())
	return hex.EncodeToString(sum[:])[:idDigits]
}

// Identify sets ID, before anything comes out: the same for records of the same question,
// however paths are spelled, whichever run they are of, and for no others.
func (r *Record) Identify() { r.ID = r.identity() }

// RunID is the field run of records whose identities these are, in the order of their tasks.
func RunID(ids func(yield func(string) bool)) string {
	digest := sha256.New()
	for id := range ids {
		fmt.Fprintln(digest, id)
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// Asked is the first field in which two records differ in what was asked, or in task, tasks or
// run, and its values as JSON: nothing if they do not. How a path is spelled is no difference
// where there is a digest.
func Asked(a, b *Record) (field, inA, inB string) {
	ca, cb := *a, *b
	ca.unspell()
	cb.unspell()
	fa, fb := ca.fields(), cb.fields()
	for _, name := range slices.Concat(identityFields, []string{"id", "task", "tasks", "run"}) {
		if !bytes.Equal(fa[name], fb[name]) {
			return name, string(fa[name]), string(fb[name])
		}
	}
	return "", "", ""
}

// unspell takes out of a record how the paths of files are spelled that it has digests of.
// Of FILE.npz:ARRAY the array stays: the digest is that of the whole archive.
func (r *Record) unspell() {
	r.Posterior, r.PosteriorSDFile, r.Template = "", "", ""
	// By its text alone: identities must not depend on what is on the disk.
	const archive = ".npz:"
	if at := strings.LastIndex(r.Inputs, archive); at >= 0 {
		r.Inputs = r.Inputs[at+len(archive)-1:]
	} else {
		r.Inputs = ""
	}
	for _, of := range []struct {
		text   *string
		digest string
	}{{&r.Eps, r.EpsSHA256}, {&r.Mean, r.MeanSHA256}, {&r.Std, r.StdSHA256}} {
		if of.digest != "" {
			*of.text = ""
		}
	}
	if r.ClipSHA256 != "" {
		r.Clip = nil
	}
}

// fields are the values of a record as its line has them.
func (r *Record) fields() map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	line, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(visible(line), &fields)
	}
	if err != nil {
		panic(fmt.Sprintf("report: a record is no JSON: %v", err))
	}
	return fields
}
