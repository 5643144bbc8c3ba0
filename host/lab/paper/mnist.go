package paper

import (
	"fmt"
	"path/filepath"
	"strings"

	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/plot"
)

// mnistNet is a posterior of the experiment with its radius.
type mnistNet struct {
	net
	eps string
	// curve are the radii of the figure against eps, eps among them.
	curve []string
}

// mnistJob is the experiment as it is being prepared.
type mnistJob struct {
	c      *Config
	e      *Experiment
	nets   []mnistNet
	images string
	count  int
}

func (c *Config) mnist() (*Experiment, error) {
	j := &mnistJob{c: c, e: &Experiment{Name: "mnist", Title: "Images: figure 5"}, count: c.count(100, 20)}
	if err := j.sources(); err != nil {
		return nil, err
	}
	for _, n := range j.nets {
		for _, m := range j.methods() {
			j.run(n, m, n.eps)
		}
		for _, eps := range n.curve {
			for _, m := range curveMethods {
				if eps != n.eps {
					j.run(n, m, eps)
				}
			}
		}
	}
	j.e.Tell = j.tell
	return j.e, nil
}

// imageMethods are the bars of the figure, curveMethods the lines.
var (
	imageMethods = []prove.Method{prove.IBP, prove.LBP, prove.CLBP}
	curveMethods = []prove.Method{prove.LBP, prove.CLBP}
)

// imageBoxes boxes of half-width imageGamma are drawn for every image.
const (
	imageBoxes = 10
	imageGamma = 4
)

func (j *mnistJob) methods() []prove.Method {
	return append(append([]prove.Method{}, imageMethods...), prove.Statistical)
}

// name returns the name of a run.
func (j *mnistJob) name(n mnistNet, by prove.Method, eps string) string {
	return "mnist-" + n.name + "-" + by.String() + "-eps-" + eps
}

func (j *mnistJob) run(n mnistNet, by prove.Method, eps string) {
	m := method(by)
	switch by {
	case prove.Statistical:
		m = drawn(j.c.count(500, 200))
	case prove.IBP, prove.LBP:
		m = boxes(by, imageBoxes, imageGamma)
	}
	j.e.add(j.name(n, by, eps), n.net, images(j.images, j.count, eps), m)
}

// images are the tasks of the first images of a file: each keeps its class.
func images(file string, count int, eps string) certify.Tasks {
	return certify.Tasks{Points: certify.Points{Inputs: file, Index: new(fmt.Sprintf("0:%d", count)), Eps: eps, Clip: []string{"0", "1"}, Property: property.KeepsClass}}
}

// sources names posteriors and images.
func (j *mnistJob) sources() error {
	c := j.c
	curve := func(words string) []string {
		all := strings.Fields(words)
		if c.Quick {
			return all[:3]
		}
		return all
	}
	if c.Data != "" {
		j.images = filepath.Join(c.Data, "mnist", "t10k-images-idx3-ubyte.gz")
		for _, n := range []struct {
			shape, layers, eps, curve string
		}{
			{"1_64", "784-64-10", "0.025", "0 0.01 0.025 0.05 0.075 0.1"}, {"1_128", "784-128-10", "0.025", "0 0.01 0.025 0.05 0.075 0.1"},
			{"2_64", "784-64-64-10", "0.001", "0 0.001 0.005 0.01 0.02 0.03"}, {"2_128", "784-128-128-10", "0.001", "0 0.001 0.005 0.01 0.02 0.03"},
		} {
			file := "VIMODEL_MNIST_" + n.shape + "_relu.net.npz"
			j.nets = append(j.nets, mnistNet{c.released(n.shape, file, "`"+file+"`, "+n.layers), n.eps, curve(n.curve)})
		}
		return nil
	}
	var err error
	if j.images, err = c.own("glyphs-test-images-idx3-ubyte.gz"); err != nil {
		return err
	}
	for _, n := range []struct{ shape, eps, curve string }{
		{"64-32-10", "0.01", "0 0.01 0.02 0.03 0.04"}, {"64-24-24-10", "0.005", "0 0.005 0.01 0.015 0.02"},
	} {
		net, err := c.ownNet("glyphs-"+n.shape, "glyphs-"+n.shape+".npz", "`testdata/glyphs-"+n.shape+".npz`")
		if err != nil {
			return err
		}
		j.nets = append(j.nets, mnistNet{net, n.eps, curve(n.curve)})
	}
	return nil
}

