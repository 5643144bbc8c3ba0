package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"psafe/host/record"
	"psafe/host/tell/summary"
)

// fact is a row of what the page says of all records.
type fact struct {
	Name  string
	Words []string
	// Short words stand in one line.
	Short bool
}

// mostWords is the greatest number of different values that a fact lists.
const mostWords = 12

// factsOf lists what was certified, on what and by what.
func factsOf(records []record.Placed, posteriors []string) []fact {
	each := func(name string, of func(i int, r *record.Record) string) fact {
		f, seen, more := fact{Name: name}, map[string]bool{}, 0
		for i := range records {
			text := of(i, records[i].Record)
			if text == "" || seen[text] {
				continue
			}
			seen[text] = true
			if len(f.Words) == mostWords {
				more++
				continue
			}
			f.Words = append(f.Words, text)
		}
		if more > 0 {
			f.Words = append(f.Words, fmt.Sprintf("and %d more", more))
		}
		f.Short = !slices.ContainsFunc(f.Words, func(w string) bool { return len(w) > 24 })
		return f
	}
	fileOf := map[string]string{}
	for _, of := range foldedOf(files(records)) {
		for _, name := range of.files {
			fileOf[name] = of.String()
		}
	}
	entries := map[string]int{} // records by property files
	for i := range records {
		if summary.PropertyOf(records[i].Record) == "property file" {
			entries[records[i].InputsSHA256]++
		}
	}
	list := []fact{
		each("Posterior", func(i int, r *record.Record) string {
			return fmt.Sprintf("%s (%s; %sSHA-256 %.12s)", posteriors[i], shown(strings.Join(r.Activations, ", ")), spread(r.PosteriorScale), shown(r.PosteriorSHA256))
		}),
		each("Inputs", func(_ int, r *record.Record) string {
			if r.Inputs == "" {
				return ""
			}
			return fmt.Sprintf("%s (SHA-256 %.12s)", shown(summary.Base(r.Inputs)), shown(r.InputsSHA256))
		}),
		each("Region T", func(_ int, r *record.Record) string { return region(r) }),
		each("Safe set S", func(_ int, r *record.Record) string {
			if of := summary.PropertyOf(r); of != "property file" {
				return shown(of)
			}
			if entries[r.InputsSHA256] > mostWords { // names of cells say nothing of S
				return "that of each entry of " + shown(summary.Base(r.Inputs))
			}
			return shown(r.Property)
		}),
		each("Method", func(_ int, r *record.Record) string {
			words, won := record.MethodToday(r.MethodAsked()), record.MethodToday(r.Method)
			if words != won {
				words += " (" + won + ")"
			}
			return shown(words)
		}),
		each("Precision", func(_ int, r *record.Record) string { return shown(r.Precision) }),
		each("Device", func(_ int, r *record.Record) string { return shown(r.Device) }),
		each("psafe", func(_ int, r *record.Record) string { return shown(r.Version) }),
		each("Result file", func(i int, _ *record.Record) string { return fileOf[records[i].File] }),
	}
	return slices.DeleteFunc(list, func(f fact) bool { return len(f.Words) == 0 })
}

// region is T in words.
func region(r *record.Record) string {
	words := "eps " + shown(r.Eps)
	switch {
	case r.TemplateSHA256 != "":
		words = fmt.Sprintf("the boxes of %s around each point", shown(summary.Base(r.Template)))
	case r.Eps == "":
		words = "the boxes of a property file"
	}
	if r.FeaturesOf != "" {
		words = "of features of " + shown(r.FeaturesOf) + ", not of inputs: " + words
	}
	if r.InputNoise != "" {
		words = "of inputs with normal noise of standard deviation " + shown(r.InputNoise) + ", not clipped, added after: " + words
	}
	switch {
	case r.Other != "" && r.Relation != "":
		words = "outputs of each network and of " + shown(summary.Base(r.Other)) + ", " + shown(r.Relation) + ": " + words
	case r.Other != "":
		words = "outputs of each network, then of " + shown(summary.Base(r.Other)) + ": " + words
	case r.Relation != "":
		words = "of pairs of inputs, " + shown(r.Relation) + ", the first from: " + words
	}
	if r.Norm != "" {
		words += " in the L" + shown(r.Norm) + " norm"
	}
	if len(r.Clip) > 0 {
		words += ", cut to [" + shown(strings.Join(r.Clip, ", ")) + "]"
	}
	if r.Fix != "" {
		words += ", inputs " + shown(r.Fix) + " fixed"
	}
	if r.Free != "" {
		words += ", only inputs " + shown(r.Free) + " free"
	}
	return words
}

// kindOf is the property as the table has it, beside the label; those of files have names.
func kindOf(r *record.Record) string {
	if r.Label == nil {
		return shown(r.Property)
	}
	return shown(strings.TrimSuffix(r.Property, ":"+strconv.Itoa(*r.Label)))
}

