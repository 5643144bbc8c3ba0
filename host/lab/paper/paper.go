package paper

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/record"
	"psafe/internal/infile"
	"psafe/internal/outfile"
)

// Confidence holds the confidence of every statistical interval of the experiments: small enough a
// risk that hundreds of intervals hold all at once.
const Confidence = 0.999999999

// Config describes what to reproduce, and from what.
type Config struct {
	// Names are the experiments, of the list Names; What is the word that asked for them.
	Names []string
	What  string
	// Out is the folder that everything is written to; Resume goes on in one of an
	// interrupted run, Overwrite replaces what another left there, and OmitTiming leaves times
	// and memory out.
	Out                           string
	Resume, Overwrite, OmitTiming bool
	// Data is the folder of the released posteriors and images; empty for the
	// project's own.
	Data string
	// Quick asks for the same experiments with less of everything.
	Quick bool
	// Posterior is a regression posterior of the user's, in place of the one that is
	// trained; its Path is empty if there is none.
	Posterior certify.Posterior

	// Precision and Open are those of all jobs. Device is what the figure that steps
	// through the propagation is computed on.
	Precision bound.Precision
	Open      certify.Opener
	Device    bound.Device
	// Version and Command are what the page says it was made by.
	Version, Command string
	// Tell, if set, is told what happens, one call at a time.
	Tell func(Event)

	// ours reports whether Out holds what an earlier run of this configuration has left.
	ours bool
}

// Run is a job with the stem of its result file.
type Run struct {
	Name string
	Job  certify.Job
}

// Results are the records of each run, by its name.
type Results map[string][]record.Placed

// Experiment is one of the paper's experiments: the jobs that make its numbers,
// and what is told of them.
type Experiment struct {
	Name, Title string
	Runs        []Run
	// Tell makes the tables and figures.
	Tell func(Results) (*Section, error)
}

// Names are the experiments, in the order of the paper.
var Names = []string{"regression", "vcas", "mnist", "scale"}

// New prepares an experiment: it writes the input files that its runs name.
func New(ctx context.Context, name string, c *Config) (*Experiment, error) {
	switch name {
	case "regression":
		return c.regression(ctx)
	case "vcas":
		return c.vcas()
	case "mnist":
		return c.mnist()
	case "scale":
		return c.scale()
	}
	panic(fmt.Sprintf("paper: no experiment %q", name))
}

// add appends a run of a posterior and returns its name.
func (e *Experiment) add(name string, n net, tasks certify.Tasks, m certify.Method) string {
	e.Runs = append(e.Runs, Run{name, certify.Job{Posterior: n.posterior, Tasks: tasks, Method: m}})
	return name
}

// method is a method without more settings.
func method(by prove.Method) certify.Method { return certify.Method{By: &by} }

// boxes is algorithm 1: so many weight boxes of this half-width.
func boxes(by prove.Method, draws int, gamma float64) certify.Method {
	return certify.Method{By: &by, Draws: &draws, Gamma: &gamma}
}

// drawn is the statistical interval of a number of networks.
func drawn(networks int) certify.Method {
	return certify.Method{By: new(prove.Statistical), Draws: &networks, Confidence: new(Confidence)}
}

// named is a method as tables call it.
type named struct {
	name   string
	method certify.Method
}

// noUpper leaves out upper bounds, which do not depend on the method.
func noUpper(m certify.Method) certify.Method {
	m.NoUpper = true
	return m
}

// input is the path of an input file that the experiments make themselves.
func (c *Config) input(name string) string { return filepath.Join(c.Out, "inputs", name) }

// Bounds of the small files that an experiment reads itself: bytes, and of JSON how deeply
// it may nest and how many values it may have.
const (
	maxFile   = 64 << 20
	maxDepth  = 100
	maxValues = 1 << 20
)

// writeInput writes such a file, unless it is there with this content: an experiment
// that is resumed finds its inputs unchanged.
func (c *Config) writeInput(name string, content []byte) (string, error) {
	path := c.input(name)
	if old, err := infile.ReadAll(path, maxFile); err == nil && bytes.Equal(old, content) {
		return path, nil
	}
	return path, c.write(filepath.Join("inputs", name), content)
}

// write writes a file of the output folder: complete or not at all.
func (c *Config) write(name string, content []byte) error {
	path := filepath.Join(c.Out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("--out %s: cannot be written: %w", path, outfile.Reason(err))
	}
	old := outfile.Keep
	if c.Overwrite || c.ours {
		old = outfile.Replace
	}
	if err := outfile.WriteFile(path, old, content); err != nil {
		return fmt.Errorf("--out %w", err)
	}
	return nil
}

// count chooses between the full and the quick number of something.
func (c *Config) count(full, quick int) int {
	if c.Quick {
		return quick
	}
	return full
}
