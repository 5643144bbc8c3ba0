package prove

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/chernoff"
	"psafe/host/prove/confine"
	"psafe/host/read/property"
)

// Method names how P_safe is bounded. What each is and does, the table ways says.
type Method int

const (
	// Auto is the best of what is cheap first.
	Auto Method = iota
	// IBP and LBP are Algorithm 1 of Wicker et al. (UAI 2020): weight boxes of fixed half-width around
	// posterior samples, verified by intervals or by lines (bound.Propagation).
	IBP
	LBP
	// CLBP is concentration LBP: no boxes at all.
	CLBP
	// NeuronSum is for one hidden layer: a sum of independent terms, one a neuron.
	NeuronSum
	// Phases decides, on one event that confines the noise of neurons, all networks at once.
	Phases
	// Chernoff bounds rows at points by exact moments of ReLU neurons.
	Chernoff
	// Finite decides every network of a posterior that is a finite set of them.
	Finite
	// Statistical decides drawn networks: a statement with a confidence.
	Statistical
	// methodCount is how many there are.
	methodCount
)

// methodWords are their words, for command lines.
var methodWords = [methodCount]string{"auto", "ibp", "lbp", "clbp", "neuronsum", "phases", "chernoff", "finite", "statistical"}

// MethodWords are the words of all of them, in the order of messages.
func MethodWords() []string { return slices.Clone(methodWords[:]) }

func (m Method) known() bool { return m >= 0 && m < methodCount }

// OfBoxes reports whether the method is about weight boxes.
func (m Method) OfBoxes() bool { return m == IBP || m == LBP }

// propagation returns what verifies weight boxes.
func (m Method) propagation() bound.Propagation {
	switch m {
	case IBP:
		return bound.IBP
	case LBP:
		return bound.LBP
	}
	panic(fmt.Sprintf("prove: weight boxes by method %v", m))
}

// String returns the word for the method.
func (m Method) String() string {
	if !m.known() {
		return fmt.Sprintf("method(%d)", int(m))
	}
	return methodWords[m]
}

// ParseMethod reads the word of a method.
func ParseMethod(word string) (Method, error) {
	m, err := parse(word, methodWords[:])
	return Method(m), err
}

// parse is the number of a word.
func parse(word string, of []string) (int, error) {
	i := slices.Index(of, word)
	if i < 0 {
		return 0, fmt.Errorf("%.40q is none of %s", word, strings.Join(of, ", "))
	}
	return i, nil
}

// way is everything that this package knows of a method as such. There is no
// default: a field that is missing stops the program when it starts.
type way struct {
	// fits says in one line why a posterior is none for the method; nil if it is one.
	fits func(*posterior.Posterior) error
	// run hands the tasks of a job to its engines: groups, mostly.
	run runner
	// uppers says who looks for upper bounds, drawn what Config.Samples is for: a number
	// of the method itself, or of networks drawn beside it (job.beside).
	uppers, drawn place
	// balls reports whether T may be a ball (property.Ball), or must be made of boxes.
	balls shape
}

// shape names what T may be.
type shape int

const (
	_ shape = iota
	// boxesAlone: a union of boxes.
	boxesAlone
	// ballsToo: or what a box and a ball have in common.
	ballsToo
)

// place names where something is done.
type place int

const (
	_ place = iota
	// inside: by the method.
	inside
	// beside: by Run, for any method in the same way.
	beside
)

// ways is the one table of methods. A new method is a file that certifies a group of tasks, a
// constant and a word above, and an entry.
var ways [methodCount]*way

func init() {
	drawn := &way{fits: independent, run: together(drawnBoxes), uppers: beside, drawn: inside, balls: boxesAlone}
	ways = [methodCount]*way{
		Auto:        {fits: clbpFits, run: groups{auto, groupOfAuto, autoPhases, autoCores}, uppers: inside, drawn: beside, balls: ballsToo},
		IBP:         drawn,
		LBP:         drawn,
		CLBP:        {fits: clbpFits, run: groups{withMixtures(byCLBP), groupByCost, never, always}, uppers: beside, drawn: beside, balls: ballsToo},
		NeuronSum:   {fits: oneHiddenLayer, run: groups{neuronSum, groupOfOne, never, never}, uppers: beside, drawn: beside, balls: boxesAlone},
		Phases:      {fits: confine.Fits, run: groups{byPhases, groupOfPhases, always, never}, uppers: beside, drawn: beside, balls: boxesAlone},
		Chernoff:    {fits: chernoff.Fits, run: groups{byMoments, groupOfOne, never, never}, uppers: beside, drawn: beside, balls: boxesAlone},
		Finite:      {fits: finiteSet, run: groups{bySet, groupByCost, never, never}, uppers: inside, drawn: beside, balls: boxesAlone},
		Statistical: {fits: anyPosterior, run: groups{byDraws, groupByCost, never, never}, uppers: beside, drawn: inside, balls: boxesAlone},
	}
	mustBeComplete(ways)
}

