package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"psafe/host/bound"
	"psafe/host/posterior"
	"psafe/host/property"
)

// taskFlags say what is to be certified: points of a data file with a radius and
// a property, or a property file.
type taskFlags struct {
	inputs, inputScale, labelColumn, index, eps string
	clip                                        []string
	property, label                             string

	changed func(flag string) bool
}

func (t *taskFlags) add(f *pflag.FlagSet) {
	t.changed = f.Changed
	f.StringVar(&t.inputs, "inputs", "", "data file of input points: IDX, .npy, .npz or CSV, may be gzipped")
	f.StringVar(&t.inputScale, "input-scale", "", "factor for every input value, such as 1/255 (the default for bytes; else 1)")
	f.StringVar(&t.labelColumn, "label-column", "", "class column of a CSV file: first, last, none or its name (default none)")
	f.StringVar(&t.index, "index", ":", "which points: 0:100 (half-open), 7, or 1,5,9:12")
	f.StringVar(&t.eps, "eps", "", "radius of T around each point, in each coordinate")
	f.StringSliceVar(&t.clip, "clip", nil, "cut T to this interval, for example 0,1")
	f.StringVar(&t.property, "property", property.KeepsClass, "keeps_class (the mean network's), argmax_is:C, argmax_is_never:C, output_box:[lo,hi],..., or a JSON file (docs/properties.md)")
	f.StringVar(&t.label, "label", "", "keep this class instead of the mean network's: a number, a label file, or \"column\" for --label-column")
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

// load builds the tasks and checks that they fit the network.
func (t *taskFlags) load(post *posterior.Posterior) (*taskList, error) {
	var list *taskList
	var err error
	if isFile(t.property) {
		list, err = t.fromFile(post)
	} else {
		list, err = t.fromPoints(post)
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

// isFile tells a property file from a property in words.
func isFile(text string) bool {
	if kind, _, spec := strings.Cut(text, ":"); strings.HasSuffix(text, ".json") {
		return true
	} else if text == property.KeepsClass || spec && !strings.ContainsAny(kind, "./") {
		return false
	}
	_, err := os.Stat(text)
	return err == nil
}

func (t *taskFlags) fromFile(post *posterior.Posterior) (*taskList, error) {
	for _, flag := range []string{"inputs", "input-scale", "label-column", "index", "eps", "clip", "label"} {
		if t.changed(flag) {
			return nil, fmt.Errorf("--%s and a property file cannot be combined: the file %s has its own input boxes", flag, t.property)
		}
	}
	tasks, err := property.ReadFile(t.property, post.Outputs())
	if err != nil {
		return nil, err
	}
	list := &taskList{tasks: tasks, source: t.property}
	if len(tasks) > 0 {
		list.sha256 = tasks[0].FileSHA256
	}
	return list, nil
}

func (t *taskFlags) fromPoints(post *posterior.Posterior) (*taskList, error) {
	if t.inputs == "" {
		return nil, errors.New("--inputs is missing: name a data file, or a property file with --property FILE.json")
	}
	if t.eps == "" {
		return nil, errors.New("--eps is missing: the radius of T around each point, for example 0.01 (0 is the point itself)")
	}
	eps, err := property.NewDecimal(t.eps)
	if err != nil {
		return nil, fmt.Errorf("--eps: %w", err)
	}
	if eps.Lo < 0 {
		return nil, fmt.Errorf("--eps %s is negative: a radius is at least 0", t.eps)
	}
	clip, err := t.clipInterval()
	if err != nil {
		return nil, err
	}
	points, err := property.ReadPoints(t.inputs, property.InputOptions{Scale: t.inputScale, LabelColumn: t.labelColumn})
	if err != nil {
		return nil, err
	}
	if points.Dim != post.Inputs() {
		return nil, fmt.Errorf("%s: points have %d coordinates, the network of %s takes %d", t.inputs, points.Dim, post.Source.Path, post.Inputs())
	}
	index, err := property.ParseIndex(t.index, points.N())
	if err != nil {
		return nil, fmt.Errorf("--index: %w", err)
	}
	safe, words, err := t.safeSets(post, points)
	if err != nil {
		return nil, err
	}
	list := &taskList{source: t.inputs, sha256: points.SHA256, words: words}
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

func (t *taskFlags) clipInterval() (*[2]property.Decimal, error) {
	if len(t.clip) == 0 {
		return nil, nil
	}
	if len(t.clip) != 2 {
		return nil, fmt.Errorf("--clip %s: give two numbers, for example 0,1", strings.Join(t.clip, ","))
	}
	var ends [2]property.Decimal
	for i, text := range t.clip {
		var err error
		if ends[i], err = property.NewDecimal(strings.TrimSpace(text)); err != nil {
			return nil, fmt.Errorf("--clip: %w", err)
		}
	}
	if ends[0].Lo > ends[1].Hi {
		return nil, fmt.Errorf("--clip %s: the interval is empty: give the lower end first", strings.Join(t.clip, ","))
	}
	return &ends, nil
}

// safeSets returns the safe set of each point.
func (t *taskFlags) safeSets(post *posterior.Posterior, points *property.Points) (func(int) (property.Safe, int, error), string, error) {
	outputs := post.Outputs()
	if t.property != property.KeepsClass {
		if t.label != "" {
			return nil, "", errors.New("--label and --property cannot be combined: write --property argmax_is:LABEL, or only --label")
		}
		s, label, err := property.ParseSpec(t.property, outputs)
		return func(int) (property.Safe, int, error) { return s, label, err }, t.property, err
	}
	if outputs < 2 {
		return nil, "", fmt.Errorf("the network of %s has one output, so it has no classes: give --property output_box:[lo,hi] or a property file", post.Source.Path)
	}
	if t.label != "" {
		labels, err := t.labels(points)
		return func(i int) (property.Safe, int, error) {
			c := labels(i)
			if c < 0 || c >= outputs {
				return property.Safe{}, 0, fmt.Errorf("--label %s: point %d has class %d, the network has %d outputs", t.label, i, c, outputs)
			}
			return property.ArgmaxIs(c, outputs), c, nil
		}, "label", err
	}
	return func(i int) (property.Safe, int, error) {
		c := argmax(post.LogitsApprox(middle(points.At(i))))
		return property.ArgmaxIs(c, outputs), c, nil
	}, property.KeepsClass, nil
}

// labels reads --label.
func (t *taskFlags) labels(points *property.Points) (func(int) int, error) {
	if c, err := strconv.Atoi(t.label); err == nil {
		return func(int) int { return c }, nil
	}
	all := points.Labels
	if t.label == "column" {
		if all == nil {
			return nil, fmt.Errorf("--label column: %s has no label column: name it with --label-column", t.inputs)
		}
	} else {
		var err error
		if all, err = property.ReadLabels(t.label); err != nil {
			return nil, err
		}
	}
	if len(all) != points.N() {
		return nil, fmt.Errorf("--label %s: %d labels for %d points", t.label, len(all), points.N())
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
