package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/read/onnx/lower"
)

const supportsAbout = `psafe supports says what psafe verify can do, for tools that drive VNN-LIB
solvers: one flag, one
answer a line.

  psafe supports --onnx-element-types`

// capability is a flag of supports: what VNN-LIB calls it, and its answer.
type capability struct {
	flag, about string
	lines       []string
}

// capabilities in the order of the standard. Statements are about real arithmetic, so real
// is the only element type: the standard wants only types listed for which an analysis is
// sound.
var capabilities = []capability{
	{"onnx-opset-versions", "first and last version of ONNX's operators", opsets()},
	{"onnx-element-types", "element types for which answers are sound", []string{"real"}},
	{"onnx-operators", "operators of ONNX", lower.Operators()},
	{"vnnlib-versions", "first and last version of VNN-LIB", []string{"1.0", "2.1"}},
	{"hidden-node-theories", "statements about hidden nodes: none (NH)", []string{"NH"}},
	{"multiple-input-output-theories", "networks with one input and one output (SIO)", []string{"SIO"}},
	{"multiple-network-theories", "queries about several networks, equal, isomorphic or any (MNET)", []string{"SNET", "MENET", "MINET", "MNET"}},
	{"multiple-node-comparison-theories", "comparisons of nodes of a network with each other (MNC)", []string{"SNC", "MNC"}},
	{"arithmetic-complexity-theories", "linear expressions (LIN)", []string{"BND", "COUT", "LIN"}},
	{"optimised-disjunctive-reasoning", "false: queries are written out to disjunctive normal form", []string{"false"}},
	{"serialise-assignments", "false: counterexamples are printed", []string{"false"}},
	{"unsat-proofs", "false: see psafe check for certificates of psafe's own", []string{"false"}},
}

func opsets() []string {
	first, last := lower.Opsets()
	return []string{strconv.Itoa(first), strconv.Itoa(last)}
}

func supportsCommand() *cobra.Command {
	cmd, f := newCommand("supports", "what verify can do, for tools that drive VNN-LIB solvers", supportsAbout, 0)
	for _, c := range capabilities {
		f.Bool(c.flag, false, c.about)
	}
	return does(cmd, func(_ context.Context, stdout, _ io.Writer) error {
		var asked []capability
		for _, c := range capabilities {
			f.Visit(func(given *pflag.Flag) {
				if given.Name == c.flag {
					asked = append(asked, c)
				}
			})
		}
		if len(asked) != 1 {
			return errors.New("supports: give one flag, for example --vnnlib-versions: psafe help supports lists them")
		}
		_, err := fmt.Fprintln(stdout, strings.Join(asked[0].lines, "\n"))
		return err
	})
}
