package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/record"
	"psafe/internal/nearest"
)

const (
	thePosterior = "the name of a posterior"
	theCampaign  = "the folder of a campaign"
)

// operandNouns name a command's operand, where it is not a file of another kind.
var operandNouns = map[string]string{"inspect": thePosterior, "convert": thePosterior, "completion": "the name of a shell", "plan": "the name of a campaign file",
	"verify": "the name of a VNN-LIB query", "run": theCampaign, "status": theCampaign, "merge": theCampaign}

// miscounted is the error of a command that takes so many operands and got others.
func miscounted(cmd *cobra.Command, operands int) error {
	f := cmd.Flags()
	name, got := cmd.Name(), f.Args()
	if len(got) > operands {
		extra := got[operands]
		hint := dashed(strings.TrimLeft(extra, "-"), f)
		if file := f.Lookup("posterior"); hint == "" && file != nil && !file.Changed && strings.ContainsAny(extra, "./") {
			hint = fmt.Sprintf("; did you mean --posterior %.60s?", extra)
		}
		return fmt.Errorf("%s: %.60q belongs to no flag: a flag is --name VALUE; psafe help %s lists them%s", name, extra, name, hint)
	}
	noun := operandNouns[name]
	if noun == "" {
		noun = fmt.Sprintf("%d names, and has %d", operands, len(got))
	}
	return fmt.Errorf("%s needs %s%s", name, noun, exampleOf(cmd))
}

// exampleOf ends a message with the first example of a command, if it has one.
func exampleOf(cmd *cobra.Command) string {
	if list := examples(cmd.Long); len(list) > 0 {
		return ": " + list[0]
	}
	return ": psafe help " + cmd.Name()
}

// misread is an error of pflag in words that say what to do.
func misread(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if twice, ok := errors.AsType[*givenTwice](err); ok {
		return twice
	}
	if wrong, ok := errors.AsType[*optionError](err); ok {
		return wrong.error
	}
	name, f := cmd.Name(), cmd.Flags()
	lists := fmt.Sprintf("psafe help %s lists the flags", name)
	if f.Lookup(helpAll) != nil {
		lists = fmt.Sprintf("psafe %s --%s lists the flags", name, helpAll)
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if group := e.GetSpecifiedShortnames(); group != "" {
			return fmt.Errorf("%s has no flag -%s: flags are written --name, with two dashes: %s%s", name, group, lists, dashed(group, f))
		}
		if noun := operandNouns[name]; e.GetSpecifiedName() == "posterior" && noun == thePosterior {
			return fmt.Errorf("%s takes %s without a flag%s", name, noun, exampleOf(cmd))
		}
		if write := movedTo(cmd, e.GetSpecifiedName()); write != "" {
			return fmt.Errorf("%s has no flag --%s any more: write %s", name, e.GetSpecifiedName(), write)
		}
		if words := foreignFlags[strings.ToLower(e.GetSpecifiedName())]; words != "" && f.Lookup("eps") != nil {
			return fmt.Errorf("%s has no flag --%s: %s", name, e.GetSpecifiedName(), words)
		}
		return fmt.Errorf("%s has no flag --%s: %s%s", name, e.GetSpecifiedName(), lists, dashed(e.GetSpecifiedName(), f))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		name := e.GetSpecifiedName()
		return fmt.Errorf("--%s has no value: write --%s VALUE: %s", name, name, lists)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := e.GetFlag()
		return fmt.Errorf("--%s %.60q is %s", flag.Name, e.GetValue(), notOf(flag.Value.Type()))
	}
	return fmt.Errorf("%s: %w: %s", name, err, lists)
}

// What other programs call what psafe has, or has in another form.
const (
	aboutEps    = "the radius of T in each coordinate is --eps, for example --eps 8/255"
	aboutNorm   = "T is a box, in which every coordinate moves by up to --eps by itself (the l_inf norm), unless certify is told --norm 2 or --norm 1: then it is the ball of that norm"
	aboutRobust = "robustness is what psafe asks by default (--property keeps_class): every point of T has the class of its middle; see psafe certify --posterior FILE --inputs FILE --eps 0.01"
)

