package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"psafe/host/read/property"
)

// asking is what a record says whatever comes out, its fields in the order of names: what was
// asked, of which files by their digests, and with which numerics. Not among them are
// version, which tells builds apart and no numbers, and the fields of a run, since the same
// may be asked in many.
type asking struct {
	Activations       []string       `json:"activations"`
	Channels          string         `json:"channels,omitempty"`
	Clip              []string       `json:"clip,omitempty"`
	ClipSHA256        string         `json:"clip_sha256,omitempty"`
	Eps               string         `json:"eps,omitempty"`
	EpsSHA256         string         `json:"eps_sha256,omitempty"`
	Fix               string         `json:"fix,omitempty"`
	Flags             string         `json:"flags,omitempty"`
	Free              string         `json:"free,omitempty"`
	Index             int            `json:"index"`
	InputScale        string         `json:"input_scale,omitempty"`
	Inputs            string         `json:"inputs,omitempty"`
	InputsSHA256      string         `json:"inputs_sha256,omitempty"`
	Label             *int           `json:"label"`
	Mean              string         `json:"mean,omitempty"`
	MeanSHA256        string         `json:"mean_sha256,omitempty"`
	Name              string         `json:"name,omitempty"`
	Numerics          int            `json:"numerics"`
	PosteriorScale    string         `json:"posterior_scale"`
	PosteriorSD       string         `json:"posterior_sd,omitempty"`
	PosteriorSDSHA256 string         `json:"posterior_sd_sha256,omitempty"`
	PosteriorSHA256   string         `json:"posterior_sha256"`
	Precision         string         `json:"precision"`
	Property          string         `json:"property"`
	Require           property.Exact `json:"require"`
	Seed              uint64         `json:"seed"`
	Std               string         `json:"std,omitempty"`
	StdSHA256         string         `json:"std_sha256,omitempty"`
	TemplateEntry     *int           `json:"template_entry,omitempty"`
	TemplateSHA256    string         `json:"template_sha256,omitempty"`
}

// asked leaves out how the paths of files are spelled of which there is a digest. Of
// FILE.npz:ARRAY the array stays: the digest is that of the whole archive.
func (r *Record) asked() *asking {
	a := &asking{
		Activations: r.Activations, Channels: r.Channels, Clip: r.Clip, ClipSHA256: r.ClipSHA256, Eps: r.Eps, EpsSHA256: r.EpsSHA256, Fix: r.Fix, Flags: r.Flags,
		Free: r.Free, Index: r.Index, InputScale: r.InputScale, InputsSHA256: r.InputsSHA256, Label: r.Label, Mean: r.Mean, MeanSHA256: r.MeanSHA256,
		Name: r.Name, Numerics: r.Numerics, PosteriorScale: r.PosteriorScale, PosteriorSD: r.PosteriorSD, PosteriorSDSHA256: r.PosteriorSDSHA,
		PosteriorSHA256: r.PosteriorSHA256, Precision: r.Precision, Property: r.Property, Require: r.Require, Seed: r.Seed, Std: r.Std, StdSHA256: r.StdSHA256,
		TemplateEntry: r.TemplateEntry, TemplateSHA256: r.TemplateSHA256,
	}
	a.Inputs = r.Member()
	for _, of := range []struct {
		text   *string
		digest string
	}{{&a.Eps, a.EpsSHA256}, {&a.Mean, a.MeanSHA256}, {&a.Std, a.StdSHA256}} {
		if of.digest != "" {
			*of.text = ""
		}
	}
	if a.ClipSHA256 != "" {
		a.Clip = nil
	}
	return a
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
	line, err := json.Marshal(a)
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

// Identified says whether ID is that of what the record says of its question. Sums of neurons
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
	names := maps.Clone(fa)
	maps.Copy(names, fb)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !bytes.Equal(fa[name], fb[name]) {
			return strings.TrimPrefix(name, "~"), string(fa[name]), string(fb[name])
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
