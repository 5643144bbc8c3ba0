package check

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"psafe/host/check/cases"
	"psafe/host/check/law"
	"psafe/host/check/noise"
	"psafe/host/check/record"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

// question holds what a record is about: the distribution of the networks, and the task.
type question struct {
	*record.Record
	post *posterior.Posterior
	task *property.Task
	held *files
	// proved is the lower bound as it was proved; census the networks of a finite posterior, once
	// they have been decided.
	proved law.Chance
	census *census
}

// withMixtures is the question with the safe set that a lower bound is proved of: that of the
// record, or the same with the mixtures of the proof among its alternatives.
func (q *question) withMixtures() (*question, error) {
	if q.Proof.Mixtures == nil {
		return q, nil
	}
	task, with := *q.task, *q
	var err error
	task.S, err = cases.Mixed(&q.task.S, q.Proof.Mixtures)
	with.task = &task
	return &with, err
}

// files hold what records name, each read once. At most keptFiles of a kind are held at a time.
type files struct {
	posteriors map[string]*posterior.Posterior
	points     map[string]*property.Points
	tasks      map[string][]property.Task
	templates  map[string]*templates
	regions    map[string]*property.Region
	norms      map[string]*property.Norm
	// noisy is noisyPost as concentration LBP needs it.
	noisy     *noise.Posterior
	noisyPost *posterior.Posterior
}

const keptFiles = 4

// kept returns what is held under the key, or reads it.
func kept[T any](held *map[string]T, key string, read func() (T, error)) (T, error) {
	if v, ok := (*held)[key]; ok {
		return v, nil
	}
	v, err := read()
	if err != nil {
		return v, err
	}
	if *held == nil || len(*held) >= keptFiles {
		*held = map[string]T{}
	}
	(*held)[key] = v
	return v, nil
}

// question reads the files that a record names, or those given in their place, and compares
// them with what the record says of them.
func (f *files) question(r *record.Record, given Files) (*question, error) {
	q := &question{Record: r, held: f}
	var err error
	if q.post, err = f.posterior(r, given); err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	inputs := r.Inputs
	if given.Inputs != "" {
		inputs = given.Inputs
	}
	for _, file := range property.FilesOf(inputs) {
		if err := there(file, "inputs"); err != nil {
			return nil, err
		}
	}
	switch {
	case (r.Template == "") != (r.TemplateSHA256 == "") || (r.Template == "") != (r.TemplateEntry == nil):
		return nil, errors.New("template: it is not there together with template_sha256 and template_entry")
	case r.Template != "":
		q.task, err = f.ofTemplate(r, inputs, q.post)
	case r.Eps == "":
		q.task, err = f.ofPropertyFile(r, inputs, q.post)
	default:
		q.task, err = f.ofPoints(r, inputs, q.post)
	}
	if err != nil {
		return nil, err
	}
	if err := q.task.Check(q.post.Inputs(), q.post.Outputs()); err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	label := -1
	if r.Label != nil {
		label = *r.Label
	}
	if label != q.task.Label {
		return nil, fmt.Errorf("label: it is %d, the property speaks of %d", label, q.task.Label)
	}
	return q, nil
}

// Absent is an error about a file that is not there: nothing can be said of records about it.
type Absent struct{ words string }

func (a *Absent) Error() string { return a.words }

// there is an *Absent if a file is not there, which a flag may name or stands where certify ran.
func there(path, flag string) error {
	mend := "say with --" + flag + " where it is"
	if flag == "" {
		mend = "run psafe check in the folder that certify ran in"
	}
	if _, err := os.Stat(path); path+flag != "" && errors.Is(err, fs.ErrNotExist) {
		return &Absent{fmt.Sprintf("%s is not there: %s", path, mend)}
	}
	return nil
}

// posterior reads the posterior with the spread, the factor and the activations that the
// record names.
func (f *files) posterior(r *record.Record, given Files) (*posterior.Posterior, error) {
	path, sd := cmp.Or(given.Posterior, r.Posterior), r.PosteriorSDFile
	if err := there(path, "posterior"); err != nil {
		return nil, err
	}
	words, factor, _ := strings.Cut(r.PosteriorScale, " x ")
	word, _, _ := strings.Cut(words, ",") // that of the file; others are of single arrays
	var options format.Options
	if word != posterior.ScaleUnknown.String() {
		var err error
		if options.Scale, err = posterior.ParseScale(word); err != nil {
			return nil, err
		}
	}
	if sd != "" {
		sd = cmp.Or(given.SDFile, sd)
		if err := there(sd, "sd-file"); err != nil {
			return nil, err
		}
	}
	if err := options.SetSpread(r.PosteriorSD, sd); err != nil {
		return nil, fmt.Errorf("posterior_sd: %w", err)
	}
	for _, word := range r.Activations {
		a, err := net.ParseActivation(word)
		if err != nil {
			return nil, err
		}
		options.Activations = append(options.Activations, a)
	}
	key := strings.Join(append([]string{path, r.PosteriorScale, r.Predictive, r.PosteriorSD, sd}, r.Activations...), "\x00")
	p, err := kept(&f.posteriors, key, func() (*posterior.Posterior, error) { return readPosterior(path, options, factor, r.Predictive) })
	switch {
	case err != nil:
		return nil, err
	case p.Source.SHA256 != r.PosteriorSHA256:
		return nil, fmt.Errorf("%s has the digest %.16s, the record was made from %.16s", path, p.Source.SHA256, r.PosteriorSHA256)
	case sdDigest(p) != r.PosteriorSDSHA:
		return nil, fmt.Errorf("%s has the digest %.16s, the record was made from %.16s", sd, sdDigest(p), r.PosteriorSDSHA)
	case p.ScaleList() != words:
		return nil, fmt.Errorf("its spread is %s, the record says %s", p.ScaleList(), words)
	}
	return p, nil
}

