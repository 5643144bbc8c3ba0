package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"psafe/gpu"
	"psafe/gpu/cl"
	"psafe/host/bound"
	"psafe/internal/child"
	"psafe/internal/fault"
)

// An OpenCL driver is a stranger: its code may crash, hang or end the process. So this
// process never asks one what there is. A child does, "psafe __probe list" or "psafe
// __probe test ID PRECISION...", which answers on its pipe, one line each:
//
//	psafe-probe 1        first
//	device JSON          a device, as in psafe devices --json, not yet tested
//	note TEXT            what a user should know; TEXT is a string of JSON
//	absent TEXT          there is no OpenCL, for this reason
//	failed TEXT          a driver or a device failed, the others are listed
//	passed PRECISION     the device passed its self-test
//	refused TEXT         it did not
//	end                  last
//
// Anything else, or more of it than can be true, is a driver's doing.
const (
	probeWord  = "__probe"
	probeFirst = "psafe-probe 1"
	probeLast  = "end"
)

// Limits of what a child may say: the report and everything else, in bytes, devices,
// and the length of a text in it.
const (
	mostReport  = 1 << 20
	mostChatter = 16 << 20
	mostDevices = 256
	mostText    = 4096
)

// How long a driver may take to list its devices, and to compile all kernels and pass the
// self-test, if driverSeconds does not say otherwise. They are for drivers that hang:
// PoCL takes 7 seconds for the second when its cache is empty.
const (
	listLimit = 60 * time.Second
	testLimit = 300 * time.Second
	// driverSeconds is the environment variable for both.
	driverSeconds = "PSAFE_DRIVER_SECONDS"
)

// patience is a limit, or what the environment says instead.
func patience(limit time.Duration) time.Duration {
	if s, err := strconv.ParseFloat(os.Getenv(driverSeconds), 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	return limit
}

// patienceMistaken refuses an environment that says something else than a time.
func patienceMistaken() error {
	if text := os.Getenv(driverSeconds); text != "" && patience(-1) < 0 {
		return fmt.Errorf("%s=%.40q is no time: give seconds, above 0 and below 1e6", driverSeconds, text)
	}
	return nil
}

// startChild is child.Start; a test sees that it is not called.
var startChild = child.Start

// stranger names what a child works with.
func stranger() string { return "OpenCL (" + cl.LibraryName() + ")" }

// probed holds what a child has said.
type probed struct {
	devices []deviceRow
	notes   []string
	absent  error
	failed  []error
	passed  []string
}

// probe asks a child. Its error is one line about the driver, or ctx's.
func probe(ctx context.Context, limit time.Duration, args ...string) (*probed, error) {
	report := &bounded{most: mostReport}
	c, err := startChild(child.Options{Args: append([]string{probeWord}, args...), Report: report, Flood: mostChatter})
	if err != nil {
		return nil, fmt.Errorf("no process can be started to ask %s: %w", stranger(), err)
	}
	limit = patience(limit)
	timed, stop := context.WithTimeout(ctx, limit)
	defer stop()
	unwatch := context.AfterFunc(timed, fault.Caught(c.Kill))
	end := c.Wait()
	switch late := !unwatch(); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case late:
		return nil, fmt.Errorf("%s did not answer in %v", stranger(), limit)
	}
	found, done := readReport(report.String())
	switch {
	case end.OwnFault():
		m := newMistake(end.Fault(), end.Said(), "")
		m.asking = stranger()
		return nil, m
	case end.Status() != 0 || !done && report.Len() == 0:
		return nil, fmt.Errorf("%s %s", stranger(), end.What())
	case !done:
		return nil, fmt.Errorf("%s disturbed the answer of the process that asked it", stranger())
	}
	return found, nil
}

// bounded is a buffer that takes no more than most bytes.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, child.ErrFlood
	}
	return b.Buffer.Write(p)
}

var deviceID = regexp.MustCompile(`^[0-9]{1,3}:[0-9]{1,3}$`)

