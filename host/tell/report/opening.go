package report

import (
	"fmt"
	"math/big"
	"path"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/summary"
)

// openingOf says in one sentence, for who decides, what is proved: of how many questions how large a
// share of the networks does what everywhere, and what of the others.
func openingOf(records []record.Placed, result *summary.Result) string {
	questions := "questions"
	if result.Records != result.Questions || result.NotCompared > 0 {
		questions = "records"
	}
	if result.WithPLower == 0 {
		return fmt.Sprintf("For none of %s %s a share of networks is proved to be safe: these records have statistical intervals alone.", grouped(result.Records), questions)
	}
	share, which := sharesOf(result), "of the networks that this posterior describes"
	if several(records, func(r *record.Record) string { return r.PosteriorSHA256 + r.PosteriorScale + r.Functions() }) {
		which = "of the networks that a posterior describes"
	}
	if !several(records, func(r *record.Record) string { return r.Predictive }) && records[0].Predictive != "" {
		which = strings.Replace(which, "networks", shown(records[0].Predictive)+" networks", 1)
	}
	var sets record.Sets
	for i := range records {
		sets.Add(records[i].Record)
	}
	some := sets.Some()
	if some == "" && result.ShareOf != "" {
		which = "of " + result.ShareOf
	}
	text := fmt.Sprintf("For %s of %s %s it is proved that %s %s %s", grouped(result.Safe), grouped(result.Records), questions, share, which, what(records))
	switch {
	case result.Unsafe > 0 && result.Unknown > 0:
		text += fmt.Sprintf("; for %s that fewer do, and for %s neither", grouped(result.Unsafe), grouped(result.Unknown))
	case result.Unsafe > 0:
		text += fmt.Sprintf("; for %s that fewer do", grouped(result.Unsafe))
	case result.Unknown > 0:
		text += fmt.Sprintf("; for %s neither this nor its contrary is", grouped(result.Unknown))
	}
	if some != "" {
		text += fmt.Sprintf(". In %s the networks are those of a finite set alone", some)
	}
	if result.Features != "" {
		text += ". " + result.Features
	}
	return text + "."
}

// sharesOf returns what was required, in percent where that is short.
func sharesOf(result *summary.Result) string {
	if len(result.Requires) != 1 {
		return "at least the share that was required"
	}
	text := result.Requires[0].Require
	require, err := property.NewExact(text)
	if err != nil {
		return "at least " + shown(text)
	}
	percent := new(big.Rat).Mul(require.Rat(), big.NewRat(100, 1))
	for digits := range 4 {
		words := percent.FloatString(digits)
		if same, ok := new(big.Rat).SetString(words); ok && same.Cmp(percent) == 0 {
			return "at least " + words + " %"
		}
	}
	return "at least a share of " + shown(text)
}

// what the networks do, as far as the records ask for the same.
func what(records []record.Placed) string {
	where := "everywhere within eps"
	first := records[0].Record
	switch {
	case several(records, func(r *record.Record) string { return r.Norm }):
		where = "everywhere in T"
	case first.Eps == "" || several(records, func(r *record.Record) string { return fmt.Sprint(r.Eps == "") }):
		where = "everywhere in T"
	case !several(records, func(r *record.Record) string { return r.Eps }):
		if len(first.Eps) <= 24 {
			where += " " + shown(first.Eps)
		}
	}
	if first.Norm != "" && where != "everywhere in T" {
		where += " in the L" + shown(first.Norm) + " norm"
	}
	if !several(records, func(r *record.Record) string { return summary.PropertyOf(r) }) && keepsClass(first) {
		return "keep their answer " + where
	}
	return "give a safe output " + where
}

// keepsClass reports whether the property is argmax_is.
func keepsClass(r *record.Record) bool {
	kind, _, _ := strings.Cut(summary.PropertyOf(r), " ")
	return kind == "argmax_is"
}

// several reports whether the records do not all say the same.
func several(records []record.Placed, of func(*record.Record) string) bool {
	first := of(records[0].Record)
	for i := range records {
		if of(records[i].Record) != first {
			return true
		}
	}
	return false
}

