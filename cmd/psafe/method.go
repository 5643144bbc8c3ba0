package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"psafe/host/bound"
	"psafe/host/certify"
	"psafe/host/posterior"
)

// methodWords are the values of --method.
var methodWords = []string{"auto", "ibp", "lbp", "clbp", "neuronsum", "samples", "statistical"}

// boxFlags are for weight boxes only: naming one without --method means lbp.
var boxFlags = []string{"boxes", "gamma", "splits", "uniform"}

// numberFlags decide the numbers of a record and are no field of it, in the order of
// the field that lists them.
var numberFlags = []string{"boxes", "samples", "cells", "gamma", "splits", "uniform", "confidence", "no-upper", "derived"}

// numberWords are the method that was chosen and the flags given that decide numbers
// which no other field of a record tells: with those fields, all that it takes to
// make the record again.
func (c *certifyFlags) numberWords(f *pflag.FlagSet) string {
	names := numberFlags
	if c.tasks.labelColumn != "" {
		names = append(slices.Clone(names), "label-column") // what is no class is a coordinate
	}
	if c.method == "auto" || c.method == "neuronsum" {
		// p_upper may be the device's where the field precision is that of the host's sums.
		names = append(slices.Clone(names), "precision")
	}
	words := "--method " + c.method
	for _, name := range names {
		if !f.Changed(name) {
			continue
		}
		flag := f.Lookup(name)
		switch value := flag.Value.String(); {
		case flag.Value.Type() != "bool":
			if strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || r == '"' }) {
				value = strconv.Quote(value)
			}
			words += " --" + name + " " + value
		case value == "true":
			words += " --" + name
		}
	}
	return words
}

// chooseMethod sets Strategy and Method and refuses flags of other methods.
func (c *certifyFlags) chooseMethod(f *pflag.FlagSet) error {
	if !f.Changed("method") && slices.ContainsFunc(boxFlags, f.Changed) {
		c.method = "lbp"
	}
	switch c.method {
	case "auto":
		c.cfg.Strategy, c.cfg.Method = certify.Auto, bound.LBP
	case "ibp", "lbp":
		var err error
		if c.cfg.Method, err = bound.ParseMethod(c.method); err != nil {
			return fmt.Errorf("--method: %w", err)
		}
		if c.cfg.Strategy, err = certify.ParseStrategy(c.boxes); err != nil {
			return fmt.Errorf("--boxes: %w", err)
		}
	case "clbp":
		c.cfg.Strategy = certify.CLBP
	case "neuronsum":
		c.cfg.Strategy = certify.NeuronSums
	case "samples":
		c.cfg.Strategy = certify.Finite
	case "statistical":
		c.cfg.Strategy = certify.Statistical
	default:
		return fmt.Errorf("--method %q is none of %s", c.method, strings.Join(methodWords, ", "))
	}
	return c.checkMethod(f)
}

// checkMethod refuses flags that the method does not know.
func (c *certifyFlags) checkMethod(f *pflag.FlagSet) error {
	boxes := c.method == "ibp" || c.method == "lbp"
	statistical := c.method == "statistical"
	for _, name := range boxFlags {
		if f.Changed(name) && !boxes {
			return fmt.Errorf("--%s is for weight boxes: use --method ibp or lbp", name)
		}
	}
	drawn := statistical || c.samples > 0 && c.method != "samples"
	switch {
	case f.Changed("cells") && boxes:
		return errors.New("--cells is not for weight boxes: every box is checked on all of T at once")
	case f.Changed("cells") && (c.cells < 1 || c.cells > mostCells):
		return fmt.Errorf("--cells %d is not between 1 and %d", c.cells, mostCells)
	case f.Changed("confidence") && (!drawn || boxes && c.cfg.Strategy == certify.Sampled):
		return errors.New("--confidence is for --method statistical, or --samples N beside another method: everything else is certified")
	case !(c.confidence > 0 && c.confidence < 1):
		return fmt.Errorf("--confidence %v is not between 0 and 1", c.confidence)
	case f.Changed("seed") && !drawn && !(boxes && c.cfg.Strategy == certify.Sampled):
		return errors.New("--seed is for --samples: nothing else is drawn")
	case f.Changed("samples") && c.method == "samples":
		return errors.New("--samples is not for --method samples: all networks of the posterior are decided")
	}
	c.cfg.Cells, c.cfg.Confidence = c.cells, c.confidence
	if statistical && c.samples == 0 {
		c.cfg.Samples = defaultSamples
	}
	return nil
}

// mostCells bounds --cells; defaultSamples is what --method statistical draws.
const (
	mostCells      = 1 << 20
	defaultSamples = 1000
)

// suits checks that the method and the posterior go together, and has auto choose
// samples for a finite set of networks.
func (c *certifyFlags) suits(post *posterior.Posterior) error {
	diagonal := post.RequireIndependent()
	if diagonal != nil && c.derived {
		return fmt.Errorf("%s: --derived is for independent normal weights; this is %s", c.posterior, post.Describe())
	}
	switch s := c.cfg.Strategy; {
	case s == certify.Statistical:
		return nil
	case s == certify.Finite || s == certify.Auto && post.Kind == posterior.KindSamples:
		if post.Kind != posterior.KindSamples {
			return fmt.Errorf("%s: --method samples needs a posterior that is a set of networks; this is %s", c.posterior, post.Describe())
		}
		c.cfg.Strategy, c.method = certify.Finite, "samples"
		return nil
	case diagonal != nil:
		return fmt.Errorf("%s: %w", c.posterior, diagonal)
	case s == certify.NeuronSums && len(post.Layers) != 2:
		return fmt.Errorf("%s: --method neuronsum is for one hidden layer; this network has %d: use --method clbp", c.posterior, len(post.Layers)-1)
	}
	return nil
}
