package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

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
		certifyCommand(), radiusCommand(), mapCommand(), loopCommand(), verifyCommand(), supportsCommand(), planCommand(), runCommand(), statusCommand(), mergeCommand(), submitCommand(),
		checkCommand(), inspectCommand(), predictCommand(), convertCommand(), exporterCommand(), devicesCommand(),
		crosscheckCommand(), benchCommand(), summaryCommand(), diffCommand(), conformalCommand(), plotCommand(), reportCommand(), paperCommand(), trainCommand(),
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
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if !cmd.HasParent() {
			usage(cmd.OutOrStdout())
			return
		}
		printHelp(cmd, cmd.OutOrStdout())
	})
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

// usage prints the list of commands.
func usage(w io.Writer) {
	fmt.Fprint(w, programAbout+"\nUsage: psafe COMMAND [flags]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-11s %s\n", c.Name(), c.Short)
	}
	fmt.Fprint(w, "  help        this text; \"psafe help COMMAND\" lists a command's flags\n\nExit status: "+exitText)
}
