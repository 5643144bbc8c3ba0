package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"psafe/host/posterior"
	"psafe/host/property"
)

// release is the version of this source tree.
const release = "0.1.0"

// version is the release and, where the build knows it, the commit; else the digest of
// the program itself, since records of different builds must not pass for the same.
var version = sync.OnceValue(func() string {
	v := release
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v += "+" + s.Value[:min(12, len(s.Value))]
			case "vcs.modified":
				if s.Value == "true" {
					v += "-modified"
				}
			}
		}
	}
	if v == release || strings.HasSuffix(v, "-modified") {
		if digest, err := programDigest(); err == nil {
			v += fmt.Sprintf("+build.%.6x", digest)
		}
	}
	return v
})

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
	var opt posterior.Options
	var err error
	if p.scale != "" {
		if opt.Scale, err = posterior.ParseScale(p.scale); err != nil {
			return nil, fmt.Errorf("--scale: %w", err)
		}
	}
	for _, word := range p.activation {
		a, err := posterior.ParseActivation(word)
		if err != nil {
			return nil, fmt.Errorf("--activation: %w", err)
		}
		opt.Activations = append(opt.Activations, a)
	}
	post, err := posterior.Read(path, opt)
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
