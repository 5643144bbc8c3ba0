package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"psafe/host/record/fields"
)

// family is a digest of what P_safe follows from, but for a radius that is one number. What
// only might be the same counts as different: a contradiction that is none would be worse
// than one that is not found. Flags in without are no part of it.
func (q *Questions) family(r *Record, radius uint32, without ...string) [16]byte {
	b := q.text[:0]
	add := func(texts ...string) {
		for _, t := range texts {
			b = binary.AppendUvarint(b, uint64(len(t)))
			b = append(b, t...)
		}
	}
	number := func(n *int) {
		if n == nil {
			add("")
			return
		}
		add(strconv.Itoa(*n))
	}
	list := func(texts []string) {
		b = binary.AppendUvarint(b, uint64(len(texts)))
		add(texts...)
	}
	// A path counts where there is no digest of its file.
	file := func(text, digest string) {
		if digest != "" {
			text = ""
		}
		add(text, digest)
	}
	add(r.PosteriorSHA256, r.PosteriorScale, r.PosteriorSD, r.PosteriorSDSHA, r.Predictive)
	list(r.Activations)
	// The digest is that of a whole archive.
	add(r.InputsSHA256, r.Member(), strconv.Itoa(r.Index), r.Name, r.Property)
	number(r.Label)
	number(r.TemplateEntry)
	add(r.TemplateSHA256, r.InputScale, r.Fix, r.Free, r.Channels, r.ClipSHA256, r.Norm)
	if r.ClipSHA256 == "" {
		list(r.Clip)
	}
	file(r.Mean, r.MeanSHA256)
	file(r.Std, r.StdSHA256)
	file(r.InputNoise, r.InputNoiseSHA256)
	add(r.Relation)
	file(r.Other, r.OtherSHA256)
	if radius == noRadius {
		file(r.Eps, r.EpsSHA256)
	} else {
		add("radius")
	}
	b = questionFlags(b, r.Flags, without)
	q.text = b
	sum := sha256.Sum256(b)
	return [16]byte(sum[:])
}

// Question is a digest of what P_safe follows from: the same for records that ask the same by any methods,
// devices and spellings of numbers and paths; with anyPosterior, of whatever posterior. Where the radius was
// looked for it is no part, but what was to be certified is.
func (r *Record) Question(anyPosterior bool) [16]byte {
	of, eps := *r, r.Eps
	if anyPosterior {
		of.PosteriorSHA256, of.PosteriorScale, of.PosteriorSD, of.PosteriorSDSHA, of.Predictive, of.Activations = "", "", "", "", "", nil
	}
	var q Questions
	radius := q.radius(r)
	switch {
	case r.RadiusEnd != "":
		eps = "looked for " + r.WantedWords()
	case radius != noRadius:
		eps = q.values[radius].Rat().RatString()
	}
	q.family(&of, radius, "--require") // what is required of P_safe is no part of it
	sum := sha256.Sum256(append(q.text, eps...))
	return [16]byte(sum[:])
}

// questionFlags appends what is left of the field flags without those that tell how a question is
// answered.
func questionFlags(b []byte, flags string, without []string) []byte {
	for flags != "" {
		var word string
		if rest, none := strings.CutPrefix(flags, "--label-column none"); none && (rest == "" || rest[0] == ' ') {
			flags = strings.TrimPrefix(rest, " ") // which is the default
			continue
		}
		word, flags = nextWord(flags)
		if at := fields.FlagOf(word); at < 0 || fields.Flags[at].Asks && !slices.Contains(without, word) {
			b = append(append(b, ' '), word...)
		} else if !fields.Flags[at].Bare {
			_, flags = nextWord(flags)
		}
	}
	return b
}

// nextWord cuts the first word off, which has quotes if there are spaces in it.
func nextWord(text string) (word, rest string) {
	word, rest, _ = strings.Cut(text, " ")
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		word, rest = quoted, strings.TrimPrefix(text[len(quoted):], " ")
	}
	return word, rest
}

// MethodAsked is the method that a record's run was asked for, --method; the field method says
// which one gave p_lower.
func (r *Record) MethodAsked() string { return cmp.Or(r.flag("--method"), r.Method) }

// flag is the value of a flag that the field flags has, empty if it does not.
func (r *Record) flag(name string) string {
	for flags := r.Flags; flags != ""; {
		var word string
		if word, flags = nextWord(flags); word == name {
			word, _ = nextWord(flags)
			return word
		}
	}
	return ""
}

// Functions say of what functions of x the record is about if they are not those of networks alone: of linearised
// ones, of networks with noise of their inputs, or both, of networks at two inputs, or of them and another.
func (r *Record) Functions() string {
	switch {
	case r.InputNoiseSHA256 != "":
		return strings.TrimSpace(fmt.Sprintf("%s input noise %.8s", r.Predictive, r.InputNoiseSHA256))
	case r.InputNoise != "":
		return strings.TrimSpace(r.Predictive + " input noise " + r.InputNoise)
	case r.OtherSHA256 != "":
		return strings.TrimSpace(fmt.Sprintf("%s beside %.8s %s", r.Predictive, r.OtherSHA256, r.Relation))
	case r.Other != "":
		return strings.TrimSpace(r.Predictive + " beside " + r.Other + " " + r.Relation)
	case r.Relation != "":
		return strings.TrimSpace(r.Predictive + " relation " + r.Relation)
	}
	return r.Predictive
}
