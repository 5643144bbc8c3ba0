package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"psafe/host/job/certify"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/nearest"
	"psafe/internal/outfile"
)

// What several commands say of one flag.
const (
	recheckUsage    = "share of the time, 0 to 1, for computing answers of an OpenCL device again on the CPU"
	omitTimingUsage = "leave out seconds and peak_bytes, so that two runs give identical files"
	totalTimeUsage  = "how long the run may take, such as 1h; it then ends with status 5 and keeps what is finished (default no limit)"
	progressUsage   = "auto (a bar on a terminal, else a line every 30 s), json (a line every second) or none"
)

// outFlags are --out and --overwrite, the same for every command that writes a file.
type outFlags struct {
	path      string
	overwrite bool
	columns   []string
}

func (o *outFlags) add(f *pflag.FlagSet, about string) {
	f.StringVar(&o.path, "out", "", about)
	o.addOverwrite(f)
}

// addColumns adds the flag for what a table has.
func (o *outFlags) addColumns(f *pflag.FlagSet) {
	f.StringSliceVar(&o.columns, "columns", nil, "columns of a table in their order, such as index,eps,p_lower,verdict (default all; in CSV those that say something)")
}

// tableColumns returns these columns, nil if none are given.
func (o *outFlags) tableColumns() ([]string, error) {
	known := record.Columns()
	for i, name := range o.columns {
		switch {
		case !record.IsTable(o.path):
			return nil, errors.New("--columns is of tables: give --out a name that ends in .csv or .parquet")
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("--columns %.40q is no field of records%s", name, cmp.Or(nearest.Hint(name, known), ": docs/reference.md lists them"))
		case slices.Contains(o.columns[:i], name):
			return nil, fmt.Errorf("--columns has %s twice", name)
		}
	}
	if len(o.columns) == 0 {
		return nil, nil
	}
	return o.columns, nil
}

// addOverwrite is for commands that name what they write in another way.
func (o *outFlags) addOverwrite(f *pflag.FlagSet) {
	f.BoolVar(&o.overwrite, "overwrite", false, "replace files that exist; without it none is replaced")
}

// old returns what becomes of a file that is there.
func (o *outFlags) old() outfile.Old {
	if o.overwrite {
		return outfile.Replace
	}
	return outfile.Keep
}

// refuse returns why nothing can be written to --out; inputs are what the command reads. For
// commands to ask before they begin, since create comes after they have computed.
func (o *outFlags) refuse(inputs ...string) error {
	return ofOut(outfile.Refuse(o.path, o.old(), inputs...))
}

// create begins the file; commit puts it in its place.
func (o *outFlags) create(inputs ...string) (*outfile.File, error) {
	file, err := outfile.Create(o.path, o.old(), inputs...)
	return file, ofOut(err)
}

func (o *outFlags) commit(file *outfile.File) error { return ofOut(file.Commit()) }

// write writes the whole file.
func (o *outFlags) write(content []byte, inputs ...string) error {
	return ofOut(outfile.WriteFile(o.path, o.old(), content, inputs...))
}

// unwritten is the error of whatever writes to the file.
func (o *outFlags) unwritten(err error) error {
	return fmt.Errorf("--out %s: cannot be written: %w", o.path, outfile.Reason(err))
}

// ofOut names the flag in an error of package outfile.
func ofOut(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--out %w", err)
}

// posteriorFlags are shared by the commands that read a posterior.
type posteriorFlags struct {
	scale, factor          string
	predictive             string
	sd, sdRelative, sdFile string // the last two apart in campaigns alone
	activation             []string
}

func (p *posteriorFlags) add(f *pflag.FlagSet) {
	f.StringVar(&p.scale, "scale", "", "what the file calls sigma, where it does not say: "+posterior.ScaleWords)
	f.StringSliceVar(&p.activation, "activation", nil, "hidden activations, one for all or one a layer, where the file does not say: "+network.Words())
	f.StringVar(&p.sd, "sd", "", "standard deviations of an ONNX network: 0.05 for every weight, relative:0.01 of the size of each, or FILE (.npz, safetensors) by names of its initialisers, as --scale says; 0 takes it as the one network that it is")
}

// addApart adds the flags that campaigns have for what --sd says.
func (p *posteriorFlags) addApart(f *pflag.FlagSet) {
	f.StringVar(&p.sdRelative, "sd-relative", "", "")
	f.StringVar(&p.sdFile, "sd-file", "", "")
}

// addFactor is for commands that write no posterior: a file keeps its spread.
func (p *posteriorFlags) addFactor(f *pflag.FlagSet) {
	f.StringVar(&p.factor, "scale-factor", "", "multiply every standard deviation by this decimal")
}

// addPredictive is for commands that ask what a posterior predicts.
func (p *posteriorFlags) addPredictive(f *pflag.FlagSet) {
	f.StringVar(&p.predictive, "predictive", "", "networks, or linearised about the mean weights, as laplace-torch predicts by default (docs/theory.md, section 5.8) (default networks)")
}

// of is the posterior at path, read as the flags say.
func (p *posteriorFlags) of(path string) (certify.Posterior, error) {
	named := certify.Posterior{Path: path, Factor: p.factor, Predictive: p.predictive}
	named.Options.SetFlag(p.sd)
	named.Options.SDRelative = cmp.Or(p.sdRelative, named.Options.SDRelative)
	named.Options.SDFile = cmp.Or(p.sdFile, named.Options.SDFile)
	var err error
	if p.scale != "" {
		if named.Options.Scale, err = posterior.ParseScale(p.scale); err != nil {
			return named, fmt.Errorf("--scale: %w", didYouMean(err, p.scale, scaleWords()))
		}
	}
	for _, word := range p.activation {
		a, err := network.ParseActivation(word)
		if err != nil {
			return named, fmt.Errorf("--activation: %w", didYouMean(err, word, activationWords()))
		}
		named.Options.Activations = append(named.Options.Activations, a)
	}
	return named, nil
}

