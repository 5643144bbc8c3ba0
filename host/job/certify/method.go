package certify

import (
	"errors"
	"fmt"
	"strings"

	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/decide"
	"psafe/host/read/property"
)

// Method describes how to certify. A setting that the method does not know is an error.
type Method struct {
	// By is prove.Auto if it is not given, or prove.LBP if Gamma is.
	By *prove.Method
	// Gamma is the half-width of weight boxes in standard deviations.
	Gamma *float64
	// Draws is how many boxes are drawn, or networks for the statistical interval,
	// which holds with Confidence, 0.99 if it is not given; Seed, 0 if not, draws them.
	Draws      *int
	Confidence *float64
	Seed       *uint64
	// Cells is how many cells T may be cut into.
	Cells *int
	// Depth is how many activations rows of hidden neurons pass at most, by prove.LBP and prove.CLBP:
	// looser bounds in less time.
	Depth *int
	// NoUpper leaves upper bounds out; Derived adds those of single points.
	NoUpper, Derived bool
	// Each bounds, beside P_safe, the probability of safe outputs at the worst point of T.
	Each bool
	// Decision bounds, beside P_safe, what the posterior predictive decides.
	Decision bool
	// Costs has it decide by costs of actions (property.ParseCosts), Reject is the probability below which
	// it abstains. Then Action says which action the question is about: ActionTaken at the centre of T, if
	// it is empty, or ActionLabel, the best one for the class.
	Costs, Reject, Action string
	// Link is LinkProbit for the probit rule of a last layer that alone is random, in the place
	// of the average, LinkAverage, which it is if it is empty.
	Link string
	// Mean bounds, beside P_safe, the mean of each output over the posterior.
	Mean bool
	// Noise is the standard deviation of the noise of the data, which Mean adds to that of the outputs.
	Noise string
	// Quantile is the level of the quantile of the worst margin that is bounded beside P_safe; none if it is empty.
	Quantile string
}

// Limits of what may be asked for, and what is drawn if nobody says how much.
const (
	leastGamma, mostGamma = 1e-6, 100
	mostDraws             = 100_000_000
	mostCells             = 1 << 20
	defaultDraws          = 1000
	defaultConfidence     = 0.99
)

// config chooses the method and refuses settings of other methods.
func (m *Method) config() (prove.Config, error) {
	cfg := prove.Config{
		Method: or(m.By, prove.Auto), Samples: or(m.Draws, 0), Seed: or(m.Seed, 0), Gamma: or(m.Gamma, 0),
		Cells: or(m.Cells, 0), Derived: m.Derived, Each: m.Each, Decision: m.Decision, Mean: m.Mean, NoUpper: m.NoUpper, Confidence: or(m.Confidence, defaultConfidence),
	}
	if m.By == nil && m.Gamma != nil {
		cfg.Method = prove.LBP
	}
	if _, err := prove.ParseMethod(cfg.Method.String()); err != nil {
		return cfg, fmt.Errorf("--method %w", err)
	}
	if cfg.Method == prove.Statistical && cfg.Samples == 0 {
		cfg.Samples = defaultDraws
	}
	return cfg, m.check(&cfg)
}

// Which action a decision by costs is about.
const (
	ActionTaken = "taken"
	ActionLabel = "label"
)

// What the predictive of a decision is.
const (
	LinkAverage = "average"
	LinkProbit  = "probit"
)

// costs are Costs without spaces, as records have them.
func (m *Method) costs() string { return strings.Join(strings.Fields(m.Costs), "") }