func (j *mnistJob) tell(r Results) (*Section, error) {
	s := &Section{Title: j.e.Title}
	var words []string
	for _, n := range j.nets {
		words = append(words, n.words)
	}
	if j.c.Data == "" {
		s.say("Stand-ins that this project trained, for images of digits of 8 x 8 dots: %s. %d test images; the property is that the class stays the mean network's.", strings.Join(words, "; "), j.count)
	} else {
		s.say("MNIST posteriors that the authors released: %s; what they call sigma is read as the standard deviation. The first %d test images; the property is that the class stays the "+
			"mean network's. The paper's network of two layers of 256 is not among these files.", strings.Join(words, "; "), j.count)
	}
	t, above := j.table(r)
	s.table(t)
	s.say("Share of images with p_lower >= 0.9 by clbp: %s. The paper says of its network of two layers of 256 that it is more than half, counting masses of boxes in a way that gives no lower bound "+
		"(intervals of each weight merged over all boxes before they are multiplied). It reports 40 to 265 seconds an image; here the column \"time per image\" says what it took.", strings.Join(above, ", "))
	return s, j.figures(s, r)
}

// table has a row for every posterior and method.
func (j *mnistJob) table(r Results) (t *Table, above []string) {
	t = &Table{Name: "mnist", Columns: []column{col("posterior"), col("eps"), col("method"), col("mean p_lower"), col("mean p_upper"), shareColumn,
		col("mean statistical", "mean_statistical_lower", "mean_statistical_upper"), secondsColumn("time per image")}}
	for _, n := range j.nets {
		drawn := record.MeanOf(r[j.name(n, prove.Statistical, n.eps)])
		for _, m := range j.methods() {
			records := r[j.name(n, m, n.eps)]
			mean := record.MeanOf(records)
			row := []cell{word(n.name), word(n.eps), word(m.String()), downCell(mean.Lower), upCell(mean.Upper), shareCell(records), intervalCell(drawn.StatLower, drawn.StatUpper), secondsCell(each(records))}
			switch m {
			case prove.CLBP:
				above = append(above, n.name+" "+row[5].text)
			case prove.Statistical:
				row[3], row[5] = none, none // which claims none
			}
			t.Rows = append(t.Rows, row)
		}
	}
	t.Caption = fmt.Sprintf("ibp and lbp: algorithm 1 with %d boxes of half-width %d standard deviations. Means of p_lower are rounded down, of p_upper up; each statistical interval has confidence %v.", imageBoxes, imageGamma, Confidence)
	return t, above
}

// figures draws the bars and the curves.
func (j *mnistJob) figures(s *Section, r Results) error {
	var bars, lines []record.Placed
	for _, n := range j.nets {
		drawn := r[j.name(n, prove.Statistical, n.eps)]
		for _, m := range imageMethods {
			records := append([]record.Placed{}, r[j.name(n, m, n.eps)]...)
			if m == imageMethods[len(imageMethods)-1] {
				beside(records, drawn)
			}
			bars = append(bars, records...)
		}
		for _, eps := range n.curve {
			for _, m := range curveMethods {
				lines = append(lines, r[j.name(n, m, eps)]...)
			}
		}
	}
	groups, methods, _, err := plot.BarGroups(bars, plot.ByWords[:2])
	if err != nil {
		return err
	}
	f, err := plot.DrawBars(groups, methods, plot.ByWords[:2])
	if err != nil {
		return err
	}
	s.figure("mnist-bars", "Mean bounds of each architecture by method, with the statistical interval beside them.", f)
	return j.curves(s, lines)
}

// curves draws a figure against eps for each number of hidden layers: their radii
// are of different size.
func (j *mnistJob) curves(s *Section, lines []record.Placed) error {
	depths := map[int][]record.Placed{}
	for _, p := range lines {
		depths[len(p.Activations)] = append(depths[len(p.Activations)], p)
	}
	for _, depth := range []int{1, 2} {
		series, _, err := plot.EpsSeries(depths[depth], []string{"posterior", "method"})
		if err != nil {
			return err
		}
		f, err := plot.DrawEps(series)
		if err != nil {
			return err
		}
		s.figure(fmt.Sprintf("mnist-eps-%d", depth), fmt.Sprintf("Mean bounds against eps, %s.", []string{"", "one hidden layer", "two hidden layers"}[depth]), f)
	}
	return nil
}

// beside copies the intervals of drawn networks to records of the same inputs.
func beside(records, drawn []record.Placed) {
	for i := range records {
		with := *records[i].Record
		with.Statistical = drawn[i].Statistical
		records[i].Record = &with
	}
}
