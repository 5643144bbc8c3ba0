package paper

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"psafe/host/bound"
	"psafe/host/report"
	"psafe/internal/outfile"
)

// Confidence is that of every statistical interval of the experiments: small enough a
// risk that hundreds of intervals hold all at once.
const Confidence = "0.999999999"

// Config says what to reproduce, and from what.
type Config struct {
	// Out is the folder that everything is written to.
	Out string
	// Data is the folder of the released posteriors and images; empty for the
	// project's own.
	Data string
	// Quick asks for the same experiments with less of everything.
	Quick bool
	// Posterior and PosteriorFlags are a regression posterior of the user's, in place
	// of the one that is trained.
	Posterior      string
	PosteriorFlags []string
	// Train is psafe train.
	Train func(args []string) error
	// Device is what the figure that steps through the propagation is computed on.
	Device bound.Device
}

// Run is one psafe certify command.
type Run struct {
	// Name is the stem of the result file.
	Name string
	// Args are the flags of psafe certify but --out and those of the device.
	Args []string
}

// Results are the records of each run, by its name.
type Results map[string][]report.Placed

// Experiment is one of the paper's experiments: the commands that make its numbers,
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
func New(name string, c *Config) (*Experiment, error) {
	switch name {
	case "regression":
		return c.regression()
	case "vcas":
		return c.vcas()
	case "mnist":
		return c.mnist()
	case "scale":
		return c.scale()
	}
	panic(fmt.Sprintf("paper: no experiment %q", name))
}

// add appends a run and returns its name.
func (e *Experiment) add(name string, args ...string) string {
	e.Runs = append(e.Runs, Run{name, args})
	return name
}

// input is the path of an input file that the experiments make themselves.
func (c *Config) input(name string) string { return filepath.Join(c.Out, "inputs", name) }

// writeInput writes such a file, unless it is there with this content: an experiment
// that is resumed finds its inputs unchanged.
func (c *Config) writeInput(name string, content []byte) (string, error) {
	path := c.input(name)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", fmt.Errorf("--out: %w", err)
	}
	if err := outfile.WriteFile(path, content); err != nil {
		return "", fmt.Errorf("--out %w", err)
	}
	return path, nil
}

// count chooses between the full and the quick number of something.
func (c *Config) count(full, quick int) int {
	if c.Quick {
		return quick
	}
	return full
}