// mustBeComplete panics where a table lacks something.
func mustBeComplete(table [methodCount]*way) {
	for m, w := range table {
		if w == nil {
			panic(fmt.Sprintf("prove: method %v has no way", Method(m)))
		}
		if field := missing(reflect.ValueOf(w).Elem()); field != "" {
			panic(fmt.Sprintf("prove: method %v has no %s in the table of ways", Method(m), field))
		}
	}
}

// missing names a field of v, a struct, that is not there; "" if all are.
func missing(v reflect.Value) string {
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		if f.Kind() == reflect.Interface && !f.IsNil() {
			f = f.Elem()
		}
		if f.IsZero() {
			return name
		}
		if f.Kind() == reflect.Struct {
			if inner := missing(f); inner != "" {
				return name + "." + inner
			}
		}
	}
	return ""
}

// way is the one that was asked for, an error for what is none.
func (c *Config) way() (*way, error) {
	if !c.Method.known() {
		return nil, fmt.Errorf("%v is none of the %d methods", c.Method, int(methodCount))
	}
	return ways[c.Method], nil
}

// Fits returns in one line why a posterior is none for the method; nil if it is one.
func (c *Config) Fits(p *posterior.Posterior) error {
	w, err := c.way()
	if err != nil {
		return err
	}
	return w.fits(p)
}

// TakesBalls returns in one line why nothing is proved of balls with what was asked for and this
// posterior; nil if something is.
func (c *Config) TakesBalls(p *posterior.Posterior) error {
	w, err := c.way()
	switch {
	case err != nil:
		return err
	case w.balls != ballsToo:
		return fmt.Errorf("method %v is for boxes, not for balls: use --method clbp, or --norm inf", c.Method)
	case c.Samples > 0:
		return errors.New("networks are drawn for boxes, not for balls: leave --draws out, or use --norm inf")
	case c.Cells > 1:
		return errors.New("balls are not cut into cells: leave --options cells out, or use --norm inf")
	case c.Mean:
		return errors.New("means are bounded on boxes, not on balls: leave --target out, or use --norm inf")
	case c.Derived:
		return errors.New("--options derived is for boxes, not for balls: leave it out, or use --norm inf")
	case p.RequireIndependent() != nil:
		return fmt.Errorf("balls are for independent normal weights; this posterior is %s: use --norm inf", p.Describe())
	case !p.Network().Chain():
		return errors.New("balls are for networks that are a chain of dense layers: use --norm inf")
	}
	return nil
}

// takes refuses tasks with balls where nothing is proved of them: a method that does not know of a
// ball would take the box for T.
func (c *Config) takes(p *posterior.Posterior, tasks []property.Task) error {
	if slices.ContainsFunc(tasks, func(t property.Task) bool { return t.Ball != nil }) {
		return c.TakesBalls(p)
	}
	return nil
}

// The posteriors that methods are for. Others are refused, as a method would take
// their mean network, which has no deviations, for the posterior.

// independent: independent normal weights.
func independent(p *posterior.Posterior) error { return p.RequireIndependent() }

// clbpFits: independent normal weights, covariances in layers or, of a chain, of all of them, a last layer that
// alone is random, dropout, or linearised networks.
func clbpFits(p *posterior.Posterior) error {
	if p.RequireRows() == nil {
		return nil
	}
	if p.Kind == posterior.KindCorrelated || p.Kind == posterior.KindDropout || p.Kind == posterior.KindJoint {
		return p.RequireRows()
	}
	return p.RequireIndependent()
}

// oneHiddenLayer: independent normal weights of a network with one hidden layer, dense as the
// output is.
func oneHiddenLayer(p *posterior.Posterior) error {
	if err := p.RequireIndependent(); err != nil {
		return err
	}
	if !p.Network().Chain() {
		return fmt.Errorf("%v is for networks with one hidden layer, both layers dense: use --method clbp", NeuronSum)
	}
	if len(p.Layers) != 2 {
		return fmt.Errorf("%v is for networks with exactly one hidden layer, this one has %d: use --method clbp", NeuronSum, len(p.Layers)-1)
	}
	return nil
}

// anyPosterior: networks can be drawn from it.
func anyPosterior(p *posterior.Posterior) error { return p.RequireNetworks() }

// finiteSet: finitely many networks, which may be one.
func finiteSet(p *posterior.Posterior) error {
	if p.Networks() == nil {
		return fmt.Errorf("this posterior is %s, not a finite set of networks: use --method statistical", p.Describe())
	}
	return nil
}
