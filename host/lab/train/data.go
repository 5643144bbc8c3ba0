package train

import (
	"fmt"
	"math/rand/v2"

	"psafe/host/read/property"
	"psafe/internal/infile"
)

// Task names what a network is trained to do, and thereby its likelihood.
type Task int

const (
	// Regression: targets are normal around the network's outputs, with a known
	// standard deviation.
	Regression Task = iota
	// Classification: the label is drawn from the softmax of the outputs.
	Classification
)

// String returns regression or classification.
func (t Task) String() string {
	if t == Regression {
		return "regression"
	}
	return "classification"
}

// ParseTask reads the words that String writes.
func ParseTask(word string) (Task, error) {
	for _, t := range []Task{Regression, Classification} {
		if word == t.String() {
			return t, nil
		}
	}
	return 0, fmt.Errorf("task %.40q is neither regression nor classification", word)
}

// Data is a set of examples in memory.
type Data struct {
	// Task says which of Target and Label is set.
	Task Task
	// Inputs is the number of coordinates of a point. Outputs is the number of
	// targets of a point, or of classes.
	Inputs, Outputs int
	// X holds the points one after the other.
	X []float64
	// Target holds the targets of a regression one after the other.
	Target []float64
	// Label holds the classes of a classification, from 0.
	Label []int
}

// N is the number of examples.
func (d *Data) N() int { return len(d.X) / d.Inputs }

// Point is the coordinates of example i. The caller must not write to them.
func (d *Data) Point(i int) []float64 { return d.X[i*d.Inputs : (i+1)*d.Inputs] }

// check panics where the lengths do not fit: a mistake of the caller.
func (d *Data) check() {
	ok := d.Inputs >= 1 && d.Outputs >= 1 && len(d.X) > 0 && len(d.X)%d.Inputs == 0
	if ok && d.Task == Regression {
		ok = len(d.Target) == d.N()*d.Outputs
	} else if ok {
		ok = len(d.Label) == d.N()
		for _, c := range d.Label {
			ok = ok && c >= 0 && c < d.Outputs
		}
	}
	if !ok {
		panic(fmt.Sprintf("train: data of %d inputs, %d outputs with %d coordinates, %d targets, %d labels", d.Inputs, d.Outputs, len(d.X), len(d.Target), len(d.Label)))
	}
}

// Cubic draws the regression example of Wicker et al. (UAI 2020): n inputs
// uniform on [-4, 4] with y = x^3 plus normal noise of standard deviation
// noise. The same seed gives the same points.
func Cubic(n int, noise float64, seed uint64) *Data {
	rng := rand.New(rand.NewPCG(seed, streamData))
	d := &Data{Task: Regression, Inputs: 1, Outputs: 1, X: make([]float64, n), Target: make([]float64, n)}
	for i := range n {
		x := -4 + 8*rng.Float64()
		d.X[i] = x
		d.Target[i] = float64(x*x*x) + float64(noise*rng.NormFloat64())
	}
	return d
}

// maxClasses bounds the classes that a file of labels can ask for: one mistyped
// label would otherwise be a network of gigabytes.
const maxClasses = 10000

// ReadFile reads examples from a file of any format that property.ReadPoints
// knows. For Regression the last column is the target, the others are the
// input. For Classification the labels are in the file labels, or if that is
// empty in the last column, which must be of a CSV file; there are as many
// classes as the largest label says, and at least two. Bytes become numbers
// between 0 and 1. Errors are one line that begins with the file they are in.
func ReadFile(path, labels string, task Task) (*Data, error) {
	if task == Regression {
		return readRegression(path)
	}
	opt := property.InputOptions{}
	if labels == "" {
		opt.LabelColumn = "last"
	}
	points, err := property.ReadPoints(path, opt)
	if err != nil {
		return nil, err
	}
	where := path
	class := points.Labels
	if labels != "" {
		where = labels
		if class, err = property.ReadLabels(labels); err != nil {
			return nil, err
		}
		if len(class) != points.N() {
			return nil, fmt.Errorf("%s: holds %d labels but %s holds %d points; give the labels of these points", labels, len(class), path, points.N())
		}
	}
	outputs := 2
	for i, c := range class {
		if c >= maxClasses {
			return nil, fmt.Errorf("%s: label %d of point %d: at most %d classes are supported; number them from 0", where, c, i, maxClasses)
		}
		outputs = max(outputs, c+1)
	}
	d := &Data{Task: task, Inputs: points.Dim, Outputs: outputs, Label: class}
	if d.X, err = room(points, path); err != nil {
		return nil, err
	}
	for i := range points.N() {
		d.X = append(d.X, nearest(points, i)...)
	}
	return d, nil
}

// readRegression reads inputs and, in the last column, targets.
func readRegression(path string) (*Data, error) {
	points, err := property.ReadPoints(path, property.InputOptions{})
	if err != nil {
		return nil, err
	}
	if points.Dim < 2 {
		return nil, fmt.Errorf("%s: has one column; regression needs the inputs and, last, the target", path)
	}
	d := &Data{Task: Regression, Inputs: points.Dim - 1, Outputs: 1}
	if d.X, err = room(points, path); err != nil {
		return nil, err
	}
	for i := range points.N() {
		row := nearest(points, i)
		d.X = append(d.X, row[:d.Inputs]...)
		d.Target = append(d.Target, row[d.Inputs])
	}
	return d, nil
}

// room is an empty list for the coordinates of all points: a byte of a file becomes eight.
func room(p *property.Points, path string) ([]float64, error) {
	n := p.N() * p.Dim
	if err := infile.Afford(int64(n) * 8); err != nil {
		return nil, fmt.Errorf("%s: training on %d numbers: %w", path, n, err)
	}
	return make([]float64, 0, n), nil
}

// nearest gives point i as one number per coordinate: training needs no
// enclosure.
func nearest(p *property.Points, i int) []float64 {
	lo, hi := p.At(i)
	x := make([]float64, len(lo))
	for j := range x {
		x[j] = lo[j] + (hi[j]-lo[j])/2
	}
	return x
}
