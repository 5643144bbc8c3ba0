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
difference, certify, paper, summary or diff bounds that contradict each other,
or check a record that does not pass or a missing task, 2 a flag or file is
wrong or a result cannot be written, 3 the device is absent, refused or broke,
or its driver crashed or hung, 4 interrupted (SIGINT, SIGTERM, SIGHUP), 5 the
--total-time-limit is up, 6 a fault of psafe itself, 7 the same again in a shard
of a campaign, 8 memory ran out, 10 a p_lower or a share of the inputs is not
what --fail-unless asks for, or diff found what --fail-if-worse does not allow.
After 1, 3 to 8, and 2 if the disk is full, records that certify had finished
are in OUT.partial, and certify or paper with --resume goes on from there; run
goes on whenever it is started again.
`

// helpAll is the flag for all flags of a command that has many.
const helpAll = "help-all"

// helpWidth is the number of columns of a help.
const helpWidth = 80

// flagGroup are flags that belong together, or keys of --options.
type flagGroup struct {
	title   string
	names   []string
	of      *pflag.FlagSet // groupsOf sets it
	options bool
}

// flagGroups are the flags of a command that has too many for one list. The first group is what
// --help shows; its flags stand in another group too.
var flagGroups = map[string][]flagGroup{"certify": {
	{title: "Flags that most runs need", names: []string{"posterior", "inputs", "index", "eps", "clip", "property", "method", "out"}},
	{title: "Model", names: []string{"posterior", "activation", "scale-factor", "predictive"}},
	{title: "Data", names: []string{"inputs", "index", "label", "label-column", "input-scale", "mean", "std", "channels"}},
	{title: "Region", names: []string{"eps", "norm", "clip", "fix", "free", "input-noise", "relation", "other"}},
	{title: "Question", names: []string{"property", "require", "target"}},
	{title: "Method", names: []string{"method", "draws", "gamma", "time-limit", "options"}},
	{title: "Device", names: []string{"device", "precision"}},
	{title: "Output", names: []string{"out", "columns", "overwrite", "resume", "total-time-limit", "omit-timing", "progress", "quiet", "strict"}},
	{title: "Gates, which decide the exit status", names: []string{"fail-unless", "junit"}},
	{title: "Files of other programs, which do not say all themselves", names: []string{"scale", "sd"}},
	{title: "Help", names: []string{"help", helpAll}},
}}

// printHelp prints the help of a command.
func printHelp(cmd *cobra.Command, w io.Writer) {
	fmt.Fprintf(w, "%s\n", cmd.Long)
	groups := groupsOf(cmd)
	all, _ := cmd.Flags().GetBool(helpAll)
	most := flagGroups[cmd.Name()] != nil && !all
	if most {
		groups = groupOf(cmd)
	}
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s:\n", g.title)
		for _, name := range g.names {
			printFlag(g.of.Lookup(name), g.options, w)
		}
	}
	if most {
		fmt.Fprintf(w, "\npsafe %s --help-all lists all %d flags.\n", cmd.Name(), len(flagNames(cmd.Flags())))
	}
}

// flagColumn is the column in which the texts of flags begin.
const flagColumn = 24

// spelled is a flag, or a key of --options, with what stands for its value.
func spelled(flag *pflag.Flag, option bool) string {
	value, _ := described(flag)
	switch {
	case !option:
		return strings.TrimSpace("--" + flag.Name + " " + value)
	case value != "":
		return flag.Name + "=" + value
	}
	return flag.Name
}

// printFlag prints a flag or a key of --options and, beside it, its text in lines that fit.
func printFlag(flag *pflag.Flag, option bool, w io.Writer) {
	_, text := described(flag)
	line := fmt.Sprintf("  %-*s", flagColumn-2, spelled(flag, option))
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

// groupOf is what --help shows of a command that has many flags.
func groupOf(cmd *cobra.Command) []flagGroup {
	first := flagGroups[cmd.Name()][0]
	first.of = cmd.Flags()
	return []flagGroup{first}
}

// groupsOf are the groups of a command's flags, one of all where no groups are named, and the keys of
// --options.
func groupsOf(cmd *cobra.Command) []flagGroup {
	f := cmd.Flags()
	groups := []flagGroup{{title: "Flags", names: flagNames(f)}}
	if named := flagGroups[cmd.Name()]; named != nil {
		groups = slices.Clone(named[1:]) // the first repeats some of the others
	}
	for i := range groups {
		groups[i].of = f
	}
	if keys := optionsOf(f); keys != nil {
		groups = append(groups, flagGroup{"Options, as in --options KEY=VALUE,KEY=VALUE", flagNames(keys), keys, true})
	}
	return groups
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