// readReport reads what a child said; done is false if it is not whole or says what no
// child says.
func readReport(text string) (p *probed, done bool) {
	lines := strings.Split(text, "\n")
	last := len(lines) - 2
	if last < 1 || lines[0] != probeFirst || lines[last] != probeLast || lines[last+1] != "" {
		return nil, false
	}
	p = &probed{}
	for _, line := range lines[1:last] {
		word, rest, _ := strings.Cut(line, " ")
		if word == "device" {
			row, ok := readDevice(rest)
			if !ok || len(p.devices) == mostDevices {
				return nil, false
			}
			p.devices = append(p.devices, row)
			continue
		}
		var text string
		if json.Unmarshal([]byte(rest), &text) != nil || !printable(text) {
			return nil, false
		}
		switch word {
		case "note":
			p.notes = append(p.notes, text)
		case "absent":
			p.absent = errors.New(text)
		case "failed", "refused":
			p.failed = append(p.failed, errors.New(text))
		case "passed":
			p.passed = append(p.passed, text)
		default:
			return nil, false
		}
	}
	return p, true
}

// readDevice reads a device, whose texts can be printed and whose sizes gpu/cl believed.
func readDevice(text string) (deviceRow, bool) {
	var r deviceRow
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&r) != nil || d.More() || !deviceID.MatchString(r.ID) || r.Memory <= 0 || r.MaxAlloc <= 0 || r.SelfTest != "" {
		return r, false
	}
	for _, s := range []string{r.Name, r.Type, r.Platform, r.Driver, r.OpenCL, r.PCI, r.UUID} {
		if !printable(s) {
			return r, false
		}
	}
	return r, true
}

// printable reports whether a text is one short line that commands no terminal.
func printable(text string) bool {
	return len(text) <= mostText && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// runProbe is the child. It returns the exit status.
func runProbe(args []string) int {
	inside := child.Enter(false)
	if inside == nil || len(args) == 0 {
		fmt.Fprintf(os.Stderr, "psafe: no command %q: psafe help lists them\n", probeWord)
		return exitUsage
	}
	what := probeList
	if args[0] == "test" && len(args) > 2 {
		what = func(say func(string, any)) { probeTest(args[1], args[2:], say) }
	}
	if _, err := inside.Report.Write(probeReport(what)); err != nil {
		return exitDevice
	}
	return exitDone
}

// probeReport is the report of what says something.
func probeReport(what func(say func(word string, what any))) []byte {
	var report bytes.Buffer
	fmt.Fprintln(&report, probeFirst)
	what(func(word string, what any) {
		if text, ok := what.(string); ok {
			what = inOneLine(text)
		}
		line, err := json.Marshal(what)
		if err != nil {
			panic("psafe: " + err.Error())
		}
		fmt.Fprintf(&report, "%s %s\n", word, line)
	})
	fmt.Fprintln(&report, probeLast)
	return report.Bytes()
}

// probeList lists what devices there are.
func probeList(say func(string, any)) {
	list, err := gpu.List()
	for i := range list {
		say("device", describe(&list[i]))
	}
	if note := cl.Note(); note != "" {
		say("note", note)
	}
	switch {
	case cl.Absent(err):
		say("absent", err.Error())
	case err != nil:
		say("failed", err.Error())
	}
}

// probeTest opens the device once in each precision.
func probeTest(id string, precisions []string, say func(string, any)) {
	list, err := gpu.Select(id)
	if err != nil {
		say("refused", err.Error())
		return
	}
	for _, word := range precisions {
		p, err := bound.ParsePrecision(word)
		if err == nil {
			var d *gpu.Device
			if d, err = gpu.OpenInfo(list[0], p, gpu.Options{Programs: programs(), Slow: slowDriver}); err == nil {
				err = d.Close()
			}
		}
		if err != nil {
			say("refused", fmt.Sprintf("%s: %v", word, err))
			return
		}
		say("passed", word)
	}
}

// inOneLine is a text that printable accepts.
func inOneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ';'
		case !unicode.IsPrint(r):
			return ' '
		}
		return r
	}, text)
	for len(text) > mostText {
		text = text[:mostText-3]
		text = strings.ToValidUTF8(text, "") + "..."
	}
	return text
}

// refusal is the error of a device that did not pass its self-test, but did no harm.
type refusal struct{ why error }

func (e *refusal) Error() string { return e.why.Error() }

// testDevice has a device tested in some precisions by a child. Its error says what was
// wrong with it; it is a *refusal or about the driver.
func testDevice(ctx context.Context, id string, precisions ...bound.Precision) error {
	args := []string{"test", id}
	for _, p := range precisions {
		args = append(args, p.String())
	}
	found, err := probe(ctx, testLimit, args...)
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return blamed(err)
	case len(found.failed) > 0:
		return &refusal{found.failed[0]}
	case len(found.passed) != len(precisions):
		return fmt.Errorf("%s left the self-test out", stranger())
	}
	return nil
}
