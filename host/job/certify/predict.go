package certify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/fault"
	"psafe/internal/infile"
)

// Predict describes what psafe predict does: outputs of the mean network, and of drawn ones, at
// points. Everything is ordinary float64, evaluated at the middle of each coordinate's
// interval: an approximation, for comparing with other programs, and no bound.
type Predict struct {
	Posterior Posterior
	// Points are evaluated; of them Inputs, Scale, LabelColumn, Index, Channels, Mean, Std
	// and Label count. Without
	// a Label other than "mean", or a LabelColumn, nothing is compared.
	Points Points
	// Network, if not nil, takes this one of a set of samples instead of the mean network.
	Network *int
	// Draws is how many networks are drawn, from the sequence Seed; 0 for none.
	Draws int
	Seed  uint64
	// Note, if set, is told what a user should know. Strict makes an error of what is doubted.
	Note   func(Note)
	Strict bool
}

// Prediction holds what the networks say of one point.
type Prediction struct {
	// Index is the point's number in the data file.
	Index int `json:"index"`
	// Class holds the class of the largest logit of the mean network, nil for one output; Label
	// what Points.Label says, nil if it says nothing.
	Class  *int      `json:"class,omitempty"`
	Label  *int      `json:"label,omitempty"`
	Logits []float64 `json:"logits"`
	// Approx holds what drawn networks say, nil if none were drawn.
	Approx *Predictive `json:"approx,omitempty"`
}

// Predictive is the posterior predictive as some drawn networks have it. They estimate it:
// nothing here is a bound.
type Predictive struct {
	Samples int    `json:"samples"`
	Seed    uint64 `json:"seed"`
	// Class has the largest of Probabilities, which are the means of the softmax of the
	// logits; Shares says for each class in which share of the networks it has the largest
	// logit. All three are absent for one output.
	Class         *int      `json:"class,omitempty"`
	Probabilities []float64 `json:"probabilities,omitempty"`
	Shares        []float64 `json:"shares,omitempty"`
	// Mean and SD are those of each logit over the networks.
	Mean []float64 `json:"logit_mean"`
	SD   []float64 `json:"logit_sd"`
}

// Accuracy counts points whose class is the label.
type Accuracy struct{ Points, Right, RightApprox int }

// Run evaluates and hands each prediction to use, in order. The Accuracy is nil without
// labels. Errors are those of Posterior.Read and of the data, of one line.
func (p *Predict) Run(ctx context.Context, use func(*Prediction) error) (*Accuracy, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	post, err := p.Posterior.Read()
	if err != nil {
		return nil, unfound("--posterior", err)
	}
	weights, err := p.network(post)
	if err != nil {
		return nil, err
	}
	points, index, list, labels, err := p.Points.labelled(post)
	if err != nil {
		return nil, err
	}
	if p.Note != nil || p.Strict {
		notes := slices.Concat(list.notes, told(post), Doubts(post), doubtPoints(post, points, index, 0, true, p.Points.Mean != ""))
		if p.Network == nil {
			notes = append(notes, p.Points.doubtClasses(post, points, index, list.norm.Norm)...)
		}
		if err := Doubted(notes); err != nil && p.Strict {
			return nil, err
		}
		for _, n := range notes {
			if p.Note != nil {
				p.Note(n)
			}
		}
	}
	x, err := list.inputs(points, index)
	if err != nil {
		return nil, err
	}
	var drawn []sums
	if p.Draws > 0 {
		if drawn, err = p.draw(ctx, post, x); err != nil {
			return nil, err
		}
	}
	var accuracy *Accuracy
	if labels != nil {
		accuracy = &Accuracy{}
	}
	pass := post.Network().NewPass(weights)
	for at, i := range index {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		one := &Prediction{Index: i, Logits: slices.Clone(pass.Forward(x[at]))}
		if post.Outputs() > 1 {
			class := argmax(one.Logits)
			one.Class = &class
		}
		if drawn != nil {
			one.Approx = drawn[at].predictive(p.Draws, p.Seed)
		}
		if labels != nil {
			if err := accuracy.count(one, labels(i), post.Outputs(), &p.Points); err != nil {
				return nil, err
			}
		}
		if err := use(one); err != nil {
			return nil, err
		}
	}
	return accuracy, nil
}

func (p *Predict) check() error {
	switch {
	case p.Posterior.Path == "":
		return errors.New("--posterior is missing: name a posterior file")
	case p.Draws < 0 || p.Draws > mostDraws:
		return fmt.Errorf("--draws %d is not between 0 and %d", p.Draws, mostDraws)
	}
	return nil
}

// network is the one that Logits are of.
func (p *Predict) network(post *posterior.Posterior) ([][]float64, error) {
	if p.Network == nil {
		return post.Mean(), nil
	}
	s := post.Finite()
	if s == nil {
		return nil, fmt.Errorf("--network %d: the posterior is %s, not a set of samples: leave --network out", *p.Network, post.Describe())
	}
	if *p.Network < 0 || *p.Network >= s.N() {
		return nil, fmt.Errorf("--network %d is not among the %d samples, numbered from 0", *p.Network, s.N())
	}
	return s.Weights(*p.Network), nil
}