// sentence is a sentence of the page, in parts: a term that it explains, and the explanation.
type sentence struct{ Term, Words string }

// guaranteeOf tells what the numbers are, as far as these records have them.
func guaranteeOf(records []record.Placed) []sentence {
	statistical, stopped, templates, properties, balls, each := 0, 0, false, false, false, false
	var requires []string
	var sets record.Sets
	var parents record.Parents
	for i := range records {
		r := records[i].Record
		sets.Add(r)
		parents.Add(r)
		if r.Statistical != nil {
			statistical++
		}
		if r.TimedOut() {
			stopped++
		}
		templates = templates || r.TemplateSHA256 != ""
		balls = balls || r.Norm != ""
		each = each || r.EachLower != nil
		properties = properties || r.Eps == "" && r.TemplateSHA256 == ""
		if text := r.Require.String(); !slices.Contains(requires, text) && len(requires) <= mostWords {
			requires = append(requires, text)
		}
	}
	t := "all that differ from a data point by at most eps in each coordinate"
	if balls {
		t += ", or in the L1 or L2 norm where it says so"
	}
	if properties {
		t = "boxes of a property file, or " + t
	}
	t = "the inputs x that are asked about: " + t
	if of := sets.Features(); of != "" {
		t = of + ". Read features where this page says inputs. T is " + t
	}
	if templates {
		t += ", or boxes around it"
	}
	list := []sentence{
		{"P_safe", "the probability that a network drawn from the posterior gives, for every single x in T, an output in S. One drawn network has to be right on the whole region."},
		{"T", t + "."},
		{"S", "the outputs that are safe, such as those whose largest score is of the input's label (argmax_is). That label was given, or is the class of the mean network: nothing here says that it is the right one."},
		{"p_lower", "proved: P_safe is at least this. Rounded down."},
		{"p_upper", "proved: P_safe is at most this. Rounded up; 1 says nothing."},
		{"safe", "p_lower is at least " + orList(requires) + " (--require)."},
		{"unsafe", "p_upper is below it."},
		{"unknown", "neither was proved. That says nothing about the network, only that the proof falls short."},
	}
	if some := sets.Some(); some != "" {
		list[0].Words += " Where the posterior is a finite set of networks (" + some + "), it is the share of these that do so and says nothing of any other network."
	} else if of := sets.Words(); of != "" {
		list[0].Words = "the share of " + of + " that give, for every single x in T, an output in S. It says nothing of any other network. One network has to be right on the whole region."
	}
	if each {
		list = append(list, sentence{"worst input", "each_lower, proved: at each single x in T a network that is drawn anew there gives an output in S with at least this probability. It is never less than p_lower, and no verdict rests on it."})
	}
	if parents.N > 0 {
		lower, upper := parents.Means()
		list = append(list, sentence{"parent", fmt.Sprintf("an interval for %s, from how many of these networks were proved safe and unsafe: on average %s to %s, each with confidence %v. It is statistical, not certified, and has no part in p_lower, p_upper or the verdict.",
			parents.Of(), record.FormatDown(lower, 4), record.FormatUp(upper, 4), parents.Confidence)})
	}
	list = append(list, sentence{"not proved", "anything about inputs outside of T; that the posterior is a good one; what another program computes with the same weights."})
	if statistical > 0 {
		list = append(list, sentence{"statistical", fmt.Sprintf("%s an interval from drawn networks too. It holds with the confidence that it names, is not certified and has no part in p_lower, p_upper or the verdict.", have(statistical, len(records)))})
	}
	if stopped > 0 {
		list = append(list, sentence{"stopped", fmt.Sprintf("of %d records the search was ended by a time limit. Their bounds hold; more might have been proved.", stopped)})
	}
	return list
}

func have(n, all int) string {
	if n == all {
		return "all records have"
	}
	return fmt.Sprintf("%d of %d records have", n, all)
}

func orList(words []string) string {
	if len(words) > mostWords {
		words = append(words[:mostWords:mostWords], "...")
	}
	return strings.Join(words, " or ")
}

// shellPattern is a pattern of names as a shell takes it, empty if it would have to be quoted.
func shellPattern(pattern string) string {
	if word := strings.ReplaceAll(pattern, "*", ""); shellWord(word) != word || strings.Contains(word, "'") {
		return ""
	}
	return pattern
}

// shellWord is a file's name as a shell takes it, empty if it has what is not seen.
func shellWord(name string) string {
	if shown(name) != name {
		return ""
	}
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-/+:=@%", c)
	}
	if name != "" && !strings.ContainsFunc(name, func(c rune) bool { return !plain(c) }) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// noScale is the word of records of covariances, dropout and sets of networks, which have no list of spreads.
const noScale = "unknown"

// spread tells what the spreads of a posterior's file are, "" if it has none.
func spread(scale string) string {
	if scale == noScale {
		return ""
	}
	return "spread " + shown(scale) + "; "
}
