package prove

import (
	"fmt"
	"reflect"
	"strings"

	"psafe/host/model/posterior"
)

// Strategy is how P_safe is bounded. What each is and does, the table strategies says.
type Strategy int

const (
	// Centred is one box around the mean, as wide as verifies.
	Centred Strategy = iota
	// Sampled is Algorithm 1 of Wicker et al. (UAI 2020): boxes of fixed
	// half-width around posterior samples.
	Sampled
	// CLBP is concentration LBP: no boxes at all.
	CLBP
	// NeuronSums is for one hidden layer: a sum of independent terms, one a neuron.
	NeuronSums
	// Auto is the best of what is cheap first.
	Auto
	// Statistical decides drawn networks: a statement with a confidence.
	Statistical
	// Finite decides every network of a posterior that is a finite set of them.
	Finite
	// strategyCount is how many there are.
	strategyCount
)

// entry is everything that this package knows of a strategy as such. There is no default:
// a field that is missing stops the program when it starts.
type entry struct {
	// word is the strategy's name.
	word string
	// family says whether the word is a value of --boxes.
	family family
	// fits says in one line why a posterior is none for the strategy; nil if it is one.
	fits func(*posterior.Posterior) error
	// run hands the tasks of a job to its engines: groups, mostly.
	run runner
	// uppers says who looks for upper bounds, drawn what Config.Samples is for: a number
	// of the strategy itself, or of networks drawn beside it (job.beside).
	uppers, drawn place
}

// family sorts strategies.
type family int

const (
	_ family = iota
	// weightBoxes verify boxes of weights by Config.Method.
	weightBoxes
	// otherFamily is everything else.
	otherFamily
)

// place is where something is done.
type place int

const (
	_ place = iota
	// inside: by the strategy.
	inside
	// beside: by Run, for any strategy in the same way.
	beside
)

// strategies is the one table of strategies. A new one is a file that certifies a group
// of tasks, a constant above, and an entry.
var strategies [strategyCount]entry

func init() {
	strategies = [strategyCount]entry{
		Centred: {word: "centred", family: weightBoxes, fits: independent,
			run: groups{withMixtures(byCentredBoxes), groupByCost}, uppers: beside, drawn: beside},
		Sampled: {word: "sampled", family: weightBoxes, fits: independent,
			run: together(sampledBoxes), uppers: beside, drawn: inside},
		CLBP: {word: "clbp", family: otherFamily, fits: independent,
			run: groups{withMixtures(byCLBP), groupByCost}, uppers: beside, drawn: beside},
		NeuronSums: {word: "neuronsum", family: otherFamily, fits: oneHiddenLayer,
			run: groups{neuronSum, groupOfOne}, uppers: beside, drawn: beside},
		Auto: {word: "auto", family: otherFamily, fits: independent,
			run: groups{auto, groupOfAuto}, uppers: inside, drawn: beside},
		Statistical: {word: "statistical", family: otherFamily, fits: anyPosterior,
			run: groups{byDraws, groupByCost}, uppers: beside, drawn: inside},
		Finite: {word: "samples", family: otherFamily, fits: finiteSet,
			run: groups{bySet, groupByCost}, uppers: inside, drawn: beside},
	}
	mustBeComplete(strategies[:])
}

// mustBeComplete panics where an entry of a table lacks something.
func mustBeComplete(table []entry) {
	for s := range table {
		if field := missing(reflect.ValueOf(&table[s]).Elem()); field != "" {
			panic(fmt.Sprintf("prove: strategy %d (%q) has no %s in the table of strategies", s, table[s].word, field))
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

// entry is the strategy's, an error for what is no strategy.
func (s Strategy) entry() (*entry, error) {
	if !s.known() {
		return nil, fmt.Errorf("%v is none of the %d strategies", s, int(strategyCount))
	}
	return &strategies[s], nil
}

func (s Strategy) known() bool { return s >= 0 && s < strategyCount }

// String returns the word for the strategy: for boxes, the value of --boxes.
func (s Strategy) String() string {
	if !s.known() {
		return fmt.Sprintf("strategy(%d)", int(s))
	}
	return strategies[s].word
}

// ParseStrategy reads the word of a strategy of weight boxes: centred or sampled.
func ParseStrategy(word string) (Strategy, error) {
	var words []string
	for s, e := range strategies {
		if e.family != weightBoxes {
			continue
		}
		if e.word == word {
			return Strategy(s), nil
		}
		words = append(words, e.word)
	}
	return 0, fmt.Errorf("boxes %.40q is none of %s", word, strings.Join(words, ", "))
}

// The posteriors that strategies are for. Others are refused, as a strategy would take
// their mean network, which has no deviations, for the posterior.

// independent: independent normal weights.
func independent(p *posterior.Posterior) error { return p.RequireIndependent() }

// oneHiddenLayer: independent normal weights of a network with one hidden layer, dense as the
// output is.
func oneHiddenLayer(p *posterior.Posterior) error {
	if err := p.RequireIndependent(); err != nil {
		return err
	}
	if !p.Network().Chain() {
		return fmt.Errorf("%v is for networks with one hidden layer, both layers dense: use --method clbp", NeuronSums)
	}
	if len(p.Layers) != 2 {
		return fmt.Errorf("%v is for networks with exactly one hidden layer, this one has %d: use --method clbp", NeuronSums, len(p.Layers)-1)
	}
	return nil
}

// anyPosterior: networks can be drawn from all of them.
func anyPosterior(*posterior.Posterior) error { return nil }

// finiteSet: finitely many networks, which may be one.
func finiteSet(p *posterior.Posterior) error {
	if p.Networks() == nil {
		return fmt.Errorf("this posterior is %s, not a finite set of networks: use --method statistical", p.Describe())
	}
	return nil
}
