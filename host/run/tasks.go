package run

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"psafe/host/bound"
	"psafe/host/posterior"
	"psafe/host/property"
)

// Tasks say what is to be certified: a property file, or points of a data file with a
// region around each.
type Tasks struct {
	// File is a property file, which has its own input boxes: Points is empty then. Joined
	// makes one task of those with the same safe set (property.JoinTasks).
	File   string
	Joined bool
	Points Points
}

// Points are points of a data file, the region T around each and the safe set S.
type Points struct {
	// Inputs is the data file: IDX, .npy, .npz (FILE.npz:ARRAY) or CSV, which may be
	// gzipped. Scale and LabelColumn are those of property.InputOptions.
	Inputs, Scale, LabelColumn string
	// Index says which points, as property.ParseIndex reads it; all if it is not given.
	Index *string
	// Eps is the radius of T in each coordinate, a decimal; Clip, if not empty, the two
	// ends of the interval that T is cut to.
	Eps  string
	Clip []string
	// Property is property.KeepsClass, or what property.ParseSpec reads.
	Property string
	// Label replaces the mean network's class for KeepsClass: a class, a file of labels,
	// or "column" for LabelColumn. Empty for the mean network's.
	Label string
}

// taskList is the work of a run.
type taskList struct {
	tasks []property.Task
	// source is the data or property file, sha256 its digest.
	source, sha256 string
	words          string
}

// property names a task's property in records.
func (l *taskList) property(t *property.Task) string {
	if l.words == property.KeepsClass || l.words == "label" {
		return fmt.Sprintf("argmax_is:%d", t.Label)
	}
	if l.words == "" {
		if t.Name == "" {
			return fmt.Sprintf("number %d of the property file", t.Index)
		}
		return t.Name
	}
	return l.words
}

// Load reads the files and builds the tasks, for a command that makes no records of them.
func (t *Tasks) Load(post *posterior.Posterior) ([]property.Task, error) {
	list, err := t.load(post)
	if err != nil {
		return nil, err
	}
	return list.tasks, nil
}

// load builds the tasks and checks that they fit the network.
func (t *Tasks) load(post *posterior.Posterior) (*taskList, error) {
	var list *taskList
	var err error
	if t.File != "" {
		list, err = t.fromFile(post)
	} else {
		list, err = t.Points.tasks(post)
	}
	if err != nil {
		return nil, err
	}
	for i := range list.tasks {
		if err := list.tasks[i].Check(post.Inputs(), post.Outputs()); err != nil {
			return nil, fmt.Errorf("%s: %w", list.source, err)
		}
	}
	return list, nil
}

// fits says which input box is beyond the range of a precision.
func (l *taskList) fits(p bound.Precision) error {
	for _, t := range l.tasks {
		for _, b := range t.T {
			for j := range b.Lo {
				if !(p.RoundLo(b.Lo[j]) >= -p.Max() && p.RoundHi(b.Hi[j]) <= p.Max()) {
					return fmt.Errorf("%s: index %d: input %d from %v to %v does not fit %v: use --precision float64", l.source, t.Index, j, b.Lo[j], b.Hi[j], p)
				}
			}
		}
	}
	return nil
}

func (t *Tasks) fromFile(post *posterior.Posterior) (*taskList, error) {
	p := &t.Points
	for _, of := range []struct {
		flag  string
		given bool
	}{
		{"inputs", p.Inputs != ""}, {"input-scale", p.Scale != ""}, {"label-column", p.LabelColumn != ""}, {"index", p.Index != nil},
		{"eps", p.Eps != ""}, {"clip", len(p.Clip) > 0}, {"label", p.Label != ""}, {"property", p.Property != ""},
	} {
		if of.given {
			return nil, fmt.Errorf("--%s and a property file cannot be combined: the file %s has its own input boxes", of.flag, t.File)
		}
	}
	tasks, err := property.ReadFile(t.File, post.Outputs())
	if err != nil {
		return nil, err
	}
	if t.Joined {
		tasks = property.JoinTasks(tasks)
	}
	list := &taskList{tasks: tasks, source: t.File}
	if len(tasks) > 0 {
		list.sha256 = tasks[0].FileSHA256
	}
	return list, nil
}