// rule returns how the predictive decides between so many classes.
func (m *Method) rule(classes int) (rule decide.Rule, err error) {
	switch rule.Probit = m.Link == LinkProbit; {
	case m.Link != "" && m.Link != LinkAverage && !rule.Probit:
		return rule, fmt.Errorf("--options link %.40q is neither %s nor %s", m.Link, LinkAverage, LinkProbit)
	case m.Link != "" && !m.Decision:
		return rule, errors.New("--options link is for --target decision: add it, or leave link out")
	case rule.Probit && (m.Costs != "" || m.Reject != "" || m.Action != ""):
		return rule, errors.New("--options costs, reject and action are for link=average: the probit rule decides for a class here")
	}
	switch {
	case m.Costs == "" && m.Reject == "" && m.Action == "":
		return rule, nil
	case !m.Decision:
		return rule, errors.New("--options costs, reject and action are for --target decision: add it, or leave them out")
	case m.Costs != "" && m.Reject != "":
		return rule, errors.New("--options costs and reject exclude each other: what to abstain costs can be the last row of costs")
	case m.Action != "" && m.Action != ActionTaken && m.Action != ActionLabel:
		return rule, fmt.Errorf("--options action %.40q is neither %s nor %s", m.Action, ActionTaken, ActionLabel)
	case m.Costs != "":
		if rule.Costs, err = property.ParseCosts(m.costs(), classes); err != nil {
			return rule, fmt.Errorf("--options costs %w", err)
		}
	case m.Reject != "":
		if rule.Costs, err = property.RejectBelow(m.Reject, classes); err != nil {
			return rule, fmt.Errorf("--options reject %w", err)
		}
	default:
		return rule, errors.New("--options action is for costs or reject: without them the action is the class of the property")
	}
	rule.ByLabel = m.Action == ActionLabel
	for k := 0; rule.ByLabel && k < classes; k++ {
		if rule.Costs.BestFor(k) < 0 {
			return rule, fmt.Errorf("--options action=label: several actions cost least for class %d: leave it out, or change costs", k)
		}
	}
	return rule, nil
}

// check refuses settings that the method does not know.
func (m *Method) check(cfg *prove.Config) error {
	boxes := cfg.Method.OfBoxes()
	if m.Gamma != nil && !boxes {
		return errors.New("--gamma is for weight boxes: use --method ibp or lbp, or leave --gamma out")
	}
	cells, confidence := or(m.Cells, 0), or(m.Confidence, defaultConfidence)
	drawn := cfg.Method == prove.Statistical || or(m.Draws, 0) > 0 && cfg.Method != prove.Finite
	switch {
	case m.Cells != nil && boxes:
		return errors.New("--options cells is not for weight boxes: every box is checked on all of T at once: leave it out")
	case m.Cells != nil && (cells < 1 || cells > mostCells):
		return fmt.Errorf("--options cells=%d is not between 1 and %d", cells, mostCells)
	case m.Depth != nil && *m.Depth < 1:
		return fmt.Errorf("--options depth=%d is not above 0: give the most activations that rows pass, or leave it out", *m.Depth)
	case m.Depth != nil && cfg.Method != prove.LBP && cfg.Method != prove.CLBP:
		return fmt.Errorf("--options depth is for rows of --method lbp and clbp, not of %v: choose one of them, or leave it out", cfg.Method)
	case m.Depth != nil && drawn && !boxes:
		return errors.New("--options depth is not for networks that are drawn: leave out --draws, or depth")
	case m.Confidence != nil && (!drawn || boxes) && cfg.Method != prove.Finite && cfg.Method != prove.Auto: // of which suits asks
		return errConfidence
	case !(confidence > 0 && confidence < 1):
		return fmt.Errorf("--options confidence=%v is not between 0 and 1", confidence)
	case m.Seed != nil && !drawn && !boxes:
		return errors.New("--options seed is for --draws N: nothing else is drawn: add --draws, or leave seed out")
	case m.Draws != nil && cfg.Method == prove.Finite:
		return errors.New("--draws is not for --method finite: all networks of the posterior are decided: leave it out")
	}
	return nil
}

var errConfidence = errors.New("--options confidence is for --method statistical, for --draws N beside another method, or for sets of networks that say what they were drawn from: everything else is certified: add one of the flags, or leave confidence out")

// What may be certified: P_safe alone, or the probability at the worst point too, the decision of the posterior
// predictive, or means of outputs.
const (
	TargetSafe     = "safe"
	TargetEach     = "each"
	TargetDecision = "decision"
	TargetMean     = "mean"
)

// TargetWords are the words of what may be certified.
func TargetWords() []string { return []string{TargetSafe, TargetEach, TargetDecision, TargetMean} }

