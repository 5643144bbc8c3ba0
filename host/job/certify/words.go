package certify

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record"
)

// setting is a flag of psafe certify that is given, and its value; a flag that is on or
// off has none.
type setting struct{ name, value string }

// list is settings in the order of their adding.
type list []setting

// add adds a setting whose value is not empty.
func (l *list) add(name, value string) {
	if value != "" {
		*l = append(*l, setting{name, value})
	}
}

// on adds a setting that is on or off.
func (l *list) on(name string, given bool) {
	if given {
		*l = append(*l, setting{name: name})
	}
}

// text writes a value as flags do, empty if it is not given.
func text[T any](given *T) string {
	if given == nil {
		return ""
	}
	return fmt.Sprint(*given)
}

// numbers are the settings that decide the numbers of a record and are no field of it, in
// the order of the field that lists them.
func (m *Method) numbers() list {
	var l list
	l.add("draws", text(m.Draws))
	l.add("cells", text(m.Cells))
	l.add("depth", text(m.Depth))
	l.add("gamma", text(m.Gamma))
	l.add("confidence", text(m.Confidence))
	l.on("no-upper", m.NoUpper)
	l.on("derived", m.Derived)
	if m.Each {
		l.add("target", TargetEach)
	}
	if m.Decision {
		l.add("target", TargetDecision)
	}
	if m.Mean {
		l.add("target", TargetMean)
	}
	if m.Link == LinkProbit {
		l.add("link", LinkProbit)
	}
	l.add("costs", m.costs())
	l.add("reject", m.Reject)
	l.add("action", m.Action)
	l.add("noise", m.Noise)
	l.add("quantile", m.Quantile)
	return l
}

// stopsAt reports whether the method goes on with an input only until Require, which was given, decides.
func (j *Job) stopsAt(by prove.Method) bool { return by == prove.Auto && j.Require != "" }

// numberWords are the method that was chosen and the settings given that decide numbers
// which no other field of a record tells: with those fields, all that it takes to
// make the record again. They are in the words of records.
func (j *Job) numberWords(by prove.Method) string {
	l := j.Method.numbers()
	l.add("most", j.Tasks.Points.Most)
	l.add("step", j.Tasks.Points.Step)
	l.add("label-column", j.Tasks.Points.LabelColumn) // what is no class is a coordinate
	if by == prove.Auto || by == prove.NeuronSum {
		// p_upper may be the device's where the field precision is that of the host's sums.
		l.add("precision", text(j.Precision))
	}
	if j.TimeLimit != nil {
		l.add("time-limit", j.TimeLimit.String())
	}
	if j.stopsAt(by) {
		l.add("require", j.require().String())
	}
	_, method := record.Recorded("method", by.String())
	words := "--method " + method
	for _, s := range l {
		s.name, s.value = record.Recorded(s.name, s.value)
		words += " --" + s.name
		if s.value == "" {
			continue
		}
		if strings.ContainsFunc(s.value, func(r rune) bool { return unicode.IsSpace(r) || r == '"' }) {
			s.value = strconv.Quote(s.value)
		}
		words += " " + s.value
	}
	return words
}

// Args are the flags of psafe that name the posterior and say how it is read.
func (p *Posterior) Args() []string {
	var l list
	l.add("posterior", p.Path)
	if p.Options.Scale != posterior.ScaleUnknown {
		l.add("scale", p.Options.Scale.String())
	}
	var activations []string
	for _, a := range p.Options.Activations {
		activations = append(activations, a.String())
	}
	l.add("activation", strings.Join(activations, ","))
	l.add("sd", p.Options.Flag())
	l.add("scale-factor", p.Factor)
	l.add("predictive", p.predictive())
	return l.args()
}

func (t *Tasks) settings() list {
	var l list
	p := &t.Points
	l.add("inputs", p.Inputs)
	l.add("input-scale", p.Scale)
	l.add("label-column", p.LabelColumn)
	l.add("index", text(p.Index))
	l.add("eps", p.Eps)
	l.add("most", p.Most)
	l.add("step", p.Step)
	l.add("norm", p.normWord())
	l.add("clip", strings.Join(p.Clip, ","))
	l.add("fix", p.Fix)
	l.add("input-noise", p.InputNoise)
	l.add("relation", p.Relation)
	l.add("other", p.Other)
	l.add("free", p.Free)
	l.add("mean", p.Mean)
	l.add("std", p.Std)
	l.add("channels", p.Channels)
	l.add("property", t.File)
	if p.Property != property.KeepsClass {
		l.add("property", p.Property)
	}
	l.add("label", p.Label)
	return l
}

// Command is the job as words of a command line, without the choice of devices: psafe
// reads the same Job of them, but for what only a program can set. It is for people to
// read and to run; nothing here reads it.
func (j *Job) Command() []string {
	l := j.Tasks.settings()
	l.add("method", text(j.Method.By))
	l = append(l, j.Method.numbers()...)
	l.add("seed", text(j.Method.Seed))
	l.add("precision", text(j.Precision))
	l.add("require", j.Require)
	if j.TimeLimit != nil {
		l.add("time-limit", j.TimeLimit.String())
	}
	if j.TotalTimeLimit != nil {
		l.add("total-time-limit", j.TotalTimeLimit.String())
	}
	l.add("out", j.Out.Path)
	l.on("resume", j.Out.Resume)
	l.on("overwrite", j.Out.Overwrite)
	l.on("omit-timing", j.Out.OmitTiming)
	l.on("strict", j.Strict)
	command := "certify"
	if j.Tasks.Points.Most != "" {
		command = "radius"
	}
	return append(append([]string{"psafe", command}, j.Posterior.Args()...), l.args()...)
}

// optionKeys are the settings that a command line has in --options.
var optionKeys = []string{"no-upper", "derived", "cells", "depth", "confidence", "seed", "noise", "quantile", "link", "costs", "reject", "action"}

// InOptions are the flags of a job of a campaign, each with its value behind it or by =, as a command
// line has them: some are keys of --options there.
func InOptions(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		form := map[string]string{"sd-file": "--sd ", "sd-relative": "--sd relative:"}[name]
		if slices.Contains(optionKeys, name) {
			form = "--options " + name + "="
		}
		if !strings.HasPrefix(args[i], "--") || form == "" {
			out = append(out, args[i])
			continue
		}
		if !joined {
			i++
			value = args[i]
		}
		flag, before, _ := strings.Cut(form, " ")
		out = append(out, flag, before+value)
	}
	return out
}

// args are the settings as a program gets them, those of --options in the first of them.
func (l list) args() []string {
	var args []string
	options := -1
	for _, s := range l {
		switch {
		case slices.Contains(optionKeys, s.name):
			if options < 0 {
				options, args = len(args)+1, append(args, "--options", "")
			} else {
				args[options] += ","
			}
			args[options] += s.name
			if s.value != "" {
				args[options] += "=" + s.value
			}
		case s.value == "":
			args = append(args, "--"+s.name)
		default:
			args = append(args, "--"+s.name, s.value)
		}
	}
	return args
}

// plainWord is a word that means itself to every shell.
var plainWord = regexp.MustCompile(`^((--)?[a-z-]+=)?[A-Za-z0-9_@%+:,./-]+$`)

// Shell joins words so that sh, bash and zsh read them as they are, byte for byte. No word may
// have a NUL.
func Shell(words []string) string {
	var quoted []string
	for _, w := range words {
		if !plainWord.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted = append(quoted, w)
	}
	return strings.Join(quoted, " ")
}
