package check

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"psafe/host/check/noise"
	"psafe/host/check/record"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

// Files are named in place of those of records, where they have moved; empty for those of
// the record.
type Files struct{ Posterior, SDFile, Inputs string }

// files hold what records name, each read once, for all checkers that are at work at one time. At most keptFiles of a
// kind are held.
type files struct {
	mutex      sync.Mutex
	posteriors map[string]*posterior.Posterior
	points     map[string]*property.Points
	tasks      map[string][]property.Task
	templates  map[string]*templates
	regions    map[string]*property.Region
	norms      map[string]*property.Norm
	relations  map[string]*property.Relation
	// noisy are posteriors as concentration LBP needs them.
	noisy map[noisyOf]*noise.Posterior
}

// noisyOf is a posterior for rows of so many activations.
type noisyOf struct {
	post  *posterior.Posterior
	depth int
}

const keptFiles = 4

// kept returns what is held under the key, or reads it.
func kept[K comparable, T any](of *files, held *map[K]T, key K, read func() (T, error)) (T, error) {
	of.mutex.Lock()
	defer of.mutex.Unlock()
	if v, ok := (*held)[key]; ok {
		return v, nil
	}
	v, err := read()
	if err != nil {
		return v, err
	}
	if *held == nil || len(*held) >= keptFiles {
		*held = map[K]T{}
	}
	(*held)[key] = v
	return v, nil
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

type templates struct {
	list   []*property.Template
	sha256 string
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
	p, err := kept(f, &f.posteriors, key, func() (*posterior.Posterior, error) { return readPosterior(path, options, factor, r.Predictive) })
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

// sdDigest returns the sd digest of the file of standard deviations of an ONNX network, empty without one.
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

// noisy prepares the posterior for concentration LBP, with rows as deep as the flags say.
func (q *question) noisy() (*noise.Posterior, error) {
	depth := q.Asked().Number("--depth")
	return kept(q.held, &q.held.noisy, noisyOf{q.post, depth}, func() (*noise.Posterior, error) {
		n, err := noise.New(q.post)
		if err != nil {
			return nil, fmt.Errorf("posterior: %w", err)
		}
		n.Graph.Depth = depth
		return n, nil
	})
}

// noisyNetworks is noisy for a claim, of this field, that is about networks whose rows are bounded but for noise.
func (q *question) noisyNetworks(field string) (*noise.Posterior, error) {
	if q.post.About() != nil {
		return nil, fmt.Errorf("%s: it is about networks; the posterior is %s", field, q.post.Describe())
	}
	if err := q.post.RequireRows(); err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return q.noisy()
}
