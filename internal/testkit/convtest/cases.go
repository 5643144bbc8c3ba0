package convtest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

//go:embed testdata/bounds.jsonl
var boundsFile string

// Case is a question about a named network, and what an independent program of float64 without
// outward rounding computed for it.
type Case struct {
	// Net, with standard deviations times Factor, keeps Class on the ball of radius Eps around
	// the picture of Seed.
	Net    string
	Seed   uint64
	Eps    float64
	Factor float64
	Class  int
	// Logits are those of the mean network at the picture.
	Logits []float64
	// Tau is the failure probability of a hidden bound, Events how many of them fail with that
	// probability, and PLower what follows (docs/theory.md (27)).
	Tau, Events float64
	PLower      float64 `json:"p_lower"`
	// Intervals and Lines are the rows of the property, by either form.
	Intervals, Lines []Noise
	// Layers are sums over the units of a layer that have bounds: of lower and upper ends of
	// pre-activations, of radii after them. Nil for layers that need none.
	Layers [][]float64
	// Box is what weight boxes prove, by the words ibp, sep and share; nil if not computed.
	Box map[string]Box
}

// Noise is a row: its bound with the mean weights, and means and variances of noise by level
// from below.
type Noise struct {
	Lo   float64
	E, V []float64
}

// Box is the largest half-width in standard deviations that is accepted, of multiples of 0.05
// below 8, nil if none is, and the rows' bounds there.
type Box struct {
	Gamma  *float64
	Margin []float64
}

// Cases are all of them, in order of networks.
func Cases() []Case {
	var all []Case
	for line := range strings.Lines(boundsFile) {
		var c Case
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			panic(fmt.Sprintf("convtest: testdata/bounds.jsonl: %v", err))
		}
		all = append(all, c)
	}
	return all
}

// Name is like tinyA/eps0.015625/sdx0.25.
func (c *Case) Name() string {
	return fmt.Sprintf("%s-%d/eps%v/sdx%v", c.Net, c.Seed, c.Eps, c.Factor)
}

// Posterior is the case's.
func (c *Case) Posterior() *posterior.Posterior { return Named(c.Net).Posterior(c.Factor) }

// Task is the case's question.
func (c *Case) Task(post *posterior.Posterior) property.Task {
	return KeepsClass(post, Picture(c.Seed, Named(c.Net).Image), c.Eps, c.Class)
}
