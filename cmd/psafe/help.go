package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const programAbout = `psafe certifies Bayesian neural networks: given a posterior over weights, it
proves bounds of the probability that the network keeps a property on a
whole region of inputs.
`

const exitText = `0 done (whatever the verdicts), 1 crosscheck or merge found a
difference, certify, paper or summary bounds that contradict each other, or
check a record that does not pass or a missing task, 2 a flag or file is wrong
or a result cannot be written, 3 the device is absent, refused or broke, or its
driver crashed or hung, 4 interrupted (SIGINT, SIGTERM, SIGHUP), 5 the
--total-time-limit is up, 6 a fault of psafe itself, 7 the same again in a shard
of a campaign, 8 memory ran out, 10 a p_lower is under --fail-under or a share
of the inputs is not what --fail-unless asks for. After 1 and 3 to 8, records
that certify had finished are in OUT.partial, and certify or paper with --resume
goes on from there; run goes on whenever it is started again.
`

// helpAll is the flag for all flags of a command that has many.
const helpAll = "help-all"

// helpWidth is the number of columns of a help.
const helpWidth = 80

// flagGroup are flags that belong together.
type flagGroup struct {
	title string
	names []string
}

// flagGroups are the flags of a command that has too many for one list. The first group is what
// --help shows; its flags stand in another group too.
var flagGroups = map[string][]flagGroup{"certify": {
	{"Flags that most runs need", []string{"posterior", "inputs", "index", "eps", "clip", "property", "method", "out"}},
	{"Model", []string{"posterior", "activation", "scale-factor", "predictive"}},
	{"Data", []string{"inputs", "index", "label", "label-column", "input-scale", "mean", "std", "channels"}},
	{"Region", []string{"eps", "norm", "clip", "fix", "free"}},
	{"Question", []string{"property", "require", "target", "costs", "reject", "action", "link", "noise", "no-upper", "derived"}},
	{"Method", []string{"method", "boxes", "draws", "confidence", "cells", "depth", "gamma", "uniform", "seed", "time-limit"}},
	{"Device", []string{"device", "precision", "memory", "recheck", "profile"}},
	{"Output", []string{"out", "overwrite", "resume", "total-time-limit", "omit-timing", "progress", "quiet", "strict"}},
	{"Gates, which decide the exit status", []string{"fail-under", "fail-unless"}},
	{"Files of other programs, which do not say all themselves", []string{"scale", "sd", "sd-relative", "sd-file"}},
	{"Help", []string{"help", helpAll}},
}}

// printHelp prints the help of a command.
func printHelp(cmd *cobra.Command, w io.Writer) {
	if !cmd.HasParent() {
		usage(w)
		return
	}
	fmt.Fprintf(w, "%s\n", cmd.Long)
	groups := groupsOf(cmd)
	all, _ := cmd.Flags().GetBool(helpAll)
	most := len(groups) > 1 && !all
	if most {
		groups = groups[:1]
	} else if len(groups) > 1 {
		groups = groups[1:]
	}
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s:\n", g.title)
		for _, name := range g.names {
			printFlag(cmd.Flags().Lookup(name), w)
		}
	}
	if most {
		fmt.Fprintf(w, "\npsafe %s --help-all lists all %d flags.\n", cmd.Name(), len(flagNames(cmd.Flags())))
	}
}

// flagColumn is the column in which the texts of flags begin.
const flagColumn = 24

// printFlag prints a flag and, beside it, its text in lines that fit.
func printFlag(flag *pflag.Flag, w io.Writer) {
	value, text := described(flag)
	line := fmt.Sprintf("  %-*s", flagColumn-2, strings.TrimSpace("--"+flag.Name+" "+value))
	if !strings.HasSuffix(line, " ") {
		fmt.Fprintln(w, line)
		line = strings.Repeat(" ", flagColumn)
	}
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && len(line)+1+len(word) > helpWidth {
			fmt.Fprintln(w, line)
			line, empty = strings.Repeat(" ", flagColumn), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(w, line)
}

// valueWords are the names of pflag's types in a help.
var valueWords = map[string]string{"string": "VALUE", "stringArray": "VALUE", "strings": "LIST", "ints": "LIST", "int": "N", "uint": "N", "float": "NUMBER", "duration": "TIME"}

// described is a flag as help and manual pages have it: what stands for its value, empty for a
// switch, and its text with the default.
func described(flag *pflag.Flag) (value, text string) {
	value, text = pflag.UnquoteUsage(flag)
	if word := valueWords[value]; word != "" {
		value = word
	}
	if d := strings.Trim(flag.DefValue, "[]"); d != "" && d != "0" && d != "0s" && d != "false" {
		text += " (default " + d + ")"
	}
	return value, text
}

// groupsOf are the groups of a command's flags: one of all where no groups are named.
func groupsOf(cmd *cobra.Command) []flagGroup {
	if groups := flagGroups[cmd.Name()]; groups != nil {
		return groups
	}
	return []flagGroup{{"Flags", flagNames(cmd.Flags())}}
}

// flagNames are the flags of a set.
func flagNames(f *pflag.FlagSet) []string {
	var names []string
	f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// usage prints the list of commands.
func usage(w io.Writer) {
	fmt.Fprint(w, programAbout+"\nUsage: psafe COMMAND [flags]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-11s %s\n", c.Name(), c.Short)
	}
	fmt.Fprint(w, "  help        this text; \"psafe help COMMAND\" lists a command's flags\n\nExit status: "+exitText)
}

// examples are the command lines in the text of a help, which are indented.
func examples(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "  psafe "); ok {
			rest, _, _ = strings.Cut(rest, "   ") // what it does
			list = append(list, "psafe "+rest)
		}
	}
	return list
}

// isHelp reports whether a word asks for help.
func isHelp(word string) bool { return slices.Contains([]string{"help", "--help", "-h"}, word) }