// tasks builds one task a point.
func (p *Points) tasks(post *posterior.Posterior) (*taskList, error) {
	if p.Inputs == "" {
		return nil, errors.New("--inputs is missing: name a data file, or a property file with --property FILE.json")
	}
	if p.Eps == "" {
		return nil, errors.New("--eps is missing: the radius of T around each point, for example 0.01 (0 is the point itself)")
	}
	eps, err := property.NewDecimal(p.Eps)
	if err != nil {
		return nil, fmt.Errorf("--eps: %w", err)
	}
	if eps.Lo < 0 {
		return nil, fmt.Errorf("--eps %s is negative: a radius is at least 0", p.Eps)
	}
	clip, err := p.clipInterval()
	if err != nil {
		return nil, err
	}
	points, err := property.ReadPoints(p.Inputs, property.InputOptions{Scale: p.Scale, LabelColumn: p.LabelColumn, Dim: post.Inputs()})
	if err != nil {
		return nil, err
	}
	index, err := points.Choose(or(p.Index, ":"), post.Outputs())
	if err != nil {
		return nil, fmt.Errorf("--index: %w", err)
	}
	safe, words, err := p.safeSets(post, points)
	if err != nil {
		return nil, err
	}
	list := &taskList{source: p.Inputs, sha256: points.SHA256, words: words}
	for _, i := range index {
		box, err := points.Ball(i, eps, clip)
		if err != nil {
			return nil, err
		}
		task := property.Task{Index: i, T: []property.Box{box}, Inner: []property.Box{points.InnerBall(i, eps, clip)}}
		if task.S, task.Label, err = safe(i); err != nil {
			return nil, err
		}
		list.tasks = append(list.tasks, task)
	}
	return list, nil
}

func (p *Points) clipInterval() (*[2]property.Decimal, error) {
	if len(p.Clip) == 0 {
		return nil, nil
	}
	if len(p.Clip) != 2 {
		return nil, fmt.Errorf("--clip %s: give two numbers, for example 0,1", strings.Join(p.Clip, ","))
	}
	var ends [2]property.Decimal
	for i, text := range p.Clip {
		var err error
		if ends[i], err = property.NewDecimal(strings.TrimSpace(text)); err != nil {
			return nil, fmt.Errorf("--clip: %w", err)
		}
	}
	if ends[0].Lo > ends[1].Hi {
		return nil, fmt.Errorf("--clip %s: the interval is empty: give the lower end first", strings.Join(p.Clip, ","))
	}
	return &ends, nil
}

// safeSets returns the safe set of each point.
func (p *Points) safeSets(post *posterior.Posterior, points *property.Points) (func(int) (property.Safe, int, error), string, error) {
	outputs := post.Outputs()
	if p.Property != property.KeepsClass {
		if p.Label != "" {
			return nil, "", errors.New("--label and --property cannot be combined: write --property argmax_is:LABEL, or only --label")
		}
		s, label, err := property.ParseSpec(p.Property, outputs)
		return func(int) (property.Safe, int, error) { return s, label, err }, p.Property, err
	}
	if outputs < 2 {
		return nil, "", fmt.Errorf("the network of %s has one output, so it has no classes: give --property output_box:[lo,hi] or a property file", post.Source.Path)
	}
	argmaxIs := property.ArgmaxSets(outputs)
	if p.Label != "" {
		labels, err := p.labels(points)
		return func(i int) (property.Safe, int, error) {
			c := labels(i)
			if c < 0 || c >= outputs {
				return property.Safe{}, 0, fmt.Errorf("--label %s: point %d has class %d, the network has %d outputs", p.Label, i, c, outputs)
			}
			return argmaxIs(c), c, nil
		}, "label", err
	}
	return func(i int) (property.Safe, int, error) {
		c := argmax(post.LogitsApprox(middle(points.At(i))))
		return argmaxIs(c), c, nil
	}, property.KeepsClass, nil
}

// labels reads --label.
func (p *Points) labels(points *property.Points) (func(int) int, error) {
	if c, err := strconv.Atoi(p.Label); err == nil {
		return func(int) int { return c }, nil
	}
	all := points.Labels
	if p.Label == "column" {
		if all == nil {
			return nil, fmt.Errorf("--label column: %s has no label column: name it with --label-column", p.Inputs)
		}
	} else {
		var err error
		if all, err = property.ReadLabels(p.Label); err != nil {
			return nil, err
		}
	}
	if len(all) != points.N() {
		return nil, fmt.Errorf("--label %s: %d labels for %d points", p.Label, len(all), points.N())
	}
	return func(i int) int { return all[i] }, nil
}

// middle is the centre of each interval: which class the mean network gives it
// is a choice of the property, not a bound.
func middle(lo, hi []float64) []float64 {
	x := make([]float64, len(lo))
	for j := range x {
		x[j] = (lo[j] + hi[j]) / 2
	}
	return x
}

func argmax(y []float64) int {
	best := 0
	for i, v := range y {
		if v > y[best] {
			best = i
		}
	}
	return best
}
