package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"psafe/internal/infile"
	"psafe/internal/outfile"
)

// proved is the file of psafe check --resume: which records were proved again. It names them by digests of their lines,
// in which the digests of the posterior and of the inputs stand, and of the version of psafe: no other line and no
// other program takes them for its own. What claims nothing, is refused or only read is not in it. A nil *proved is
// that of a check without --resume.
type proved struct {
	path  string
	known map[[sha256.Size]byte]bool
	file  *outfile.Growing
}

// provedHead is the first line.
const provedHead = "psafe check: SHA-256 of the version of psafe and of each record that it proved again"

// provedDigest is what a line is known by.
func provedDigest(line []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(version()+"\n"), line...))
}

// openProved reads the file at path, and what an interrupted check has left of it, and goes on with it; inputs are what
// the check reads. It is nil for an empty path.
func openProved(path string, inputs []string) (*proved, error) {
	if path == "" {
		return nil, nil
	}
	if err := outfile.Refuse(path, outfile.Replace, inputs...); err != nil {
		return nil, fmt.Errorf("--resume %w", err)
	}
	p := &proved{path: path, known: map[[sha256.Size]byte]bool{}}
	for _, name := range []string{path, path + outfile.PartialSuffix} {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := p.read(name); err != nil {
			return nil, fmt.Errorf("--resume %s: %w", name, err)
		}
	}
	var err error
	p.file, err = outfile.GrowOn(path, outfile.Replace, "taken over by another check", len(p.known), func(w io.Writer) error {
		b := bufio.NewWriter(w)
		fmt.Fprintln(b, provedHead)
		for digest := range p.known {
			fmt.Fprintf(b, "%x\n", digest)
		}
		return b.Flush()
	})
	if err != nil {
		return nil, fmt.Errorf("--resume %w", err)
	}
	return p, nil
}

// read takes in the digests of a file. A line that is none, as the last may be that was being written, is nothing.
func (p *proved) read(name string) error {
	file, err := infile.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := infile.NewLines(file, 256)
	head, _, err := lines.Next()
	if err != nil || string(head) != provedHead+"\n" {
		return errors.New("psafe check --resume has not written it: name another file, which need not be there")
	}
	for {
		line, whole, err := lines.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		var digest [sha256.Size]byte
		if whole && len(line) == hex.EncodedLen(len(digest))+1 {
			if _, err := hex.Decode(digest[:], line[:len(line)-1]); err == nil {
				p.known[digest] = true
			}
		}
	}
}

// has reports whether the record was proved again.
func (p *proved) has(digest [sha256.Size]byte) bool { return p != nil && p.known[digest] }

// add takes in a record that was proved again.
func (p *proved) add(digest [sha256.Size]byte) error {
	if p == nil {
		return nil
	}
	if _, err := fmt.Fprintf(p.file, "%x\n", digest); err != nil {
		return fmt.Errorf("--resume %s: cannot be written: %w", p.path, outfile.Reason(err))
	}
	return nil
}

// complete gives the file its name.
func (p *proved) complete() error {
	if p == nil {
		return nil
	}
	return ofResume(p.file.Commit())
}

// leave keeps what there is for the next check.
func (p *proved) leave() error {
	if p == nil {
		return nil
	}
	_, err := p.file.Leave()
	return ofResume(err)
}

// ofResume names the flag in an error.
func ofResume(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--resume %w", err)
}