// labelled gives the points in the network's order, those chosen and what belongs to them,
// and their labels; labels is nil without a Label.
func (p *Points) labelled(post *posterior.Posterior) (points *property.Points, index []int, list *taskList, labels func(int) int, err error) {
	if p.Inputs == "" {
		return nil, nil, nil, nil, errors.New("--inputs is missing: name a data file, as in --inputs points.csv")
	}
	if points, index, list, err = p.read(post, 1); err != nil {
		return nil, nil, nil, nil, err
	}
	label, _, _ := p.classLabel()
	switch {
	case post.Outputs() > 1 && label != "":
		labels, err = p.labels(label, points)
	case p.Label != "" && label != "":
		err = fmt.Errorf("the network of %s has one output, so it has no classes: leave --label out; of a classifier with one logit y export the outputs (0, y) (psafe_export: classes=2)", post.Source.Path)
	}
	return points, index, list, labels, err
}

// inputs returns what the first layer takes for the chosen points, which are raw data.
func (l *taskList) inputs(points *property.Points, index []int) ([][]float64, error) {
	if err := infile.Afford(int64(len(index)) * int64(8*points.Dim)); err != nil {
		return nil, fmt.Errorf("--inputs: %d points of %d numbers: %w", len(index), points.Dim, err)
	}
	var x [][]float64
	for _, i := range index {
		lo, hi := points.At(i)
		box, err := l.norm.Outer(property.Box{Lo: lo, Hi: hi})
		if err != nil {
			return nil, fmt.Errorf("%s: point %d: %w", points.Source, i, err)
		}
		x = append(x, middle(box.Lo, box.Hi))
	}
	return x, nil
}

// count adds a prediction, whose label it sets.
func (a *Accuracy) count(one *Prediction, label, outputs int, of *Points) error {
	if label < 0 || label >= outputs {
		_, words, mend := of.classLabel()
		return fmt.Errorf("%s: point %d has class %d, the network has %d outputs: classes count from 0%s", words, one.Index, label, outputs, mend)
	}
	one.Label = &label
	if a.Points++; *one.Class == label {
		a.Right++
	}
	if one.Approx != nil && *one.Approx.Class == label {
		a.RightApprox++
	}
	return nil
}

// sums are over the drawn networks, for one point: of softmax, of how often each class is
// the largest, and mean and sum of squares around it of each logit, as Welford adds them.
type sums struct{ softmax, first, mean, square []float64 }

// draw adds up what the drawn networks say. Sums do not depend on how many processors there
// are: each point's are added by one of them, network after network.
func (p *Predict) draw(ctx context.Context, post *posterior.Posterior, x [][]float64) ([]sums, error) {
	if err := infile.Afford(int64(len(x)) * int64(4*8*post.Outputs()+200)); err != nil {
		return nil, fmt.Errorf("--draws for %d points of %d outputs: %w", len(x), post.Outputs(), err)
	}
	all := make([]sums, len(x))
	for at := range all {
		list := make([]float64, 4*post.Outputs())
		part := func(k int) []float64 { return list[k*post.Outputs() : (k+1)*post.Outputs()] }
		all[at] = sums{part(0), part(1), part(2), part(3)}
	}
	weights, net := post.NewWeights(), post.Network()
	workers := min(runtime.GOMAXPROCS(0), len(x))
	for n := range p.Draws {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		forward := func() func([]float64) []float64 { return net.NewPass(weights).Forward }
		if post.About() != nil {
			function := post.DrawLinearised(p.Seed, n)
			forward = func() func([]float64) []float64 { return function }
		} else {
			post.Draw(p.Seed, n, weights)
		}
		var group sync.WaitGroup
		for w := range workers {
			fault.Go(&group, func() {
				pass := forward()
				for at := w; at < len(x); at += workers {
					if at%256 == w && ctx.Err() != nil {
						return
					}
					all[at].add(n+1, pass(x[at]))
				}
			})
		}
		group.Wait()
	}
	return all, ctx.Err()
}

// add adds logits of the n-th network, counted from 1.
func (s *sums) add(n int, logits []float64) {
	top, total := slices.Max(logits), 0.0
	for _, y := range logits {
		total += math.Exp(y - top)
	}
	s.first[argmax(logits)]++
	for i, y := range logits {
		s.softmax[i] += math.Exp(y-top) / total
		step := y - s.mean[i]
		s.mean[i] += step / float64(n)
		s.square[i] += step * (y - s.mean[i])
	}
}

func (s *sums) predictive(samples int, seed uint64) *Predictive {
	n := float64(samples)
	p := &Predictive{Samples: samples, Seed: seed, Mean: s.mean, SD: make([]float64, len(s.mean))}
	for i, v := range s.square {
		p.SD[i] = math.Sqrt(v / n)
	}
	if len(s.mean) > 1 {
		class := argmax(s.softmax)
		p.Class = &class
		for i := range s.softmax {
			p.Probabilities, p.Shares = append(p.Probabilities, s.softmax[i]/n), append(p.Shares, s.first[i]/n)
		}
	}
	return p
}
