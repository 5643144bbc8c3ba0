package certify

import (
	"errors"
	"fmt"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Tasks describe what is to be certified: a property file, or points of a data file with a region
// around each, or both where the properties are relative to points.
type Tasks struct {
	// File is a property file. If it has its own input boxes, only Index, Mean and Std of Points may be
	// set, and Index says which of its properties. Joined makes one task of those with the same safe set
	// (property.JoinTasks).
	File   string
	Joined bool
	Points Points
}

// Points are points of a data file, the region T around each and the safe set S.
type Points struct {
	// Inputs is the data file: IDX, .npy, .npz (FILE.npz:ARRAY) or CSV, which may be
	// gzipped, PNG, a folder of PNG or a list of them. Scale and LabelColumn are those of
	// property.InputOptions.
	Inputs, Scale, LabelColumn string
	// Index says which points, as property.ParseIndex reads it; all if it is not given.
	Index *string
	// Eps lists the radii of T, with commas between them: there is a task for each of them and
	// each point. Each, and Norm, Clip, Fix and Free, are what property.RegionText says.
	Eps  string
	Norm string
	// Most, in the place of Eps, asks for radii: for each point the largest multiple of Step, a decimal
	// or a fraction (a 256th of Most if it is empty), up to Most at which what is wanted is certified, and
	// the smallest at which it is refuted.
	Most, Step string
	Clip       []string
	Fix, Free  string
	// Mean and Std, if not empty, take the data to what the network sees (property.ReadNorm),
	// after T was made in the units of the data. Where the posterior's file says them, they
	// must agree with it and need not be given.
	Mean, Std string
	// InputNoise, if not empty, is a vector of standard deviations of noise of the inputs, in the units of the
	// data (property.ReadInputNoise).
	InputNoise string
	// Relation, if not empty, makes the task one about pairs of inputs (property.ReadRelation).
	Relation string
	// Other, if not empty, makes the task one about f^w and another network, whose file it names, or OtherMean; then
	// Relation, if it is not empty, is of both (property.ReadComparison).
	Other string
	// Channels, if not empty, is "first" or "last": how the network takes images.
	Channels string
	// Property holds what property.ParseSpec reads, or leaves the class open
	// (property.NeedsClass): then it is that of the mean network.
	Property string
	// Label is the class that Property leaves open: a number, a file of labels, "column" for
	// LabelColumn, or "mean" for the mean network's. Empty is "column" where LabelColumn
	// names one, so that a class is never dropped without a word, and else "mean".
	Label string
}

// taskList is the work of a run.
type taskList struct {
	// n tasks there are, of which at makes number k: it keeps none, so that memory does not grow
	// with n.
	n  int
	at func(k int) (property.Task, error)
	// around makes number k with a radius of its own, nil if radii are no flag.
	around func(k int, eps string) (property.Task, error)
	// search is there if tasks are ends of radii; then at makes them at the largest radius.
	search *search
	// source is the data or property file, sha256 its digest; template is the file of
	// properties relative to points, if there is one.
	source, sha256, template string
	words                    string
	// clipSHA256 is the digest of the file of the clip interval.
	clipSHA256 string
	norm       norm
	channels   string
	relation   *property.Relation
	// points are those of the data file in the network's order, nil without.
	points *property.Points
	notes  []Note
}

// property names a task's property in records.
func (l *taskList) property(t *property.Task) string {
	if property.NeedsClass(l.words) {
		return property.WithClass(l.words, t.Label)
	}
	if l.words == "" {
		number := t.Index
		if l.template != "" {
			number = t.Template
		}
		if t.Name == "" {
			return fmt.Sprintf("number %d of the property file", number)
		}
		return t.Name
	}
	return l.words
}

// Load reads the files and builds the tasks, for a command that makes no records of them.
func (t *Tasks) Load(post *posterior.Posterior) ([]property.Task, error) {
	if t.Points.round() {
		return nil, errors.New("--norm is for psafe certify: T is a box here: leave it out")
	}
	if t.Points.InputNoise != "" || t.Points.pairs() {
		return nil, errors.New("--input-noise, --relation and --other are for psafe certify: leave them out")
	}
	list, err := t.load(post)
	if err != nil {
		return nil, err
	}
	return list.all()
}

// all are all tasks.
func (l *taskList) all() ([]property.Task, error) {
	var tasks []property.Task
	for k := range l.n {
		t, err := l.at(k)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// load builds the tasks and checks that they fit the network.
func (t *Tasks) load(post *posterior.Posterior) (*taskList, error) {
	var list *taskList
	relation, err := t.Points.relation(post)
	if err != nil {
		return nil, err
	}
	_, says := relation.Safe()
	switch {
	case says && t.Points.Other != "" && (t.File != "" || t.Points.Property != property.KeepsClass):
		return nil, fmt.Errorf("--relation %s says what is asked of the outputs: leave it or --property out", Printable(t.Points.Relation))
	case says && (t.File != "" || t.Points.Property != property.KeepsClass):
		return nil, fmt.Errorf("--relation %s says what is asked of the outputs: leave --property out, or use step, swap or near", Printable(t.Points.Relation))
	case t.File == "":
		list, err = t.Points.tasks(post, relation)
	case t.Points.Inputs != "":
		list, err = t.fromTemplates(post, relation)
	default:
		list, err = t.fromFile(post, relation)
	}
	if err != nil {
		return nil, err
	}
	if list.norm.words[0] == FromPosterior && t.File != "" {
		list.notes = append(list.notes, &Normalised{post.Source.Path, t.File})
	}
	list.at = list.checked(post)
	return list, nil
}

// checked is at with a check that each task fits the network.
func (l *taskList) checked(post *posterior.Posterior) func(int) (property.Task, error) {
	at := l.at
	return func(k int) (property.Task, error) {
		t, err := at(k)
		if err != nil {
			return t, err
		}
		if err = t.Check(l.relation.Shape(post.Inputs(), post.Outputs())); err == nil {
			err = t.CheckShape(post.Input.Shape)
		}
		if err != nil {
			return t, fmt.Errorf("%s: %w", l.source, err)
		}
		return t, nil
	}
}

// fits returns which input box of a task is beyond the range of a precision.
func (l *taskList) fits(t *property.Task, p bound.Precision) error {
	for _, b := range t.T {
		for j := range b.Lo {
			if !(p.RoundLo(b.Lo[j]) >= -p.Max() && p.RoundHi(b.Hi[j]) <= p.Max()) {
				return fmt.Errorf("%s: index %d: input %d from %v to %v does not fit %v: use --precision float64", l.source, t.Index, j, b.Lo[j], b.Hi[j], p)
			}
		}
	}
	return nil
}

// fromFile is a property file with its own input boxes.
func (t *Tasks) fromFile(post *posterior.Posterior, relation *property.Relation) (*taskList, error) {
	p := &t.Points
	if err := t.refuse("the file "+t.File+" has its own input boxes", []given{
		{"inputs", p.Inputs != ""}, {"input-scale", p.Scale != ""}, {"label-column", p.LabelColumn != ""},
		{"eps", p.Eps != ""}, {"norm", p.round()}, {"clip", len(p.Clip) > 0}, {"fix", p.Fix != ""}, {"free", p.Free != ""}, {"channels", p.Channels != ""},
		{"label", p.Label != ""}, {"property", p.Property != ""},
	}); err != nil {
		return nil, err
	}
	_, outputs := relation.Shape(post.Inputs(), post.Outputs())
	tasks, err := property.ReadFile(t.File, outputs)
	if err != nil {
		return nil, unfound("--property", err)
	}
	if t.Joined {
		tasks = property.JoinTasks(tasks)
	}
	index, err := property.ParseIndex(or(p.Index, ":"), len(tasks), "property")
	if err != nil {
		return nil, fmt.Errorf("--index: %s: %w", t.File, err)
	}
	list := &taskList{n: len(index), source: t.File, relation: relation, at: func(k int) (property.Task, error) { return tasks[index[k]], nil }}
	if len(tasks) > 0 {
		list.sha256 = tasks[0].FileSHA256
	}
	if list.norm, err = p.norm(post, post.Input.Shape, p.Channels); err != nil {
		return nil, err
	}
	for i := range tasks {
		err := list.norm.apply(&tasks[i], post.Inputs(), outputs)
		if err == nil {
			err = relation.Extend(&tasks[i], list.norm.Norm)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: property %d: %w", t.File, i, err)
		}
	}
	return list, nil
}

// round reports whether T is a ball.
func (p *Points) round() bool { return p.Norm != "" && p.Norm != "inf" }

// normWord is the word of Norm in records: none for the box.
func (p *Points) normWord() string {
	if p.round() {
		return p.Norm
	}
	return ""
}

// given tells whether a flag is given.
type given struct {
	flag string
	is   bool
}

// refuse names the first flag that is given beside a property file for which it is not.
func (t *Tasks) refuse(why string, flags []given) error {
	for _, of := range flags {
		if of.is {
			return fmt.Errorf("--%s and a property file cannot be combined: %s", of.flag, why)
		}
	}
	return nil
}
