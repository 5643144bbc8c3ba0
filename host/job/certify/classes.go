package certify

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"
	"sync/atomic"

	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// safeSets returns the safe set of each point.
func (p *Points) safeSets(post *posterior.Posterior, points *property.Points, norm *property.Norm) (func(int) (property.Safe, int, error), error) {
	outputs := post.Outputs()
	if !property.NeedsClass(p.Property) {
		if p.Label != "" {
			return nil, fmt.Errorf("--label cannot be combined with --property %s, which leaves no class open: leave it out, or write keeps_class, top_k:K, margin:M or class_change_only:CLASS,CLASS", Printable(p.Property))
		}
		s, label, err := property.ParseSpec(p.Property, outputs)
		return func(int) (property.Safe, int, error) { return s, label, err }, err
	}
	if outputs < 2 {
		return nil, fmt.Errorf("the network of %s has one output, so it has no classes: give --property output_box:[lo,hi] or a property file; of a classifier with one logit y export the outputs (0, y) (psafe_export: classes=2), or say output_box:[0,inf] for class 1 and output_box:[-inf,0] for class 0", post.Source.Path)
	}
	class, err := p.classes(post, points, norm)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex               // tasks are made on all cores
	sets := map[int]property.Safe{} // points of one class share memory
	return func(i int) (property.Safe, int, error) {
		c, err := class(i)
		if err != nil {
			return property.Safe{}, 0, err
		}
		mu.Lock()
		defer mu.Unlock()
		if s, known := sets[c]; known {
			return s, c, nil
		}
		s, _, err := property.ParseSpec(property.WithClass(p.Property, c), outputs)
		sets[c] = s
		return s, c, err
	}, nil
}

// classLabel is Label with what stands for an empty one: a class, a file or "column"; empty
// for the mean network's class. words name what says so, and a way out if it was not typed.
func (p *Points) classLabel() (label, words, mend string) {
	switch {
	case p.Label == "mean":
		return "", "", ""
	case p.Label == "" && p.LabelColumn != "" && p.LabelColumn != "none":
		return "column", "--label-column " + Printable(p.LabelColumn), ", or give --label mean for the class of the mean network"
	}
	return p.Label, "--label " + Printable(p.Label), ""
}

// labelFile is the file of classes that Label names, empty where it is a word or a number.
func (p *Points) labelFile() string {
	label, _, _ := p.classLabel()
	if _, err := strconv.Atoi(label); err == nil || label == "" || label == "column" {
		return ""
	}
	return property.FileOf(label)
}

// classes returns the class of each point, that of --label or else the mean network's.
func (p *Points) classes(post *posterior.Posterior, points *property.Points, norm *property.Norm) (func(int) (int, error), error) {
	label, words, mend := p.classLabel()
	if label == "" {
		known := make([]atomic.Int32, points.N()) // one more than the class: tasks are made more than once
		return func(i int) (int, error) {
			if c := known[i].Load(); c > 0 {
				return int(c - 1), nil
			}
			lo, hi := points.At(i)
			box, err := norm.Outer(property.Box{Lo: lo, Hi: hi})
			if err != nil {
				return 0, fmt.Errorf("%s: point %d: %w", p.Inputs, i, err)
			}
			c := argmax(post.LogitsApprox(middle(box.Lo, box.Hi)))
			known[i].Store(int32(c) + 1)
			return c, nil
		}, nil
	}
	labels, err := p.labels(label, points)
	return func(i int) (int, error) {
		c := labels(i)
		if c < 0 || c >= post.Outputs() {
			return 0, fmt.Errorf("%s: point %d has class %d, the network has %d outputs: classes count from 0%s", words, i, c, post.Outputs(), mend)
		}
		return c, nil
	}, err
}

// labels reads what classLabel says.
func (p *Points) labels(label string, points *property.Points) (func(int) int, error) {
	if c, err := strconv.Atoi(label); err == nil {
		return func(int) int { return c }, nil
	}
	all := points.Labels
	if label == "column" {
		if all == nil {
			return nil, fmt.Errorf("--label column: %s has no label column: name it with --label-column", p.Inputs)
		}
	} else {
		var err error
		switch all, err = property.ReadLabels(label); {
		case errors.Is(err, fs.ErrNotExist) && points.Labels != nil:
			return nil, fmt.Errorf("--label %w: give a class, a file of labels, or --label column for the column %s", err, Printable(p.LabelColumn))
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("--label %w: give a class or a file of labels; of a CSV file --label-column names the column of the class", err)
		case err != nil:
			return nil, err
		}
	}
	if len(all) != points.N() {
		return nil, fmt.Errorf("--label %s: %d labels for %d points: give the labels of this data file", label, len(all), points.N())
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
