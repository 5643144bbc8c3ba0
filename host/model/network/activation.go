package network

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind names an activation function. What is known of it is in the table of facts.go.
type Kind int

// The activation functions.
const (
	Identity Kind = iota
	ReLU
	LeakyReLU
	Tanh
	Sigmoid
	Softplus
	ELU
	// Kinds is how many there are: the length of every table with an entry for each.
	Kinds = iota
)

// String returns the word of the kind, such as relu.
func (k Kind) String() string {
	if k < 0 || int(k) >= Kinds {
		return fmt.Sprintf("activation(%d)", int(k))
	}
	return table[k].word
}

// Activation is an activation function, applied to every neuron of a layer.
type Activation struct {
	Kind Kind
	// Slope is the factor of LeakyReLU for t < 0, in (0, 1), and that of ELU (its alpha), in
	// (0, 1]; 0 for the others.
	Slope float64
}

// String returns identity, relu, tanh, sigmoid, softplus, leaky_relu:SLOPE or elu:SLOPE.
func (a Activation) String() string {
	if a.Kind >= 0 && int(a.Kind) < Kinds && table[a.Kind].slope == yes {
		return fmt.Sprintf("%v:%v", a.Kind, a.Slope)
	}
	return a.Kind.String()
}

// ParseActivation reads the words that String writes.
func ParseActivation(word string) (Activation, error) {
	name, text, withSlope := strings.Cut(word, ":")
	for k := range table {
		if table[k].word != name || (table[k].slope == yes) != withSlope {
			continue
		}
		a := Activation{Kind: Kind(k)}
		if !withSlope {
			return a, nil
		}
		var err error
		if a.Slope, err = strconv.ParseFloat(text, 64); err != nil || !table[k].slopeFits(a.Slope) {
			return Activation{}, fmt.Errorf("%s slope %.40q is not a number between 0 and 1", name, text)
		}
		return a, nil
	}
	return Activation{}, fmt.Errorf("activation %.40q is none of %s", word, Words())
}

// Words lists what ParseActivation reads, for messages; identity, which leaves a layer
// linear, comes last.
func Words() string {
	var words []string
	for k := range table {
		word := table[k].word
		if table[k].slope == yes {
			word += ":SLOPE"
		}
		words = append(words, word)
	}
	return strings.Join(append(words[1:], words[Identity]), ", ")
}

// slopeFits: with a slope above 1 an ELU would not be convex, with one of 1 a leaky ReLU is the
// identity.
func (f *facts) slopeFits(s float64) bool { return s > 0 && (s < 1 || s == 1 && f.kinked == no) }

// Check returns what is wrong with the activation: a kind that is not in the table, or a slope
// where there is none, or one that is not in (0, 1).
func (a Activation) Check() error {
	switch {
	case a.Kind < 0 || int(a.Kind) >= Kinds:
		return fmt.Errorf("it must be %s", Words())
	case table[a.Kind].slope == yes && !table[a.Kind].slopeFits(a.Slope):
		return fmt.Errorf("its slope must be between 0 and 1")
	}
	return nil
}
