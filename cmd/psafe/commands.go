package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/internal/fpcontrol"
	"psafe/internal/nearest"
	"psafe/internal/vector"
)

func init() {
	cobra.EnableCommandSorting = false // the order of commands is that of help
	cobra.MousetrapHelpText = ""       // on Windows psafe may be started by a click, as by a shell
}

// commands are the words that may follow psafe, in the order of help.
func commands() []*cobra.Command {
	return []*cobra.Command{
		certifyCommand(), radiusCommand(), verifyCommand(), supportsCommand(), planCommand(), runCommand(), statusCommand(), mergeCommand(), submitCommand(),
		checkCommand(), inspectCommand(), predictCommand(), convertCommand(), exporterCommand(), devicesCommand(),
		crosscheckCommand(), benchCommand(), summaryCommand(), plotCommand(), reportCommand(), paperCommand(), trainCommand(),
		completionCommand(), manCommand(), versionCommand(),
	}
}

// commandNames are these words, and help, for hints and completion.
func commandNames() []string {
	names := []string{"help"}
	for _, c := range commands() {
		names = append(names, c.Name())
	}
	return names
}

// rootCommand is psafe with all of them.
func rootCommand() *cobra.Command {
	root := &cobra.Command{Use: "psafe", Long: programAbout, SilenceErrors: true, SilenceUsage: true, PersistentPreRunE: ready}
	root.CompletionOptions.DisableDefaultCmd = true // completion is a command of ours
	root.AddCommand(commands()...)
	// dispatch answers help; cobra has to know the word to complete it.
	root.SetHelpCommand(&cobra.Command{Use: "help", Short: "the list of commands, or the flags of one", Run: func(*cobra.Command, []string) {},
		ValidArgsFunction: choices(commandNames(), false)})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(cmd, cmd.OutOrStdout()) })
	root.SetFlagErrorFunc(misread)
	return root
}

// ready refuses a machine on which bounds would be none, before a command begins.
func ready(cmd *cobra.Command, _ []string) error {
	if err := fpcontrol.Err(); err != nil {
		return err
	}
	if _, err := vector.InUse(); err != nil {
		return err
	}
	if out := cmd.Flags().Lookup("out"); out != nil && out.Value.String() != "" {
		faultBeside(out.Value.String())
	}
	return nil
}

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

// once is the value of a flag that may be given once.
type once struct {
	pflag.Value
	flag *pflag.Flag
}

func (o *once) Set(text string) error {
	if o.flag.Changed {
		return &givenTwice{o.flag.Name}
	}
	return o.Value.Set(text)
}

// onlyOnce has every flag refused that comes again, unless its values make a list.
func onlyOnce(f *pflag.FlagSet) {
	f.VisitAll(func(flag *pflag.Flag) {
		if _, list := flag.Value.(pflag.SliceValue); !list {
			flag.Value = &once{flag.Value, flag}
		}
	})
}

// lineKey is where the context of a command has the words after psafe.
type lineKey struct{}

// commandLine are the words after psafe.
func commandLine(ctx context.Context) []string { return ctx.Value(lineKey{}).([]string) }

// execute runs the command that the first word names.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	root := rootCommand()
	if args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd {
		// A shell asks, with whatever was typed, which cobra repeats in its errors.
		completes(root)
		args, stdout = escapedWords(args), forProgram(stdout)
	} else if strings.HasPrefix(args[0], "-") {
		return fmt.Errorf("%.60q comes before any command: name one first, as in psafe certify --posterior net.npz: psafe help lists them", args[0])
	} else if _, _, err := root.Find(args[:1]); err != nil {
		if words := foreignCommands[strings.ToLower(args[0])]; words != "" {
			return fmt.Errorf("no command %.60q: %s", args[0], words)
		}
		return fmt.Errorf("no command %.60q: psafe help lists them%s", args[0], nearest.Hint(args[0], commandNames()))
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(context.WithValue(ctx, lineKey{}, args))
}

// escapedWords are words as a line may show them.
func escapedWords(words []string) []string {
	var list []string
	for _, w := range words {
		list = append(list, plain(w))
	}
	return list
}
