package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/internal/nearest"
	"psafe/internal/outfile"
)

const manAbout = `psafe man prints the manual page of psafe or of a command, or writes all of them
to a folder that is there. They say what --help says.

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
		pages := manPages(cmd.Root())
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

// manPages are all pages by name.
func manPages(root *cobra.Command) map[string]string {
	pages := map[string]string{}
	var see []string
	main := manHead("psafe", "certifies Bayesian neural networks") +
		".SH SYNOPSIS\n.B psafe\n.I COMMAND\n[\\fIflags\\fR] [\\fIwords\\fR]\n.SH DESCRIPTION\n" + roffText(programAbout) + ".SH COMMANDS\n"
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			continue
		}
		see = append(see, "psafe-"+c.Name())
		main += ".TP\n.B " + roff(c.Name()) + "\n" + filled(c.Short+".")
		page := manHead("psafe-"+c.Name(), c.Short) + ".SH SYNOPSIS\n.B psafe " + roff(c.Name()) + "\n[\\fIflags\\fR]"
		if takesFiles[c.Name()] || len(operandWords(c.Name())) > 0 {
			page += " [\\fIwords\\fR]"
		}
		page += "\n.SH DESCRIPTION\n" + roffText(c.Long) + ".SH OPTIONS\n"
		groups := groupsOf(c)
		for _, g := range groups {
			if len(groups) > 1 {
				page += ".SS " + roff(g.title) + "\n"
			}
			for _, name := range g.names {
				page += manFlag(g.of.Lookup(name), g.options)
			}
		}
		pages["psafe-"+c.Name()] = page + manEnd([]string{"psafe"})
	}
	pages["psafe"] = main + manEnd(see)
	return pages
}

// manHead begins a page; the date is that of the commit.
func manHead(name, about string) string {
	date, _, _ := strings.Cut(thisBuild().date, "T")
	return fmt.Sprintf(".TH %s 1 %q %q %q\n.SH NAME\n%s", strings.ToUpper(roff(name)), date, "psafe "+release, "psafe", filled(name+" - "+about))
}

// manEnd has what all pages have.
func manEnd(see []string) string {
	text := ".SH EXIT STATUS\n" + roffText(exitText) + ".SH ENVIRONMENT\n.TP\n.B PSAFE_DEVICE\nthe default of \\-\\-device\n" +
		".TP\n.B PSAFE_DRIVER_SECONDS\nhow long an OpenCL driver has to answer, in seconds\n" +
		".TP\n.B PSAFE_TRACE\nif it is 1, the trace of a fault of psafe goes to standard error and not\ninto a file\n" +
		".TP\n.B NO_COLOR\nif it is not empty, nothing is coloured on a terminal\n" +
		".TP\n.B PSAFE_VECTOR\nnone, avx2 or avx512: vector instructions that loops on the\nCPU may use; by default the best that there are\n.SH SEE ALSO\n"
	for i, name := range see {
		end := ","
		if i == len(see)-1 {
			end = ""
		}
		text += ".BR " + roff(name) + " (1)" + end + "\n"
	}
	return text
}

// manFlag is a flag with what it says in --help.
func manFlag(flag *pflag.Flag, option bool) string {
	_, text := described(flag)
	return ".TP\n.B " + roff(spelled(flag, option)) + "\n" + filled(text)
}

// roffText is the text of a help: paragraphs, and lines that begin with two spaces, which
// stay as they are.
func roffText(text string) string {
	var b, paragraph strings.Builder
	code := false
	end := func() {
		b.WriteString(filled(paragraph.String()))
		paragraph.Reset()
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, "  ")
		if line == "" || indented {
			end()
		}
		if indented != code && line != "" {
			b.WriteString(map[bool]string{true: ".nf\n.RS 2\n", false: ".RE\n.fi\n.PP\n"}[indented])
			code = indented
		}
		switch {
		case line == "" && !code:
			b.WriteString(".PP\n")
		case line == "":
		case indented:
			b.WriteString(roff(strings.TrimPrefix(line, "  ")) + "\n")
		default:
			paragraph.WriteString(line + " ")
		}
	}
	end()
	if code {
		b.WriteString(".RE\n.fi\n")
	}
	// Nothing is between a paragraph's request and one that begins another.
	return strings.TrimSuffix(b.String(), ".PP\n")
}

// filled is text in lines of ordinary length.
func filled(text string) string {
	var b strings.Builder
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(roff(line))+len(roff(word)) > 76 {
			b.WriteString(roff(line) + "\n")
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		b.WriteString(roff(line) + "\n")
	}
	return b.String()
}

// roffLetters escapes the letters that roff would take for others, or for escapes.
var roffLetters = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`)

// roff is one line of text: nothing in it is a request or an escape.
func roff(text string) string {
	text = roffLetters.Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
