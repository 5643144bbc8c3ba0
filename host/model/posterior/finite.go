package posterior

import (
	"fmt"
	"slices"
)

// Finite is finitely many networks of one shape: the distribution that gives
// network i the probability Counts[i] / Total(), exactly. Nobody may write to it
// once a Posterior has it.
type Finite struct {
	// Counts has one whole number >= 1 per network, of at most 2^53 together.
	Counts []int64
	// Stack has one list per array, in the order weights of layer 0, biases of
	// layer 0, weights of layer 1, ...: entry i*n+e of a list is entry e of the
	// array, of length n, of network i. The order is that of Layer.Weight and Layer.Bias.
	Stack [][]float64
	// DrawsOf says in words which posterior the networks were drawn from, independently of each
	// other; empty if nobody says so. Then every count is 1.
	DrawsOf string
}

// maxDrawsOf bounds the words of DrawsOf, in bytes.
const maxDrawsOf = 200

// MaxTotal bounds the sum of counts: up to it, every count and every partial sum
// is a float64.
const MaxTotal = 1 << 53

// N is the number of networks, counting each once.
func (s *Finite) N() int { return len(s.Counts) }

// Total is the sum of Counts.
func (s *Finite) Total() int64 {
	var t int64
	for _, c := range s.Counts {
		t += c
	}
	return t
}

// Weights returns network i, 0 <= i < N(), in the layout of Posterior.Draw. It
// shares memory with s: the caller may not write to it.
func (s *Finite) Weights(i int) [][]float64 {
	w := make([][]float64, len(s.Stack))
	for a, stack := range s.Stack {
		n := len(stack) / s.N()
		w[a] = stack[i*n : (i+1)*n : (i+1)*n]
	}
	return w
}

// Networks is the posterior as finitely many networks: those of KindFinite, or, where no weight
// of independent normal ones has a deviation above 0, the network of the means, which every draw
// is. nil where it is no such set. The caller may not write to it.
func (p *Posterior) Networks() *Finite {
	if p.Kind == KindGaussian && p.Random() == 0 {
		return &Finite{Counts: []int64{1}, Stack: p.Mean()}
	}
	return p.finite
}

// FromFinite makes the posterior that is these networks. Of layers it takes
// shapes and activations; the means it sets to those of the networks, weighted by
// counts and rounded, for LogitsApprox. It keeps s. Any error is that of Validate.
func FromFinite(layers []Layer, s *Finite) (*Posterior, error) {
	p := &Posterior{Kind: KindFinite, Layers: means(layers), finite: s}
	if err := s.validate(p); err != nil {
		return nil, err
	}
	total := float64(s.Total())
	for a, g := range p.Params() {
		n := p.size(a)
		// Differences to the first network: where all have one weight, so has the
		// mean, and its standard deviation shows as 0.
		first := s.Stack[a][:n]
		g.Mean = slices.Clone(first)
		for i, count := range s.Counts {
			q := float64(count) / total
			for e, w := range s.Stack[a][i*n : (i+1)*n] {
				g.Mean[e] += float64(q * (w - first[e]))
			}
		}
	}
	return p, p.Validate()
}

// validate checks counts, lengths and numbers against the shapes of p.
func (s *Finite) validate(p *Posterior) error {
	if err := p.Network().Check(); err != nil {
		return err
	}
	if s.N() == 0 {
		return fmt.Errorf("posterior has no samples")
	}
	if err := validateCounts(s.Counts); err != nil {
		return err
	}
	if err := s.validateDraws(); err != nil {
		return err
	}
	if len(s.Stack) != 2*len(p.Layers) {
		return fmt.Errorf("%d arrays of samples for %d layers: weights and biases of each are needed", len(s.Stack), len(p.Layers))
	}
	for a, stack := range s.Stack {
		n := p.size(a)
		if !stacked(len(stack), n, s.N()) {
			return fmt.Errorf("%s: %d numbers for %d samples; the shape needs %d each", arrayWords(a), len(stack), s.N(), n)
		}
		if bad := finite(stack, n); bad != "" {
			return fmt.Errorf("%s: sample %s", arrayWords(a), bad)
		}
	}
	return nil
}

// validateDraws checks what is said of independent draws. A count above 1 is of a chain that stood
// still, or of networks that were put together: such are not independent.
func (s *Finite) validateDraws() error {
	if len(s.DrawsOf) > maxDrawsOf {
		return fmt.Errorf("draws_of has %d bytes: at most %d are allowed", len(s.DrawsOf), maxDrawsOf)
	}
	for i, c := range s.Counts {
		if s.DrawsOf != "" && c != 1 {
			return fmt.Errorf("sample %d has count %d: networks that are independent draws (draws_of) have count 1 each", i, c)
		}
	}
	return nil
}

// stacked reports whether a list of so many numbers is n for each of count.
func stacked(numbers, n, count int) bool {
	return n == 0 && numbers == 0 || n > 0 && numbers%n == 0 && numbers/n == count
}

// validateCounts checks that counts are whole numbers >= 1 with a sum that fits.
func validateCounts(counts []int64) error {
	left := int64(MaxTotal)
	for i, c := range counts {
		if c < 1 {
			return fmt.Errorf("sample %d has count %d: counts are whole numbers from 1; leave samples out that do not count", i, c)
		}
		if c > left {
			return fmt.Errorf("counts up to sample %d add up to more than 2^53", i)
		}
		left -= c
	}
	return nil
}