// decides refuses decisions and means that nothing here bounds.
func (r *ready) decides() (err error) {
	if r.cfg.Rule, err = r.Method.rule(r.post.Outputs()); err != nil {
		return err
	}
	if r.Method.Noise != "" {
		noise, err := property.NewDecimal(r.Method.Noise)
		switch {
		case !r.cfg.Mean:
			return errors.New("--options noise is for --target mean: add it, or leave noise out")
		case err != nil:
			return fmt.Errorf("--options noise %w", err)
		case noise.Lo < 0:
			return fmt.Errorf("--options noise %.40s is below 0: give a standard deviation", r.Method.Noise)
		}
		r.cfg.Noise = &noise
	}
	if r.Method.Quantile != "" {
		level, err := property.NewExact(r.Method.Quantile)
		switch {
		case err != nil:
			return fmt.Errorf("--options quantile %w", err)
		case level.Cmp(property.Exact{}) <= 0 || level.Cmp(property.MustExact("1")) >= 0:
			return fmt.Errorf("--options quantile %.40s is not between 0 and 1: give the probability that margins may be below", r.Method.Quantile)
		}
		if err := r.cfg.HasQuantile(r.post); err != nil {
			return fmt.Errorf("%s: %w", r.Posterior.Path, err)
		}
		r.cfg.Quantile = &level
	}
	if r.cfg.Mean {
		if t := &r.Tasks; t.File != "" || !property.IsBox(t.Points.Property) {
			return errors.New("--target mean is about a box of outputs: use --property output_box:[LO,HI],... with --inputs")
		}
		if err := prove.HasMean(r.post); err != nil {
			return fmt.Errorf("%s: --target mean: %w", r.Posterior.Path, err)
		}
	}
	if r.cfg.Each {
		if err := r.cfg.HasEach(r.post); err != nil {
			return fmt.Errorf("%s: --target each: %w", r.Posterior.Path, err)
		}
	}
	if !r.cfg.Decision {
		return nil
	}
	if t := &r.Tasks; t.File != "" || !property.IsClass(t.Points.Property) {
		return errors.New("--target decision is about one class: use --property keeps_class or argmax_is:CLASS, and --label")
	}
	if err := prove.Decides(r.post); err != nil {
		return fmt.Errorf("%s: --target decision: %w", r.Posterior.Path, err)
	}
	if r.cfg.Rule.Probit {
		if err := prove.DecidesByProbit(r.post); err != nil {
			return fmt.Errorf("%s: --options link=probit: %w", r.Posterior.Path, err)
		}
	}
	return nil
}

// suits checks that the method and the posterior go together, and has auto choose finite
// for a finite set of networks, of which one without deviations is one, and statistical for other
// weights that depend on each other.
func (r *ready) suits() error {
	path, post := r.Posterior.Path, r.post
	dependent := post.RequireIndependent()
	if r.cfg.Method == prove.Statistical || r.cfg.Samples > 0 {
		if err := post.RequireNetworks(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	parent := post.Finite() != nil && post.Finite().DrawsOf != ""
	if err := r.decides(); err != nil {
		return err
	}
	statistical := r.cfg.Method == prove.Statistical || r.cfg.Samples > 0 || dependent != nil && post.Networks() == nil && post.RequireRows() != nil
	if r.Method.Confidence != nil && !parent && !statistical {
		return errConfidence
	}
	if r.cfg.Method == prove.Auto && dependent != nil && post.Kind != posterior.KindFinite && post.RequireRows() != nil && !r.cfg.Derived {
		// Nothing here proves a bound for such weights, as clbp does of a last layer that alone is
		// random: what is left are drawn networks.
		r.cfg.Method = prove.Statistical
		if r.cfg.Samples == 0 {
			r.cfg.Samples = defaultDraws
		}
		_, why, _ := strings.Cut(strings.TrimSuffix(post.RequireRows().Error(), ": use --method statistical"), post.Describe()+"; ")
		r.tell(&OnlyDrawn{What: post.Describe(), Why: why, Networks: r.cfg.Samples, Confidence: r.cfg.Confidence, Slow: post.Joint() != nil && post.JointRank()*post.Weights() > 1<<23})
		return nil
	}
	if dependent != nil && r.cfg.Derived {
		return fmt.Errorf("%s: --options derived is for independent normal weights; this is %s: leave it out", path, post.Describe())
	}
	switch m := r.cfg.Method; {
	case m == prove.Auto && post.Networks() != nil:
		r.cfg.Method = prove.Finite
	case m == prove.Finite && post.Networks() == nil:
		return fmt.Errorf("%s: --method finite needs a posterior that is a set of networks; this is %s: leave --method out for the best that there is for it", path, post.Describe())
	}
	if err := r.cfg.Fits(post); err != nil {
		if post != r.read && r.cfg.Fits(r.read) == nil {
			flag := "input-noise"
			if !post.Shifts() {
				flag = "relation"
			}
			if r.other != nil {
				flag = "other"
			}
			return fmt.Errorf("--%s is not for --method %v: use clbp, lbp, ibp or statistical, or leave --method out", flag, r.cfg.Method)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	if r.Tasks.Points.round() {
		if err := r.cfg.TakesBalls(post); err != nil {
			return fmt.Errorf("--norm %s: %w", r.Tasks.Points.Norm, err)
		}
	}
	return nil
}