// sdDigest is that of the file of standard deviations of an ONNX network, empty without one.
func sdDigest(p *posterior.Posterior) string {
	if p.Source.Given == nil {
		return ""
	}
	return p.Source.Given.SHA256
}

// linearised is the value of the field predictive for networks that are linearised about the mean.
const linearised = "linearised"

// readPosterior reads a posterior, multiplies its standard deviations by a factor and linearises it.
func readPosterior(path string, options format.Options, factor, predictive string) (*posterior.Posterior, error) {
	p, err := format.Read(path, options)
	if err != nil && len(options.Activations) > 0 {
		// Files of graphs say all activations, and take none that are said beside them.
		own := options
		own.Activations = nil
		if said, again := format.Read(path, own); again == nil {
			p, err = said, nil
		}
	}
	if err != nil {
		return nil, err
	}
	for k, a := range options.Activations {
		if k >= len(p.Layers)-1 || p.Layers[k].Activation != a {
			return nil, fmt.Errorf("%s: its activations are not those of the record", path)
		}
	}
	if len(options.Activations) != len(p.Layers)-1 {
		return nil, fmt.Errorf("%s: %d activations for %d hidden layers", path, len(options.Activations), len(p.Layers)-1)
	}
	if factor != "" {
		d, err := property.NewDecimal(factor)
		if err == nil {
			err = p.Widen(d.Lo, d.Hi)
		}
		if err != nil {
			return nil, err
		}
	}
	switch predictive {
	case "":
		return p, nil
	case linearised:
		return p.Linearised()
	}
	return nil, fmt.Errorf("predictive: %.40q is no posterior of functions", predictive)
}

// cells are those of the proof, as many as the record says.
func (q *question) cells() ([]property.Box, error) {
	cells, err := cases.CellsOf(q.task.T, q.Proof.Cells)
	if err == nil && len(cells) != q.Cells {
		err = fmt.Errorf("cells: %d, the proof has %d", q.Cells, len(cells))
	}
	return cells, err
}

// fits compares a record with its question, where nothing has to be proved for that.
func (q *question) fits() error {
	if err := q.fitsSet(); err != nil {
		return err
	}
	boxes := len(q.task.T)
	if q.Method == "statistical" || q.Statistical != nil {
		if err := q.post.RequireNetworks(); err != nil {
			return fmt.Errorf("statistical: %w", err)
		}
	}
	if q.Boxed() || q.Cut() || q.Method == "phases" || q.Method == "chernoff" {
		err := q.post.RequireIndependent()
		if q.Method == "clbp" {
			err = q.post.RequireRows()
		}
		if err != nil {
			return fmt.Errorf("method: %s: %w", q.Method, err)
		}
	}
	switch flags := q.Asked(); {
	case q.Method == "neuronsum" && len(q.post.Layers) != 2:
		return fmt.Errorf("method: sums of neurons are of one hidden layer, this network has %d", len(q.post.Layers)-1)
	case (q.Cut() && q.Proof.Grids == nil || q.Cells > 0 && q.Method == "phases") && !(boxes <= q.Cells && (flags.Number("--cells") == 0 || q.Cells <= max(boxes, flags.Number("--cells")))):
		return fmt.Errorf("cells: %d, T has %d boxes, the flags say %d", q.Cells, boxes, flags.Number("--cells"))
	}
	if len(q.Gamma) > 0 {
		_, err := q.Gamma.Of(len(q.post.Layers))
		return err
	}
	return nil
}

// fitsSet compares what is said of a finite set, and of the posterior behind it, with the file.
func (q *question) fitsSet() error {
	set, p, networks, of := q.post.Samples(), q.Parent, 0, ""
	if set != nil {
		if set.N() > 1 { // a single network is no set of which one might think more
			networks = set.N()
		}
		if q.Method == "samples" {
			of = set.DrawsOf
		}
	}
	switch {
	case q.Networks != networks:
		return fmt.Errorf("networks: it is %d, and the posterior is %s", q.Networks, q.post.Describe())
	case (p != nil) != (of != ""):
		return fmt.Errorf("parent: it is there although the file has no draws, or is missing: method %s, draws of %.60q", q.Method, of)
	case p != nil && p.Of != of:
		return fmt.Errorf("parent: of is %.60q, the file says %.60q", p.Of, of)
	}
	return nil
}