// decisionsOf says in a line what posterior predictives decide.
func decisionsOf(result *summary.Result) []string {
	d := result.Decisions
	if d == nil {
		return nil
	}
	if d.Actions > 0 {
		text := fmt.Sprintf("What the average of the networks decides by costs is a question of its own: for %s of %s records the action is proved to be taken everywhere, for %s another one somewhere.",
			grouped(d.Safe), grouped(d.Decisions), grouped(d.Unsafe))
		if d.NoOther != nil {
			text += fmt.Sprintf(" For %s the class of the label is taken everywhere, and for %s no other class anywhere; for %s none is taken anywhere: abstained.", grouped(*d.Taken), grouped(*d.NoOther), grouped(*d.Abstained))
		}
		return []string{text}
	}
	probit := ""
	if d.Probit > 0 {
		probit = fmt.Sprintf(" Of %s of them the predictive is the probit approximation, no average over the posterior.", grouped(d.Probit))
	}
	return []string{fmt.Sprintf("What the average of the networks decides is a question of its own: for %s of %s records it is proved to be the class everywhere, for %s to be another one somewhere; "+
		"for %s more than half of the networks are proved to vote for the class. The class has a probability of at least %s on average.",
		grouped(d.Safe), grouped(d.Decisions), grouped(d.Unsafe), grouped(d.Vote), record.FormatDown(d.MeanLower, 4)) + probit}
}

// eachOf says in a line what is proved of networks that are drawn anew at each input.
func eachOf(result *summary.Result) []string {
	e := result.Each
	if e == nil {
		return nil
	}
	return []string{fmt.Sprintf("How probable a safe output is at the worst single input of T, for a network that is drawn there, is a question of its own (each_lower): for %s of %s records it is proved to be what is required or more; on average %s or more.",
		grouped(e.Safe), grouped(e.Records), record.FormatDown(e.MeanLower, 4))}
}

// drawnOf, which begins with worst inputs and decisions, are the statistical intervals in a line each, for the overview.
func drawnOf(result *summary.Result) []string {
	list := append(eachOf(result), decisionsOf(result)...)
	for _, s := range []*summary.Statistical{result.Intervals, result.Parents} {
		if s == nil {
			continue
		}
		list = append(list, fmt.Sprintf("%s. %s intervals of confidence %v or more: on average %s to %s; %s from what is required on, %s below it. No verdict rests on them.",
			strings.ToUpper(s.Statement[:1])+shown(s.Statement[1:]), grouped(s.Intervals), s.Confidence,
			record.FormatDown(s.MeanLower, 4), record.FormatUp(s.MeanUpper, 4), grouped(s.Above), grouped(s.Below)))
	}
	return list
}

// mostOfFolder is how many files of one folder are listed one by one.
const mostOfFolder = 3

// folded are names of files, in which many of one folder, such as the shards of a campaign, are one
// entry: the pattern of all and how many they are.
type folded struct {
	pattern string
	files   []string
}

func (f *folded) String() string {
	if len(f.files) == 1 {
		return shown(f.files[0])
	}
	return fmt.Sprintf("%s (%s files)", shown(f.pattern), grouped(len(f.files)))
}

// foldedOf folds names. Shards and their attempts lie up to two folders below that of the campaign.
func foldedOf(names []string) []*folded {
	count := map[string]int{}
	slashed := func(name string) string { return strings.ReplaceAll(name, `\`, "/") }
	for _, name := range names {
		count[path.Dir(slashed(name))]++
		count[path.Dir(path.Dir(slashed(name)))+"/*"]++
	}
	at := map[string]*folded{}
	var list []*folded
	for _, name := range names {
		dir, ext := path.Dir(slashed(name)), path.Ext(name)
		pattern := ""
		switch {
		case count[dir] > mostOfFolder:
			pattern = dir + "/*" + ext
		case dir != "." && path.Dir(dir) != "/" && count[path.Dir(dir)+"/*"] > mostOfFolder:
			pattern = path.Dir(dir) + "/*/*" + ext
		default:
			list = append(list, &folded{name, []string{name}})
			continue
		}
		if at[pattern] == nil {
			at[pattern] = &folded{pattern: pattern}
			list = append(list, at[pattern])
		}
		at[pattern].files = append(at[pattern].files, name)
	}
	return list
}
