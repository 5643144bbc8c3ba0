// Package inputlaw reads laws of inputs: how likely a network meets which input
package inputlaw

import (
	"fmt"
	"math/big"
	"strings"

	"psafe/host/read/property"
)

// Law is a probability law of inputs, or less than one: what is missing is nowhere.
type Law struct {
	// Sides are the laws of the inputs, which are independent of each other; nil where Items say the law.
	Sides []Side
	// Items are boxes: with the probability Mass the input is in the box, wherever it is there.
	Items []Item
	// Sample is how many points of a file the items are, 0 if they are none.
	Sample int
	// SHA256 is the digest of the file, empty without one.
	SHA256 string
}

// Kind is what law an input has.
type Kind string

// The laws of an input.
const (
	Normal    Kind = "normal"
	Uniform   Kind = "uniform"
	Truncated Kind = "truncated"
	Atoms     Kind = "atoms"
)

// Side is the law of an input.
type Side struct {
	Kind Kind
	// Mean and SD are those of the normal law, which Truncated restricts to what is between From and To.
	Mean, SD property.Decimal
	From, To property.Decimal
	Atoms    []Atom
}

// Atom is a number that an input is with a probability of at least Mass.
type Atom struct {
	At   property.Decimal
	Mass float64
}

// Item is a box and a lower bound of the probability of being there, 0 for points of a sample, which all have the same.
type Item struct {
	Box  property.Box
	Mass float64
}

// The files of laws.
const (
	ofCells  = "cells:"
	ofSample = "sample:"
)

// mostBoxes and mostPoints bound those of a file.
const (
	mostBoxes  = 1 << 14
	mostPoints = 1 << 17
)

// File is the file that the text of a law names, empty if none.
func File(text string) string {
	for _, of := range []string{ofCells, ofSample} {
		if path, ok := strings.CutPrefix(text, of); ok {
			return path
		}
	}
	return ""
}

// Inputs is how many inputs the law is of.
func (l *Law) Inputs() int {
	if l.Items != nil {
		return len(l.Items[0].Box.Lo)
	}
	return len(l.Sides)
}

// Read reads a law as --input-law has it: a law for each input, with ; between,
//
//	normal:MEAN,SD   uniform:FROM,TO   truncated:MEAN,SD,FROM,TO   atoms:X=P,X=P,...
//
// or cells:FILE, boxes with their masses, or sample:FILE, a data file of points that have one mass. Errors are one line.
func Read(text string) (*Law, error) {
	path := File(text)
	switch {
	case path != "" && strings.HasPrefix(text, ofCells):
		return readCells(path)
	case path != "":
		return readSample(path)
	}
	l := &Law{}
	for j, words := range strings.Split(text, ";") {
		s, err := readSide(strings.TrimSpace(words))
		if err != nil {
			return nil, fmt.Errorf("input %d: %.60q: %w", j, words, err)
		}
		l.Sides = append(l.Sides, s)
	}
	return l, nil
}

func readSide(text string) (s Side, err error) {
	kind, rest, _ := strings.Cut(text, ":")
	s.Kind = Kind(kind)
	if s.Kind == Atoms {
		return s, s.readAtoms(rest)
	}
	into := map[Kind][]*property.Decimal{
		Normal: {&s.Mean, &s.SD}, Uniform: {&s.From, &s.To}, Truncated: {&s.Mean, &s.SD, &s.From, &s.To},
	}[s.Kind]
	if into == nil {
		return s, fmt.Errorf("is no law of an input: write normal:MEAN,SD, uniform:FROM,TO, truncated:MEAN,SD,FROM,TO or atoms:X=P,..., or cells:FILE or sample:FILE alone")
	}
	numbers := strings.Split(rest, ",")
	if len(numbers) != len(into) {
		return s, fmt.Errorf("has %d numbers, %s has %d: give as many", len(numbers), kind, len(into))
	}
	for i, n := range numbers {
		if *into[i], err = property.NewDecimal(strings.TrimSpace(n)); err != nil {
			return s, err
		}
	}
	switch {
	case s.Kind != Uniform && s.SD.Lo <= 0:
		return s, fmt.Errorf("the standard deviation is not above 0: give a number that is, or atoms:X=1")
	case s.Kind != Normal && s.From.Hi >= s.To.Lo:
		return s, fmt.Errorf("the lower end is not below the upper one: give two numbers in ascending order")
	}
	return s, nil
}

func (s *Side) readAtoms(text string) error {
	sum := new(big.Rat)
	for _, one := range strings.Split(text, ",") {
		x, p, ok := strings.Cut(one, "=")
		if !ok {
			return fmt.Errorf("%.20q is no atom: write X=P, such as atoms:0=0.3,1=0.7", one)
		}
		at, err := property.NewDecimal(strings.TrimSpace(x))
		if err != nil {
			return err
		}
		of, err := property.NewDecimal(strings.TrimSpace(p))
		if err != nil {
			return err
		}
		mass, err := addMass(sum, of)
		if err != nil {
			return fmt.Errorf("atom %.20s: %w", x, err)
		}
		s.Atoms = append(s.Atoms, Atom{at, mass})
	}
	return nil
}

// addMass is a probability from below, which it adds to a sum that is at most 1.
func addMass(sum *big.Rat, p property.Decimal) (float64, error) {
	switch {
	case p.Lo < 0:
		return 0, fmt.Errorf("the probability is below 0: give one from 0 to 1")
	case sum.Add(sum, new(big.Rat).SetFloat64(p.Lo)).Cmp(big.NewRat(1, 1)) > 0:
		return 0, fmt.Errorf("up to here the probabilities are more than 1 together: lessen one")
	}
	return p.Lo, nil
}

// readCells reads a file of boxes with their masses.
func readCells(path string) (*Law, error) {
	m, err := property.ReadMasses(path)
	if err != nil {
		return nil, err
	}
	if len(m.Boxes) > mostBoxes {
		return nil, fmt.Errorf("%s: it has %d boxes: give at most %d", path, len(m.Boxes), mostBoxes)
	}
	l, sum := &Law{SHA256: m.SHA256}, new(big.Rat)
	for i, box := range m.Boxes {
		mass, err := addMass(sum, m.Of[i])
		if err != nil {
			return nil, fmt.Errorf("%s: mass %d: %w", path, i, err)
		}
		l.Items = append(l.Items, Item{box, mass})
	}
	return l, nil
}

// readSample reads a data file, each point of which has the same mass.
func readSample(path string) (*Law, error) {
	p, err := property.ReadPoints(path, property.InputOptions{})
	if err != nil {
		return nil, err
	}
	n := p.N()
	if n > mostPoints {
		return nil, fmt.Errorf("%s: it has %d points: give at most %d", path, n, mostPoints)
	}
	l := &Law{Sample: n, SHA256: p.SHA256}
	for i := range n {
		lo, hi := p.At(i)
		l.Items = append(l.Items, Item{Box: property.Box{Lo: lo, Hi: hi}})
	}
	return l, nil
}
