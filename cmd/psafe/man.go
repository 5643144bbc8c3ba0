package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"psafe/internal/nearest"
	"psafe/internal/outfile"
)

const manAbout = `psafe man prints the manual page of psafe or of a command, or writes all of them
to a folder that is there.

  psafe man certify | man -l -
  psafe man /usr/local/share/man/man1`

func manCommand() *cobra.Command {
	var out outFlags
	cmd, f := newCommand("man", "manual pages", manAbout, anyNumber)
	out.addOverwrite(f)
	return does(cmd, func(_ context.Context, stdout, _ io.Writer) error {
		if f.NArg() > 1 {
			return miscounted(cmd, 1)
		}
		pages, err := manPages(cmd.Root())
		if err != nil {
			return err
		}
		name := "psafe"
		if f.NArg() == 1 {
			name = "psafe-" + f.Arg(0)
		}
		if text, ok := pages[name]; ok {
			_, err := io.WriteString(stdout, text)
			return err
		}
		return writePages(pages, f.Arg(0), out.old())
	})
}

// writePages writes pages to a folder.
func writePages(pages map[string]string, dir string, old outfile.Old) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("man: %.60q is neither a command nor a folder that is there: psafe help lists the commands%s", dir, nearest.Hint(dir, commandNames()))
	}
	path := func(name string) string { return filepath.Join(dir, name+".1") }
	names := slices.Sorted(maps.Keys(pages))
	for _, name := range names { // all, before one is written
		if err := outfile.Refuse(path(name), old); err != nil {
			return fmt.Errorf("man %w", err)
		}
	}
	for _, name := range names {
		if err := outfile.WriteFile(path(name), old, []byte(pages[name])); err != nil {
			return fmt.Errorf("man %w", err)
		}
	}
	return nil
}

// manPages are all pages by name: what help says, in Markdown, of which cobra makes pages.
func manPages(root *cobra.Command) (map[string]string, error) {
	main := manPage(&cobra.Command{Use: "psafe COMMAND [flags] [words]", Short: "certifies Bayesian neural networks"}, markdown(programAbout)+"\n# COMMANDS\n")
	pages := []*cobra.Command{main}
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			continue
		}
		main.Long += defined(c.Name(), c.Short+".")
		use := c.Name() + " [flags]"
		if takesFiles[c.Name()] || len(operandWords(c.Name())) > 0 {
			use += " [words]"
		}
		text := markdown(c.Long) + "\n# OPTIONS\n"
		for _, g := range groupsOf(c) {
			text += "\n## " + markdown(g.title) + "\n"
			for _, name := range g.names {
				flag := g.of.Lookup(name)
				_, about := described(flag)
				text += defined(spelled(flag, g.options), about)
			}
		}
		page := manPage(&cobra.Command{Use: use, Short: c.Short}, text)
		main.AddCommand(page)
		pages = append(pages, page)
	}
	texts := map[string]string{}
	date, err := time.Parse(time.RFC3339, thisBuild().date)
	if err != nil { // of a build that does not know its commit
		date = time.Now()
	}
	for _, page := range pages {
		var b bytes.Buffer
		page.Long += manEnd
		if err := doc.GenMan(page, &doc.GenManHeader{Section: "1", Date: &date, Source: "psafe " + release, Manual: "psafe"}, &b); err != nil {
			return nil, err
		}
		texts[strings.ReplaceAll(page.CommandPath(), " ", "-")] = b.String()
	}
	return texts, nil
}

// manPage is a command that has a page and no flags, which its text lists.
func manPage(page *cobra.Command, text string) *cobra.Command {
	page.Long, page.Run = text, func(*cobra.Command, []string) {}
	page.DisableAutoGenTag = true
	page.Flags().Bool("help", false, "")
	page.Flags().Lookup("help").Hidden = true
	return page
}

// manEnd ends all pages.
var manEnd = "\n# EXIT STATUS\n" + markdown(exitText) + "\n# ENVIRONMENT\n" +
	defined("PSAFE_DEVICE", "the default of --device") +
	defined("PSAFE_DRIVER_SECONDS", "how long an OpenCL driver has to answer, in seconds") +
	defined(cacheVariable, "if it is off, programs that a driver is slow to compile are not kept in the user's folder for caches") +
	defined("PSAFE_TRACE", "if it is 1, the trace of a fault of psafe goes to standard error and not into a file") +
	defined("NO_COLOR", "if it is not empty, nothing is coloured on a terminal") +
	defined("PSAFE_VECTOR", "none, avx2 or avx512: vector instructions that loops on the CPU may use; by default the best that there are")

// defined is a word of Markdown with what it means.
func defined(word, text string) string {
	return "\n**" + markdown(word) + "**\n: " + markdown(text) + "\n"
}

// markdownLetters escapes the letters that Markdown would take for others.
var markdownLetters = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`, "#", `\#`, "--", `\-\-`)

// markdown is the text of a help, in which lines that begin with two spaces stay as they are.
func markdown(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			b.WriteString("  " + line)
		} else {
			b.WriteString(markdownLetters.Replace(line))
		}
	}
	return b.String()
}
