package paper

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/stat"

	"psafe/host/job/certify"
	"psafe/host/lab/train"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/tell/plot"
	"psafe/testdata"
)

// net is a posterior of an experiment: name is for tables and files, words for the text.
type net struct {
	name, words string
	posterior   certify.Posterior
}

// released names a posterior of the released data. What they call sigma is read as
// the standard deviation, as every published result does.
func (c *Config) released(name, file, words string) net {
	return net{name, words, certify.Posterior{
		Path:    filepath.Join(c.Data, "uai2020", file),
		Options: format.Options{Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.ReLU}}},
	}}
}

// own writes a file of testdata to the inputs and returns its path.
func (c *Config) own(name string) (string, error) {
	content, err := fs.ReadFile(testdata.Files, name)
	if err != nil {
		panic(err) // embedded: tests see to it
	}
	return c.writeInput(name, content)
}

func (c *Config) ownNet(name, file, words string) (net, error) {
	path, err := c.own(file)
	return net{name, words, certify.Posterior{Path: path}}, err
}

// cubicTraining trains the network of the paper's example 1, as testdata/make.sh does.
var cubicTraining = train.Settings{
	Data: train.CubicData, Samples: 1000, Task: train.Regression,
	Config: train.Config{
		Hidden: []int{128}, Activation: network.Activation{Kind: network.ReLU}, Epochs: 400, Batch: 50, LearningRate: 0.01,
		KLWeight: 0.01, PriorSD: 0.5, InitSD: 0.05, Noise: train.CubicNoise, Seed: 1,
	},
}

// train trains it. That takes seconds and gives the same bytes again.
func (c *Config) train(ctx context.Context, note string) (path string, err error) {
	const name = "cubic-128-trained.npz"
	c.tell(Event{Training: append(strings.Fields(note), "--out", c.input(name))})
	post, _, err := cubicTraining.Train(ctx)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := format.WriteNPZ(&b, post); err != nil {
		return "", err
	}
	return c.writeInput(name, b.Bytes())
}

// regressionNets are the posteriors of the experiment, the one of the figures first.
func (c *Config) regressionNets(ctx context.Context) ([]net, error) {
	note, err := cubicTraining.Note()
	if err != nil {
		return nil, err
	}
	trained := "1-128-1 ReLU, trained by `" + note + "`, whose KL weight makes its spread smaller than Bayes' rule would"
	var first net
	switch {
	case c.Posterior.Path != "":
		first = net{"given", strings.Join(append([]string{"`" + c.Posterior.Path + "`"}, c.Posterior.Args()[2:]...), " "), c.Posterior}
	case c.Quick:
		first, err = c.ownNet("cubic-128", "cubic-128.npz", trained+", as it is in testdata")
	default:
		var path string
		path, err = c.train(ctx, note)
		first = net{"cubic-128", trained, certify.Posterior{Path: path}}
	}
	if err != nil {
		return nil, err
	}
	nets := []net{first}
	if c.Data != "" && c.Posterior.Path == "" {
		nets = append(nets, c.released("released", "VIMODEL_128_relu.net.npz", "the released `VIMODEL_128_relu.net.npz`, 1-128-1 ReLU, sigma read as the standard deviation"))
	}
	return nets, nil
}

// entry is one of a property file.
type entry struct {
	Name    string         `json:"name"`
	Kind    string         `json:"kind"`
	Class   *int           `json:"class,omitempty"`
	Output  [][2]any       `json:"output,omitempty"`
	Boxes   [][][2]float64 `json:"boxes"`
	Gamma   float64        `json:"gamma,omitempty"`
	Samples int            `json:"samples_per_box,omitempty"`
}

func (c *Config) writeProperties(name string, list []entry) (string, error) {
	content, err := json.MarshalIndent(map[string]any{"properties": list}, "", " ")
	if err != nil {
		panic(err)
	}
	return c.writeInput(name, append(content, '\n'))
}

// example1 is the paper's: T = [-0.2, 0.2], S = [-5, 5].
func example1(name string) entry {
	return entry{Name: name, Kind: "output_box", Output: [][2]any{{-5, 5}}, Boxes: [][][2]float64{{{-0.2, 0.2}}}}
}

// sweep are the N and gamma of algorithm 1 that are tried.
func (c *Config) sweep() (samples []int, gammas []float64) {
	if c.Quick {
		return []int{1, 100}, []float64{3, 4}
	}
	return []int{1, 10, 100, 1000, 5000}, []float64{0.5, 2, 3, 3.5, 4, 4.5}
}

func (c *Config) sweepProperties() []entry {
	var list []entry
	samples, gammas := c.sweep()
	for _, g := range gammas {
		for _, n := range samples {
			p := example1(fmt.Sprintf("example 1, N %d, gamma %v", n, g))
			p.Gamma, p.Samples = g, n
			list = append(list, p)
		}
	}
	return list
}

// regressionMethods are the methods beside algorithm 1 that a posterior allows.
func (c *Config) regressionMethods(post *posterior.Posterior) []named {
	methods := []named{{"clbp", method(prove.CLBP)}}
	if len(post.Layers) == 2 {
		methods = append(methods, named{"neuronsum", method(prove.NeuronSum)})
	}
	return append(methods, named{"statistical", drawn(c.count(20000, 2000))})
}