// foreignFlags are answers to flags that other programs have, or psafe had.
var foreignFlags = map[string]string{
	"epsilon": aboutEps, "radius": aboutEps, "delta": aboutEps, "perturbation": aboutEps,
	"p": aboutNorm, "l2": aboutNorm, "linf": aboutNorm, "lp": aboutNorm,
	"robust": aboutRobust, "robustness": aboutRobust,
	"splits":  "weight boxes are not cut any more: --method auto or clbp proves more, so leave out --splits",
	"boxes":   "weight boxes are those of Algorithm 1, --method ibp or lbp with --gamma and --draws, so leave out --boxes; one around the mean proved less than --method auto or clbp",
	"uniform": "there is no weight box around the mean any more: --method auto or clbp proves more, so leave out --uniform",
}

// foreignCommands are answers to commands that other programs have.
var foreignCommands = map[string]string{
	"robust": aboutRobust, "robustness": aboutRobust, "epsilon": aboutEps, "eps": aboutEps, "l2": aboutNorm, "norm": aboutNorm,
	"attack": "psafe attacks by itself: psafe certify for its upper bounds, psafe verify for a counterexample of a query",
	"prove":  "psafe certify proves bounds of P_safe",
}

// dashed is a hint at a flag: the nearest, or the longest of at least three letters that a
// name begins with, as --epsilon does with eps.
func dashed(name string, f *pflag.FlagSet) string {
	guess := nearest.Word(name, flagNames(f))
	if keys := optionsOf(f); guess == "" && keys != nil {
		if key := nearest.Word(name, flagNames(keys)); key != "" {
			return "; did you mean --options " + spelled(keys.Lookup(key), true) + "?"
		}
	}
	if guess == "" {
		for _, flag := range flagNames(f) {
			if len(flag) >= max(3, len(guess)+1) && strings.HasPrefix(strings.ToLower(name), flag) {
				guess = flag
			}
		}
	}
	if guess == "" {
		return ""
	}
	return "; did you mean --" + guess + "?"
}

// didYouMean adds a guess to an error about a word.
func didYouMean(err error, word string, known []string) error {
	return fmt.Errorf("%w%s", err, nearest.Hint(word, known))
}

// scaleWords returns the words of --scale.
func scaleWords() []string {
	// Not all versions of package posterior know all.
	return slices.DeleteFunc([]string{"sd", "variance", "softplus", "log_sd", "log_variance"}, func(w string) bool {
		_, err := posterior.ParseScale(w)
		return err != nil
	})
}

// activationWords returns the words of --activation, without what follows a colon.
func activationWords() []string {
	var words []string
	for word := range strings.SplitSeq(network.Words(), ", ") {
		word, _, _ = strings.Cut(word, ":")
		words = append(words, word)
	}
	return words
}

// Words of other flags.
var (
	precisionWords    = []string{"float32", "float64"}
	crosscheckMethods = []string{"ibp", "lbp", "clbp"}
)

// movedFlags are answers to flags that are now values of others, which the command has to have.
var movedFlags = map[string]struct{ flag, write string }{
	"fail-under":  {"fail-unless", `--fail-unless "p_lower>=NUMBER"`},
	"sd-relative": {"sd", "--sd relative:NUMBER"},
	"sd-file":     {"sd", "--sd FILE"},
}

// movedTo is how a flag of before is written now, empty if it never was.
func movedTo(cmd *cobra.Command, name string) string {
	name, _ = record.Today(name, "")
	f := cmd.Flags()
	if moved, ok := movedFlags[name]; ok && f.Lookup(moved.flag) != nil {
		return moved.write
	}
	if keys := optionsOf(f); keys != nil && keys.Lookup(name) != nil {
		return "--options " + spelled(keys.Lookup(name), true)
	}
	return ""
}
