package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// anyNumber is the operands of a command that counts them itself.
const anyNumber = -1

// newCommand is a command without its flags; operands is how many words that are no flags it
// takes. The text of its help is long, brief stands in lists.
func newCommand(name, brief, long string, operands int) (*cobra.Command, *pflag.FlagSet) {
	cmd := &cobra.Command{Use: name, Short: brief, Long: long}
	cmd.Args = func(cmd *cobra.Command, got []string) error {
		if all, err := cmd.Flags().GetBool(helpAll); err == nil && all {
			return pflag.ErrHelp
		}
		if len(got) != operands && operands != anyNumber {
			return miscounted(cmd, operands)
		}
		return nil
	}
	f := cmd.Flags()
	f.SortFlags = false
	return cmd, f
}

// does completes a command that has its flags.
func does(cmd *cobra.Command, run func(ctx context.Context, stdout, stderr io.Writer) error) *cobra.Command {
	f := cmd.Flags()
	f.Bool("help", false, "what the command does, and its flags")
	if len(flagGroups[cmd.Name()]) > 0 {
		f.Bool(helpAll, false, "the same, with all flags")
	}
	onlyOnce(f)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if done, err := beside(cmd.Context(), cmd.Name(), cmd.OutOrStdout(), cmd.ErrOrStderr()); done {
			return err
		}
		return run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// readFlags reads flags as a command would that is not to run.
func readFlags(cmd *cobra.Command, args []string) error {
	onlyOnce(cmd.Flags())
	if err := cmd.ParseFlags(args); err != nil {
		return misread(cmd, err)
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// lineKey is where the context of a command has the words after psafe.
type lineKey struct{}

// commandLine are the words after psafe.
func commandLine(ctx context.Context) []string { return ctx.Value(lineKey{}).([]string) }
