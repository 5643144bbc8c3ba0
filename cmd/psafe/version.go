package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"psafe/internal/vector"
)

// versionFile holds this tree's version, for internal/release too.
//
//go:embed VERSION
var versionFile string

// release is the version of this source tree. Between releases it ends in "-dev".
var release = strings.TrimSpace(versionFile)

// The linker sets these where internal/release builds: the go command's own note of the
// commit depends on the tags of the clone, and a release must have the same bytes from any.
var stampedCommit, stampedDate string

// build holds what a program knows of its making; what it does not know is empty.
type build struct {
	commit, date string // the date is the commit's, RFC 3339
	modified     bool   // the tree differed from the commit
	tags         string
}

// thisBuild asks the program itself.
func thisBuild() build {
	b := build{commit: stampedCommit, date: stampedDate}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.date = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		case "-tags":
			b.tags = s.Value
		}
	}
	return b
}

// version is the release and, where the build knows it, the commit; else the digest of
// the program itself, since records of different builds must not pass for the same.
var version = sync.OnceValue(func() string { return thisBuild().version(programDigest) })

func (b build) version(digest func() ([]byte, error)) string {
	v := release
	if b.commit != "" {
		v += "+" + b.commit[:min(12, len(b.commit))]
	}
	if b.modified {
		v += "-modified"
	}
	if b.commit != "" && !b.modified {
		return v
	}
	sum, err := digest()
	if err != nil {
		return v + "+build.unknown." + rand.Text() // of no other run's either
	}
	return v + fmt.Sprintf("+build.%.6x", sum)
}

// programDigest is the SHA-256 of the running program's file.
func programDigest() ([]byte, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h := sha256.New()
	_, err = io.Copy(h, file)
	return h.Sum(nil), err
}

const versionAbout = `psafe version prints what records have as "version", and below it what that was
made from and with.

  psafe version`

func versionCommand() *cobra.Command {
	cmd, f := newCommand("version", "version of this program", versionAbout, 0)
	asJSON := f.Bool("json", false, jsonUsage)
	return does(cmd, func(_ context.Context, stdout, _ io.Writer) error {
		if *asJSON {
			return printJSON(stdout, versionRow())
		}
		printVersion(stdout)
		return nil
	})
}

// versionFields hold what --json says; what the program does not know is left out.
type versionFields struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified"`
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Tags     string `json:"tags,omitempty"`
	Vector   string `json:"vector"`
}

func versionRow() versionFields {
	b := thisBuild()
	return versionFields{version(), b.commit, b.modified, b.date, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, b.tags, vector.InWords()}
}

// printVersion prints it for people.
func printVersion(w io.Writer) {
	b := thisBuild()
	fmt.Fprintln(w, "psafe", version())
	commit := b.commit
	switch {
	case commit == "":
		commit = "unknown: built from a copy of the source without its history, or with -buildvcs=false"
	case b.modified:
		commit += ", with changes"
	}
	fmt.Fprintln(w, "commit  ", commit)
	if b.date != "" {
		fmt.Fprintln(w, "date    ", b.date)
	}
	fmt.Fprintln(w, "go      ", runtime.Version())
	fmt.Fprintf(w, "platform %s/%s\n", runtime.GOOS, runtime.GOARCH)
	if b.tags != "" {
		fmt.Fprintln(w, "tags    ", b.tags)
	}
	fmt.Fprintln(w, "vector  ", vector.InWords())
}
