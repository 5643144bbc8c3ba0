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

	"github.com/spf13/pflag"

	"psafe/internal/nearest"
	"psafe/internal/outfile"
)

const manAbout = `psafe man prints the manual page of psafe or of a command, or writes all of them to
a folder that is there. They say what --help says.

  psafe man certify | man -l -
  psafe man /usr/local/share/man/man1`

func runMan(_ context.Context, args []string, stdout, _ io.Writer) error {
	var out outFlags
	f := newFlags("man", manAbout, stdout)
	out.addOverwrite(f)
	if err := parse(f, args, anyNumber); err != nil {
		return err
	}
	if f.NArg() > 1 {
		return miscounted(f, 1)
	}
	pages := manPages()
	name := "psafe"
	if f.NArg() == 1 {
		name = "psafe-" + f.Arg(0)
	}
	if text, ok := pages[name]; ok {
		_, err := io.WriteString(stdout, text)
		return err
	}
	dir := f.Arg(0)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("man: %.60q is neither a command nor a folder that is there: psafe help lists the commands%s", dir, nearest.Hint(dir, commandNames()))
	}
	path := func(name string) string { return filepath.Join(dir, name+".1") }
	names := slices.Sorted(maps.Keys(pages))
	for _, name := range names { // all, before one is written
		if err := outfile.Refuse(path(name), out.old()); err != nil {
			return fmt.Errorf("man %w", err)
		}
	}
	for _, name := range names {
		if err := outfile.WriteFile(path(name), out.old(), []byte(pages[name])); err != nil {
			return fmt.Errorf("man %w", err)
		}
	}
	return nil
}

// manPages are all pages by name.
func manPages() map[string]string {
	all := append(commands(), versionCommand)
	pages := map[string]string{}
	var see []string
	for _, c := range all {
		see = append(see, "psafe-"+c.name)
	}
	main := manHead("psafe", "certifies Bayesian neural networks") +
		".SH SYNOPSIS\n.B psafe\n.I COMMAND\n[\\fIflags\\fR] [\\fIwords\\fR]\n.SH DESCRIPTION\n" + roffText(programAbout) + ".SH COMMANDS\n"
	for _, c := range all {
		main += ".TP\n.B " + roff(c.name) + "\n" + filled(c.about+".")
	}
	pages["psafe"] = main + manEnd(see)
	for _, c := range all {
		a := aboutOf(c)
		page := manHead("psafe-"+c.name, c.about) + ".SH SYNOPSIS\n.B psafe " + roff(c.name) + "\n[\\fIflags\\fR]"
		if takesFiles[c.name] || len(operandWords(c.name)) > 0 {
			page += " [\\fIwords\\fR]"
		}
		page += "\n.SH DESCRIPTION\n" + roffText(a.text) + ".SH OPTIONS\n"
		a.flags.VisitAll(func(flag *pflag.Flag) { page += manFlag(flag) })
		page += ".TP\n.B \\-\\-help\nthis text\n"
		pages["psafe-"+c.name] = page + manEnd([]string{"psafe"})
	}
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
func manFlag(flag *pflag.Flag) string {
	word, usage := pflag.UnquoteUsage(flag)
	head := ".B \\-\\-" + roff(flag.Name)
	if flag.NoOptDefVal == "" {
		head = ".BI \\-\\-" + roff(flag.Name) + " \" " + roff(word) + `"`
	}
	if d := flag.DefValue; d != "" && d != "0" && d != "false" && d != "[]" {
		usage += " (default " + strings.Trim(d, "[]") + ")"
	}
	return ".TP\n" + head + "\n" + filled(usage)
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

// roff is one line of text: nothing in it is a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
