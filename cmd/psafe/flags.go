package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/posterior/format"
	"psafe/host/property"
)

// newFlags returns a flag set whose --help prints about and the flags.
func newFlags(name, about string, stdout io.Writer) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	f.SetOutput(io.Discard)
	f.Usage = func() {
		fmt.Fprintf(stdout, "%s\n\nFlags:\n%s", about, f.FlagUsages())
	}
	return f
}

// anyNumber is the operands of a command that counts them itself.
const anyNumber = -1

// parse reads args; operands is how many words that are no flags it takes.
func parse(f *pflag.FlagSet, args []string, operands int) error {
	err := f.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return errHelp
	}
	if err != nil {
		return fmt.Errorf("%s: %s: psafe help %s lists the flags", f.Name(), err, f.Name())
	}
	if n := f.NArg(); n != operands && operands != anyNumber {
		return fmt.Errorf("%s: takes %d operands, got %d (%s): psafe help %s", f.Name(), operands, n, strings.Join(f.Args(), " "), f.Name())
	}
	return nil
}

// posteriorFlags are shared by the commands that read a posterior.
type posteriorFlags struct {
	scale, factor string
	activation    []string
}

func (p *posteriorFlags) add(f *pflag.FlagSet) {
	f.StringVar(&p.scale, "scale", "", "what the file calls sigma: sd, variance or softplus (needed where the file does not say)")
	f.StringSliceVar(&p.activation, "activation", nil, "hidden activations: relu, tanh, sigmoid, leaky_relu:SLOPE, identity; one for all or one a layer")
}

// addFactor is for commands that write no posterior: a file keeps its spread.
func (p *posteriorFlags) addFactor(f *pflag.FlagSet) {
	f.StringVar(&p.factor, "scale-factor", "", "multiply every standard deviation by this decimal: the same means with more or less spread")
}

// read reads the posterior at path.
func (p *posteriorFlags) read(path string) (*posterior.Posterior, error) {
	var opt format.Options
	var err error
	if p.scale != "" {
		if opt.Scale, err = posterior.ParseScale(p.scale); err != nil {
			return nil, fmt.Errorf("--scale: %w", err)
		}
	}
	for _, word := range p.activation {
		a, err := network.ParseActivation(word)
		if err != nil {
			return nil, fmt.Errorf("--activation: %w", err)
		}
		opt.Activations = append(opt.Activations, a)
	}
	post, err := format.Read(path, opt)
	if err != nil || p.factor == "" {
		return post, err
	}
	factor, err := property.NewDecimal(p.factor)
	if err == nil {
		err = post.Widen(factor.Lo, factor.Hi)
	}
	if err != nil {
		return nil, fmt.Errorf("--scale-factor %.40s: %w", p.factor, err)
	}
	return post, nil
}

// scaleWords says what the posterior's spread is, for records.
func (p *posteriorFlags) scaleWords(post *posterior.Posterior) string {
	if p.factor == "" {
		return post.Scale.String()
	}
	return post.Scale.String() + " x " + p.factor
}

// diagonal refuses, before anything is opened or drawn, a posterior whose weights
// are not independent normal ones, for a command that knows no others.
func diagonal(post *posterior.Posterior, command string) error {
	if !post.Independent() {
		return fmt.Errorf("%s: this posterior is %s; %s is for independent normal weights", post.Source.Path, post.Describe(), command)
	}
	return nil
}

// outFile is a result file that appears complete or not at all.
type outFile struct {
	path string
	tmp  *os.File
}

// refuseOut refuses a path that is one of the inputs, or no file.
func refuseOut(path string, inputs ...string) error {
	for _, in := range inputs {
		if in != "" && (sameFile(path, property.FileOf(in)) || inFolder(path, in)) {
			return fmt.Errorf("--out %s: is also an input: name another file", path)
		}
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--out %s: exists and is no regular file: name another", path)
	}
	return nil
}

// createOut opens a temporary file beside path. It refuses a path that is one of
// the inputs, or where nothing can be written.
func createOut(path string, inputs ...string) (*outFile, error) {
	if err := refuseOut(path, inputs...); err != nil {
		return nil, err
	}
	tmp, err := os.OpenFile(filepath.Join(filepath.Dir(path), fmt.Sprintf(".psafe-%d.tmp", os.Getpid())), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("--out %s: cannot be written: %w", path, bare(err))
	}
	return &outFile{path, tmp}, nil
}

// inFolder says whether path is in the folder of a posterior, or in that of its
// samples.
func inFolder(path, folder string) bool {
	dir := filepath.Dir(path)
	return sameFile(dir, folder) || sameFile(dir, filepath.Join(folder, "samples"))
}

func sameFile(a, b string) bool {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(sa, sb)
}

// bare is err without the path that the caller's message already has.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (o *outFile) Write(b []byte) (int, error) { return o.tmp.Write(b) }

// commit puts the finished file in its place.
func (o *outFile) commit() error {
	err := o.tmp.Sync()
	if e := o.tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(o.tmp.Name(), o.path)
	}
	if err != nil {
		os.Remove(o.tmp.Name())
		return fmt.Errorf("--out %s: cannot be written: %w", o.path, bare(err))
	}
	return nil
}

// discard removes what was written; after commit it does nothing.
func (o *outFile) discard() {
	o.tmp.Close()
	os.Remove(o.tmp.Name())
}
