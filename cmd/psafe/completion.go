package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/lab/paper"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/tell/plot"
	"psafe/host/tell/summary"
	"psafe/internal/nearest"
)

const completionAbout = `psafe completion prints a script that has a shell complete commands, flags,
their words and file names: bash, zsh or fish.

  . <(psafe completion bash)
  psafe completion bash > /etc/bash_completion.d/psafe
  psafe completion zsh > /usr/share/zsh/site-functions/_psafe
  psafe completion fish > ~/.config/fish/completions/psafe.fish`

// shells are the shells that psafe completion writes for, in the order of messages.
var shells = []string{"bash", "zsh", "fish"}

func completionCommand() *cobra.Command {
	cmd, f := newCommand("completion", "completion of commands and flags for bash, zsh and fish", completionAbout, 1)
	return does(cmd, func(_ context.Context, stdout, _ io.Writer) error {
		root, w := cmd.Root(), forProgram(stdout)
		switch f.Arg(0) {
		case "bash":
			return root.GenBashCompletionV2(w, true)
		case "zsh":
			return root.GenZshCompletion(w)
		case "fish":
			return root.GenFishCompletion(w, true)
		}
		return fmt.Errorf("completion: no shell %.40q: give bash, zsh or fish%s", f.Arg(0), nearest.Hint(f.Arg(0), shells))
	})
}

// completes tells cobra what may follow each command and flag, when a shell asks.
func completes(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		name := cmd.Name()
		cmd.ValidArgsFunction = choices(operandWords(name), takesFiles[name])
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if o, ok := flag.Value.(*once); ok {
				flag.Value = o.Value // cobra reads the words twice
			}
			if flag.NoOptDefVal != "" {
				return // a switch, which nothing follows
			}
			if err := cmd.RegisterFlagCompletionFunc(flag.Name, choices(flagWords(cmd, flag.Name), isFileFlag(flag))); err != nil {
				panic("psafe: " + err.Error())
			}
		})
	}
}

// choices completes words, or files where none of them fits.
func choices(words []string, files bool) cobra.CompletionFunc {
	directive := cobra.ShellCompDirectiveNoFileComp
	if files {
		directive = cobra.ShellCompDirectiveDefault
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(w, ":") || strings.HasSuffix(w, "=") }) {
		directive |= cobra.ShellCompDirectiveNoSpace // a value follows
	}
	return cobra.FixedCompletions(words, directive)
}

// takesFiles are the commands whose operands are files.
var takesFiles = map[string]bool{"check": true, "inspect": true, "convert": true, "plot": true, "summary": true, "diff": true, "report": true, "verify": true, "plan": true, "run": true, "status": true, "merge": true, "submit": true, "man": true}

// operandWords returns what may come first behind a command.
func operandWords(command string) []string {
	switch command {
	case "plot":
		return plotWords
	case "submit":
		return engineWords
	case "paper":
		return append(slices.Clone(paper.Names), "all")
	case "completion":
		return shells
	case "man":
		return commandNames()
	}
	return nil
}

// flagWords are the values of flags that are words.
func flagWords(cmd *cobra.Command, flag string) []string {
	command := cmd.Name()
	switch flag {
	case "options":
		var words []string
		optionsOf(cmd.Flags()).VisitAll(func(key *pflag.Flag) {
			if words = append(words, key.Name); key.NoOptDefVal == "" {
				words[len(words)-1] += "="
			}
		})
		return words
	case "method":
		if command == "crosscheck" {
			return crosscheckMethods
		}
		return prove.MethodWords()
	case "precision":
		return precisionWords
	case "scale":
		return scaleWords()
	case "activation":
		return activationWords()
	case "property":
		var words []string
		for _, kind := range property.SpecKinds() {
			if kind != property.KeepsClass {
				kind += ":"
			}
			words = append(words, kind)
		}
		return words
	case "progress":
		return []string{"auto", "json", "none"}
	case "device":
		return []string{"auto", "cpu", "gpu", "all-gpus"}
	case "against":
		return []string{"opencl", "cpu"}
	case "format":
		return []string{"npz", "safetensors"}
	case "task":
		return []string{"regression", "classification"}
	case "field":
		return []string{"p_lower", "p_upper"}
	case "by":
		if command == "summary" {
			return summary.ByWords
		}
		return append(slices.Clone(plot.ByWords), "eps")
	case "of":
		return append(plot.QuantityWords(), "radii")
	case "label":
		return []string{"column", "mean"}
	case "label-column":
		return []string{"first", "last", "none"}
	case "data":
		if command == "train" {
			return []string{"cubic"}
		}
	}
	return nil
}

// isFileFlag reports whether a flag names a file or folder: some by name, others by their help.
func isFileFlag(flag *pflag.Flag) bool {
	if slices.Contains([]string{"posterior", "inputs", "property", "label", "out", "points", "data", "labels", "sd"}, flag.Name) {
		return true
	}
	word, _ := pflag.UnquoteUsage(flag)
	return slices.Contains([]string{"FILE", "DIR", "PATH"}, word)
}
