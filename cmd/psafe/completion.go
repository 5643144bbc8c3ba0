package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"psafe/host/figure"
	"psafe/host/paper"
	"psafe/host/property"
	"psafe/host/run"
	"psafe/internal/nearest"
)

const completionAbout = `psafe completion prints a script that has a shell complete commands, flags, their
words and file names: bash, zsh or fish. What it completes is what --help lists.

  psafe completion bash > /etc/bash_completion.d/psafe      or: . <(psafe completion bash)
  psafe completion zsh > /usr/share/zsh/site-functions/_psafe
  psafe completion fish > ~/.config/fish/completions/psafe.fish`

// shells are what psafe completion writes for, in the order of messages.
var shells = []string{"bash", "zsh", "fish"}

func runCompletion(_ context.Context, args []string, stdout, _ io.Writer) error {
	f := newFlags("completion", completionAbout, stdout)
	if err := parse(f, args, 1); err != nil {
		return err
	}
	write := map[string]func([]completed) string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[f.Arg(0)]
	if write == nil {
		return fmt.Errorf("completion: no shell %.40q: give bash, zsh or fish%s", f.Arg(0), nearest.Hint(f.Arg(0), shells))
	}
	_, err := io.WriteString(forProgram(stdout), write(completions()))
	return err
}

// completed is what a shell needs to know of a command.
type completed struct {
	name, about string
	flags       []completedFlag
	// words may stand first among the operands, and files, if files is set.
	words []string
	files bool
}

// completedFlag is a flag and what may follow it: one of words, a file, both, or what nobody
// can guess. A switch is followed by nothing.
type completedFlag struct {
	name, about string
	words       []string
	files       bool
	isSwitch    bool
}

// completions asks every command for its flags.
func completions() []completed {
	list := []completed{
		{name: "help", about: "the list of commands, or the flags of one", words: commandNames()},
	}
	for _, c := range append(commands(), versionCommand) {
		to := completed{name: c.name, about: c.about, words: operandWords(c.name), files: takesFiles[c.name]}
		aboutOf(c).flags.VisitAll(func(flag *pflag.Flag) {
			to.flags = append(to.flags, completedFlag{
				name: flag.Name, about: brief(flag.Usage), words: flagWords(c.name, flag.Name),
				files: isFileFlag(flag), isSwitch: flag.NoOptDefVal != "",
			})
		})
		to.flags = append(to.flags, completedFlag{name: "help", about: "what the command does and all flags", isSwitch: true})
		list = append(list, to)
	}
	return list
}

// takesFiles are the commands whose operands are files.
var takesFiles = map[string]bool{"check": true, "inspect": true, "convert": true, "plot": true, "summary": true, "report": true, "import": true, "verify": true, "plan": true, "run": true, "status": true, "merge": true, "submit": true, "man": true}

// operandWords are what may come first behind a command.
func operandWords(command string) []string {
	switch command {
	case "plot":
		return []string{"eps", "bars", "heatmap"}
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
func flagWords(command, flag string) []string {
	switch flag {
	case "method":
		if command == "crosscheck" {
			return crosscheckMethods
		}
		return run.Words()
	case "boxes":
		return []string{string(run.Centred), string(run.Sampled)}
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
		return figure.ByWords
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

// isFileFlag says whether a flag names a file or folder: some by name, others by their help.
func isFileFlag(flag *pflag.Flag) bool {
	if slices.Contains([]string{"posterior", "inputs", "property", "label", "out", "points", "data", "labels"}, flag.Name) {
		return true
	}
	word, _ := pflag.UnquoteUsage(flag)
	return slices.Contains([]string{"FILE", "DIR", "PATH"}, word)
}

// brief is the first clause of a help text, or a few words where that is too short to say
// anything, without what shells would read.
func brief(usage string) string {
	usage = strings.Map(func(r rune) rune {
		if strings.ContainsRune("`'\"[]\\$", r) {
			return -1
		}
		return r
	}, usage)
	first := usage
	for _, end := range []string{": ", "; ", " (", ", for example"} {
		first, _, _ = strings.Cut(first, end)
	}
	if len(first) >= 12 || first == usage {
		return first
	}
	words := strings.Fields(usage)
	for first = ""; len(words) > 0 && len(first)+len(words[0]) < 60; words = words[1:] {
		first += words[0] + " "
	}
	return strings.TrimRight(first, " ,;:")
}
