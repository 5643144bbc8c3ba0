package main

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"psafe/host/record"
	"psafe/host/tell/summary"
	"psafe/internal/outfile"
)

// junitCase is a test case of JUnit's XML: a gate, or a record.
type junitCase struct {
	XMLName xml.Name  `xml:"testcase"`
	Class   string    `xml:"classname,attr"`
	Name    string    `xml:"name,attr"`
	Time    string    `xml:"time,attr,omitempty"`
	Failure *junitWhy `xml:"failure"`
	Skipped *junitWhy `xml:"skipped"`
}

type junitWhy struct {
	Message string `xml:"message,attr"`
}

// refuseJUnit returns why --junit could not be written, before anything is computed.
func (c *certifyFlags) refuseJUnit() error {
	switch {
	case c.out.path == "":
		return errors.New("--junit is made of the result file: add --out, as in --out results.jsonl")
	case c.junit == c.out.path || c.junit == record.RecordsFile(c.out.path):
		return errors.New("--junit is also --out: name another file")
	}
	old := c.junitOld()
	if c.resume {
		old = outfile.Replace // which is looked at when all records are there
	}
	if err := outfile.Refuse(c.junit, old, c.besideJUnit()...); err != nil {
		return fmt.Errorf("--junit %w", err)
	}
	return nil
}

// besideJUnit are files that it must not be.
func (c *certifyFlags) besideJUnit() []string {
	return []string{c.posterior, c.tasks.points.Inputs, c.tasks.words, c.out.path, record.RecordsFile(c.out.path)}
}

// junitOld is what becomes of a file that is there: that of this run may be there once more.
func (c *certifyFlags) junitOld() outfile.Old {
	if c.resume && !c.out.overwrite {
		return outfile.Same
	}
	return c.out.old()
}

// writeJUnit writes the cases of a run whose records are all on the disk and in the gates.
func (c *certifyFlags) writeJUnit() error {
	file, err := outfile.Create(c.junit, c.junitOld(), c.besideJUnit()...)
	if err != nil {
		return fmt.Errorf("--junit %w", err)
	}
	defer file.Discard()
	if err := c.printJUnit(file); err != nil {
		return fmt.Errorf("--junit %s: cannot be written: %w", c.junit, outfile.Reason(err))
	}
	if err := file.Commit(); err != nil {
		return fmt.Errorf("--junit %w", err)
	}
	return nil
}

// printJUnit reads the records twice, as a suite begins with its counts.
func (c *certifyFlags) printJUnit(file *outfile.File) error {
	all, failed, skipped := 0, 0, 0
	err := c.eachCase(func(one *junitCase) error {
		all++
		if one.Failure != nil {
			failed++
		} else if one.Skipped != nil {
			skipped++
		}
		return nil
	})
	if err != nil {
		return err
	}
	b := bufio.NewWriter(file)
	fmt.Fprintf(b, "%s<testsuite name=\"psafe\" tests=\"%d\" failures=\"%d\" skipped=\"%d\">\n", xml.Header, all, failed, skipped)
	out := xml.NewEncoder(b)
	out.Indent("  ", "  ")
	if err := c.eachCase(func(one *junitCase) error { return out.Encode(one) }); err != nil {
		return err
	}
	fmt.Fprint(b, "\n</testsuite>\n")
	return b.Flush()
}

// eachCase calls f for the gates, and then for the records. A record has failed where a gate that does not hold
// refuses it, and is skipped where it is not safe and all gates that would refuse it hold.
func (c *certifyFlags) eachCase(f func(*junitCase) error) error {
	var broken []*gate
	for _, g := range c.gates {
		one := &junitCase{Class: "psafe.gate", Name: "--fail-unless " + g.text}
		if text := g.refusal(); text != "" {
			one.Failure, broken = &junitWhy{text}, append(broken, g)
		}
		if err := f(one); err != nil {
			return err
		}
	}
	return record.Each(record.RecordsFile(c.out.path), func(p record.Placed) error {
		one := &junitCase{Class: plain("psafe." + strings.ReplaceAll(summary.Base(p.Posterior), ".", "_")), Name: plain(nameOf(p.Record))}
		if p.Property != p.Name {
			one.Name += ", " + plain(p.Property)
		}
		if p.Seconds != nil {
			one.Time = strconv.FormatFloat(*p.Seconds, 'f', -1, 64)
		}
		why := boundsOf(p.Record) + ": " + p.Verdict
		for _, g := range broken {
			if g.refuses(p.Record) {
				one.Failure = &junitWhy{why + ": --fail-unless " + g.text}
			}
		}
		if one.Failure == nil && p.Verdict != "safe" {
			one.Skipped = &junitWhy{why + ", and no gate fails for it"}
		}
		return f(one)
	})
}