// read reads the posterior at path.
func (p *posteriorFlags) read(path string) (*posterior.Posterior, error) {
	named, err := p.of(path)
	if err != nil {
		return nil, err
	}
	return named.Read()
}

// given is the value of a flag, nil if it is not given.
func given[T any](f *pflag.FlagSet, name string, value T) *T {
	if !f.Changed(name) {
		return nil
	}
	return &value
}

// taskFlags hold what is to be certified: points of a data file with a radius and a property, or a
// property file.
type taskFlags struct {
	points             certify.Points
	index, clip, words string // words are those of --property
}

// addData adds the flags of data points.
func addData(f *pflag.FlagSet, p *certify.Points, index *string) {
	f.StringVar(&p.Inputs, "inputs", "", "`FILE` of input points: IDX, .npy, .npz, CSV or PNG, also .gz; or a folder of PNG files")
	f.StringVar(&p.Scale, "input-scale", "", "factor of every input value, such as 1/255 (default 1/255 for bytes, else 1)")
	f.StringVar(&p.LabelColumn, "label-column", "", "which column of a CSV file is the class and no input: first, last, none or its name (default none)")
	f.StringVar(index, "index", ":", "which points: 0:100 (half-open), 7, or 1,5,9:12 (default all)")
	f.Lookup("index").DefValue = "" // ":" would say less
	f.StringVar(&p.Channels, "channels", "", "where the network has the channels of images, first or last; data in the other order are reordered")
	f.StringVar(&p.Mean, "mean", "", "the network takes (x - mean) / std of the data x: a number, one for each channel or input, or FILE.npy")
	f.StringVar(&p.Std, "std", "", "see --mean; data, radii and --clip are in units of x")
}

func (t *taskFlags) add(f *pflag.FlagSet) {
	p := &t.points
	addData(f, p, &t.index)
	f.StringVar(&p.Eps, "eps", "", "radius of T around each point: 8/255 for every input, [0.1,0,0.2] or FILE.npy for each; or a list of radii")
	t.addRegion(f)
}

// addRegion adds the flags that say what T is around a point, but for its radius, and what S is.
func (t *taskFlags) addRegion(f *pflag.FlagSet) {
	p := &t.points
	f.StringVar(&p.Norm, "norm", "", "norm of the ball of radius eps that T is: inf (a box), 2 or 1 (default inf)")
	f.Lookup("index").Usage = "which points, or properties of a file: 0:100 (half-open), 7, or 1,5,9:12 (default all)"
	f.StringVar(&t.clip, "clip", "", "cut T to an interval such as 0,1, or to [LO,...],[HI,...] or FILE.npy for each input")
	f.StringVar(&p.Fix, "fix", "", "inputs that do not move, as --index lists points")
	f.StringVar(&p.Free, "free", "", "inputs that move; all others are fixed")
	f.StringVar(&t.words, "property", property.KeepsClass, "S: keeps_class, top_k:K, margin:M or class_change_only:C,... of the class of the input (see --label); argmax_is:C, argmax_is_never:C, argmax_in:C,..., output_box:[lo,hi],...; or a JSON or VNN-LIB file (docs/files.md)")
	f.StringVar(&p.Label, "label", "", "class of the inputs: a number, a label file, \"column\" for --label-column, or \"mean\" for what the mean network says (default column if --label-column names one, else mean)")
}

// of are the tasks that the flags name.
func (t *taskFlags) of(f *pflag.FlagSet) (certify.Tasks, error) {
	tasks := certify.Tasks{Points: t.points}
	tasks.Points.Index = given(f, "index", t.index)
	if t.clip != "" {
		tasks.Points.Clip = property.SplitList(t.clip)
	}
	if !isFile(t.words) {
		tasks.Points.Property = t.words
		return tasks, nil
	}
	tasks.File = t.words
	// A Job cannot tell what is given and empty from what is not given.
	for _, flag := range []string{"inputs", "input-scale", "label-column", "eps", "norm", "clip", "fix", "free", "channels", "label"} {
		if f.Changed(flag) && f.Lookup(flag).Value.String() == "" {
			return tasks, fmt.Errorf("--%s and a property file cannot be combined: the file %s has its own input boxes", flag, t.words)
		}
	}
	return tasks, nil
}

// isFile reports whether text is a property file, not a property in words.
func isFile(text string) bool {
	if kind, _, spec := strings.Cut(text, ":"); strings.HasSuffix(text, ".json") || strings.HasSuffix(strings.TrimSuffix(text, ".gz"), ".vnnlib") {
		return true
	} else if text == property.KeepsClass || spec && !strings.ContainsAny(kind, "./") {
		return false
	}
	_, err := os.Stat(text)
	return err == nil
}

// probability reads a flag that is one.
func probabilityOf(flag, text string) (property.Exact, error) {
	p, err := property.NewExact(text)
	if err != nil {
		return p, fmt.Errorf("--%s %w", flag, err)
	}
	if p.Cmp(property.Exact{}) < 0 || p.Cmp(property.MustExact("1")) > 0 {
		return p, fmt.Errorf("--%s %.40s is no probability: give a decimal from 0 to 1", flag, text)
	}
	return p, nil
}