// regressionPosteriors reads the posteriors, before anything is written.
func regressionPosteriors(nets []net) ([]*posterior.Posterior, error) {
	var posts []*posterior.Posterior
	for _, n := range nets {
		p, err := n.posterior.Read()
		if err != nil {
			return nil, err
		}
		if err := p.RequireIndependent(); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Source.Path, err)
		}
		if p.Inputs() != 1 || p.Outputs() != 1 {
			return nil, fmt.Errorf("%s: the regression experiment is for one input and one output, this network has %d and %d", p.Source.Path, p.Inputs(), p.Outputs())
		}
		posts = append(posts, p)
	}
	return posts, nil
}

func (c *Config) regression(ctx context.Context) (*Experiment, error) {
	e := &Experiment{Name: "regression", Title: "Regression: example 1 and figures 1 to 3"}
	nets, err := c.regressionNets(ctx)
	if err != nil {
		return nil, err
	}
	posts, err := regressionPosteriors(nets)
	if err != nil {
		return nil, err
	}
	one, err := c.writeProperties("example-1.json", []entry{example1("example 1")})
	if err != nil {
		return nil, err
	}
	sweep, err := c.writeProperties("example-1-sweep.json", c.sweepProperties())
	if err != nil {
		return nil, err
	}
	bands := make([]*bandJob, len(nets))
	for i, n := range nets {
		for _, m := range c.regressionMethods(posts[i]) {
			e.add("regression-"+n.name+"-"+m.name, n, certify.Tasks{File: one}, m.method)
		}
		for _, m := range []prove.Method{prove.IBP, prove.LBP} {
			e.add("regression-"+n.name+"-algorithm1-"+m.String(), n, certify.Tasks{File: sweep}, method(m))
		}
		if bands[i], err = c.band(e, n, posts[i]); err != nil {
			return nil, err
		}
	}
	e.Tell = func(r Results) (*Section, error) { return c.tellRegression(e, nets, posts, bands, r) }
	return e, nil
}

// bandJob is the figure of a posterior with its property boxes.
type bandJob struct {
	run   string
	boxes []plot.BandBox
	// panels says which boxes are of which eps and delta.
	panels [][2]float64
	of     []int
	band   plot.Band
}

// bandNetworks is the number of networks drawn for the band of the figure.
const bandNetworks = 400

// band prepares the figure: boxes [x - eps, x + eps] side by side over the axis, and
// outputs within delta of the mean network at x, rounded to two digits.
func (c *Config) band(e *Experiment, n net, post *posterior.Posterior) (*bandJob, error) {
	const reach = 4
	job := &bandJob{band: bandOf(post, reach, bandNetworks)}
	var list []entry
	for _, delta := range []float64{2, 6} {
		for _, eps := range []float64{0.1, 0.25} {
			panel := len(job.panels)
			job.panels = append(job.panels, [2]float64{eps, delta})
			half := int(math.Round(reach/(2*eps) - 0.5))
			for k := -half; k <= half; k += c.count(1, 4) {
				x := 2 * eps * float64(k)
				y := math.Round(100*post.LogitsApprox([]float64{x})[0]) / 100
				p := entry{Name: fmt.Sprintf("x %.2f, eps %v, delta %v", x, eps, delta), Kind: "output_box",
					Output: [][2]any{{two(y - delta), two(y + delta)}}, Boxes: [][][2]float64{{{two(x - eps), two(x + eps)}}}}
				list = append(list, p)
				job.of = append(job.of, panel)
				job.boxes = append(job.boxes, plot.BandBox{XLo: x - eps, XHi: x + eps, YLo: y - delta, YHi: y + delta})
			}
		}
	}
	path, err := c.writeProperties("band-"+n.name+".json", list)
	if err != nil {
		return nil, err
	}
	// One cell: the boxes are narrow, and there are many.
	job.run = e.add("regression-"+n.name+"-band", n, certify.Tasks{File: path}, certify.Method{By: new(prove.Auto), Cells: new(1)})
	return job, nil
}

// two rounds to a number that is written with two digits.
func two(x float64) float64 { return math.Round(100*x) / 100 }

// bandOf estimates mean and standard deviation of the output over [-reach, reach].
func bandOf(post *posterior.Posterior, reach float64, networks int) plot.Band {
	const points = 161
	b := plot.Band{Networks: networks}
	outputs := make([][]float64, points)
	for i := range points {
		b.X = append(b.X, -reach+2*reach*float64(i)/(points-1))
	}
	w := post.NewWeights()
	pass := post.Network().NewPass(w)
	for i := range networks {
		post.Draw(0, i, w)
		for k, x := range b.X {
			outputs[k] = append(outputs[k], pass.Forward([]float64{x})[0])
		}
	}
	for _, y := range outputs {
		mean, sd := stat.PopMeanStdDev(y, nil)
		b.MeanApprox, b.SDApprox = append(b.MeanApprox, mean), append(b.SDApprox, sd)
	}
	return b
}
