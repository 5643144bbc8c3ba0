package paper

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"psafe/host/figure"
	"psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/posterior/format"
	"psafe/testdata"
)

// netFlags are the flags of psafe certify that name a posterior.
type netFlags struct {
	// name is for tables and files, words for the text.
	name, words string
	args        []string
}

// released names a posterior of the released data. What they call sigma is read as
// the standard deviation, as every published result does.
func (c *Config) released(name, file, words string) netFlags {
	return netFlags{name, words, []string{"--posterior", filepath.Join(c.Data, "uai2020", file), "--scale", "sd", "--activation", "relu"}}
}

// own writes a file of testdata to the inputs and returns its path.
func (c *Config) own(name string) (string, error) {
	content, err := fs.ReadFile(testdata.Files, name)
	if err != nil {
		panic(err) // embedded: tests see to it
	}
	return c.writeInput(name, content)
}

func (c *Config) ownNet(name, file, words string) (netFlags, error) {
	path, err := c.own(file)
	return netFlags{name, words, []string{"--posterior", path}}, err
}

// cubicArgs train the network of the paper's example 1, as testdata/make.sh does.
var cubicArgs = strings.Fields("--data cubic --samples 1000 --hidden 128 --activation relu --epochs 400 --kl-weight 0.01 --prior-sd 0.5 --seed 1")

// regressionNets are the posteriors of the experiment, the one of the figures first.
func (c *Config) regressionNets() ([]netFlags, error) {
	var nets []netFlags
	trained := "1-128-1 ReLU, trained by `psafe train " + strings.Join(cubicArgs, " ") + "`, whose KL weight makes its spread smaller than Bayes' rule would"
	switch {
	case c.Posterior != "":
		nets = append(nets, netFlags{"given", strings.Join(append([]string{"`" + c.Posterior + "`"}, c.PosteriorFlags...), " "), append([]string{"--posterior", c.Posterior}, c.PosteriorFlags...)})
	case c.Quick:
		n, err := c.ownNet("cubic-128", "cubic-128.npz", trained+", as it is in testdata")
		if err != nil {
			return nil, err
		}
		nets = append(nets, n)
	default:
		path := c.input("cubic-128-trained.npz")
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, fmt.Errorf("--out: %w", err)
		}
		// Training takes seconds and gives the same bytes again.
		if err := c.Train(append(append([]string{}, cubicArgs...), "--out", path)); err != nil {
			return nil, err
		}
		nets = append(nets, netFlags{"cubic-128", trained, []string{"--posterior", path}})
	}
	if c.Data != "" && c.Posterior == "" {
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

// regressionMethods are the methods beside algorithm 1 that a posterior allows, as flags.
func (c *Config) regressionMethods(post *posterior.Posterior) [][2]string {
	methods := [][2]string{
		{"centred-ibp", "--method ibp --boxes centred"}, {"centred-lbp", "--method lbp --boxes centred"}, {"clbp", "--method clbp"},
	}
	if len(post.Layers) == 2 {
		methods = append(methods, [2]string{"neuronsum", "--method neuronsum"})
	}
	return append(methods, [2]string{"statistical", fmt.Sprintf("--method statistical --samples %d --confidence %s", c.count(20000, 2000), Confidence)})
}

func (c *Config) regression() (*Experiment, error) {
	e := &Experiment{Name: "regression", Title: "Regression: example 1 and figures 1 to 3"}
	nets, err := c.regressionNets()
	if err != nil {
		return nil, err
	}
	posts := make([]*posterior.Posterior, len(nets))
	for i, n := range nets {
		// Before anything is written.
		if posts[i], err = readNet(n); err != nil {
			return nil, err
		}
		if err := posts[i].RequireIndependent(); err != nil {
			return nil, fmt.Errorf("%s: %w", posts[i].Source.Path, err)
		}
		if p := posts[i]; p.Inputs() != 1 || p.Outputs() != 1 {
			return nil, fmt.Errorf("%s: the regression experiment is for one input and one output, this network has %d and %d", p.Source.Path, p.Inputs(), p.Outputs())
		}
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
			e.add("regression-"+n.name+"-"+m[0], append(append([]string{}, n.args...), append(strings.Fields(m[1]), "--property", one)...)...)
		}
		for _, m := range []string{"ibp", "lbp"} {
			e.add("regression-"+n.name+"-algorithm1-"+m, append(append([]string{}, n.args...), "--method", m, "--boxes", "sampled", "--property", sweep)...)
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
	boxes []figure.BandBox
	// panels says which boxes are of which eps and delta.
	panels [][2]float64
	of     []int
	band   figure.Band
}

// bandNetworks is how many networks are drawn for the band of the figure.
const bandNetworks = 400

// band prepares the figure: boxes [x - eps, x + eps] side by side over the axis, and
// outputs within delta of the mean network at x, rounded to two digits.
func (c *Config) band(e *Experiment, n netFlags, post *posterior.Posterior) (*bandJob, error) {
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
				job.boxes = append(job.boxes, figure.BandBox{XLo: x - eps, XHi: x + eps, YLo: y - delta, YHi: y + delta})
			}
		}
	}
	path, err := c.writeProperties("band-"+n.name+".json", list)
	if err != nil {
		return nil, err
	}
	// One cell: the boxes are narrow, and there are many.
	job.run = e.add("regression-"+n.name+"-band", append(append([]string{}, n.args...), "--method", "auto", "--cells", "1", "--property", path)...)
	return job, nil
}

// two rounds to a number that is written with two digits.
func two(x float64) float64 { return math.Round(100*x) / 100 }

// readNet reads a posterior as psafe certify does, for what the experiments draw of
// it themselves.
func readNet(n netFlags) (*posterior.Posterior, error) {
	var opt format.Options
	path := ""
	for i := 0; i+1 < len(n.args); i += 2 {
		var err error
		switch value := n.args[i+1]; n.args[i] {
		case "--posterior":
			path = value
		case "--scale":
			opt.Scale, err = posterior.ParseScale(value)
		case "--activation":
			for word := range strings.SplitSeq(value, ",") {
				var a network.Activation
				if a, err = network.ParseActivation(word); err != nil {
					break
				}
				opt.Activations = append(opt.Activations, a)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.args[i], err)
		}
	}
	return format.Read(path, opt)
}

// bandOf estimates mean and standard deviation of the output over [-reach, reach].
func bandOf(post *posterior.Posterior, reach float64, networks int) figure.Band {
	const points = 161
	b := figure.Band{Networks: networks}
	sum, squares := make([]float64, points), make([]float64, points)
	for i := range points {
		b.X = append(b.X, -reach+2*reach*float64(i)/(points-1))
	}
	w := post.NewWeights()
	for i := range networks {
		post.Draw(0, i, w)
		for k, x := range b.X {
			y := post.Network().OutputsApprox(w, []float64{x})[0]
			sum[k], squares[k] = sum[k]+y, squares[k]+y*y
		}
	}
	n := float64(networks)
	for k := range sum {
		mean := sum[k] / n
		b.MeanApprox = append(b.MeanApprox, mean)
		b.SDApprox = append(b.SDApprox, math.Sqrt(max(0, squares[k]/n-mean*mean)))
	}
	return b
}
