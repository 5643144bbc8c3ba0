package check

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	net "psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/posterior/format"
	"psafe/host/property"
)

// question is what a record is about: the distribution of the networks, and the task.
type question struct {
	*record
	post *posterior.Posterior
	task *property.Task
	held *files
	// proved is the lower bound as it was proved; census the networks of a finite posterior, once
	// they have been decided.
	proved chance
	census *census
}

// files are what records name, each read once. At most keptFiles of a kind are held at a time.
type files struct {
	posteriors map[string]*posterior.Posterior
	points     map[string]*property.Points
	tasks      map[string][]property.Task
	// noisy is noisyPost as concentration LBP needs it.
	noisy     *noisy
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
func (f *files) question(r *record, given Files) (*question, error) {
	q := &question{record: r, held: f}
	var err error
	if q.post, err = f.posterior(r, given); err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	inputs := r.Inputs
	if given.Inputs != "" {
		inputs = given.Inputs
	}
	if err := there(property.FileOf(inputs), "inputs"); err != nil {
		return nil, err
	}
	if r.Eps == "" {
		q.task, err = f.ofPropertyFile(r, inputs, q.post)
	} else {
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

// there is an *Absent if a file that a flag may name is not there.
func there(path, flag string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &Absent{fmt.Sprintf("%s is not there: say with --%s where it is", path, flag)}
	}
	return nil
}

// posterior reads the posterior with the spread, the factor and the activations that the
// record names.
func (f *files) posterior(r *record, given Files) (*posterior.Posterior, error) {
	path, sd := cmp.Or(given.Posterior, r.Posterior), r.PosteriorSDFile
	if err := there(path, "posterior"); err != nil {
		return nil, err
	}
	word, factor, _ := strings.Cut(r.PosteriorScale, " x ")
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
	key := strings.Join(append([]string{path, r.PosteriorScale, r.PosteriorSD, sd}, r.Activations...), "\x00")
	p, err := kept(&f.posteriors, key, func() (*posterior.Posterior, error) { return readPosterior(path, options, factor) })
	switch {
	case err != nil:
		return nil, err
	case p.Source.SHA256 != r.PosteriorSHA256:
		return nil, fmt.Errorf("%s has the digest %.16s, the record was made from %.16s", path, p.Source.SHA256, r.PosteriorSHA256)
	case sdDigest(p) != r.PosteriorSDSHA:
		return nil, fmt.Errorf("%s has the digest %.16s, the record was made from %.16s", sd, sdDigest(p), r.PosteriorSDSHA)
	case p.Scale.String() != word:
		return nil, fmt.Errorf("its spread is %v, the record says %s", p.Scale, word)
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

// readPosterior reads a posterior and multiplies its standard deviations by a factor.
func readPosterior(path string, options format.Options, factor string) (*posterior.Posterior, error) {
	p, err := format.Read(path, options)
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
	if factor == "" {
		return p, nil
	}
	d, err := property.NewDecimal(factor)
	if err == nil {
		err = p.Widen(d.Lo, d.Hi)
	}
	return p, err
}

// ofPropertyFile is the task of a property file.
func (f *files) ofPropertyFile(r *record, path string, post *posterior.Posterior) (*property.Task, error) {
	if len(r.Clip) > 0 || r.InputScale != "" {
		return nil, fmt.Errorf("clip: a property file has none, nor an input scale")
	}
	key := fmt.Sprint(post.Outputs(), path)
	tasks, err := kept(&f.tasks, key, func() ([]property.Task, error) { return property.ReadFile(path, post.Outputs()) })
	if err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	at := slices.IndexFunc(tasks, func(t property.Task) bool { return t.Index == r.Index })
	if at < 0 {
		return nil, fmt.Errorf("index: %s has no property number %d", path, r.Index)
	}
	t := tasks[at]
	words := t.Name
	if words == "" {
		words = fmt.Sprintf("number %d of the property file", t.Index)
	}
	switch {
	case t.FileSHA256 != r.InputsSHA256:
		return nil, fmt.Errorf("inputs: %s has the digest %.16s, the record was made from %.16s", path, t.FileSHA256, r.InputsSHA256)
	case t.Name != r.Name:
		return nil, fmt.Errorf("name: it is %.40q, the file says %.40q", r.Name, t.Name)
	case words != r.Property:
		return nil, fmt.Errorf("property: it is %.40q, the file says %.40q", r.Property, words)
	}
	return &t, nil
}

// ofPoints is the task of a point of a data file: T is the ball around it.
func (f *files) ofPoints(r *record, path string, post *posterior.Posterior) (*property.Task, error) {
	label, err := labelColumn(r.Flags)
	if err != nil {
		return nil, fmt.Errorf("flags: %w", err)
	}
	key := strings.Join([]string{path, r.InputScale, label}, "\x00")
	points, err := kept(&f.points, key, func() (*property.Points, error) {
		return property.ReadPoints(path, property.InputOptions{Scale: r.InputScale, LabelColumn: label})
	})
	if err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	switch {
	case points.SHA256 != r.InputsSHA256:
		return nil, fmt.Errorf("inputs: %s has the digest %.16s, the record was made from %.16s", path, points.SHA256, r.InputsSHA256)
	case points.Dim != post.Inputs():
		return nil, fmt.Errorf("inputs: points of %s have %d coordinates, the network takes %d", path, points.Dim, post.Inputs())
	case r.Index < 0 || r.Index >= points.N():
		return nil, fmt.Errorf("index: %s has no point number %d", path, r.Index)
	case r.Name != "":
		return nil, fmt.Errorf("name: points have none")
	}
	eps, err := property.NewDecimal(r.Eps)
	if err != nil {
		return nil, fmt.Errorf("eps: %w", err)
	}
	clip, err := clipOf(r.Clip)
	if err != nil {
		return nil, fmt.Errorf("clip: %w", err)
	}
	box, err := points.Ball(r.Index, eps, clip)
	if err != nil {
		return nil, fmt.Errorf("eps: %w", err)
	}
	t := &property.Task{Index: r.Index, T: []property.Box{box}, Inner: []property.Box{points.InnerBall(r.Index, eps, clip)}}
	if t.S, t.Label, err = property.ParseSpec(r.Property, post.Outputs()); err != nil {
		return nil, err
	}
	return t, nil
}

// clipOf reads the interval that T is cut to, nil if there is none.
func clipOf(texts []string) (*[2]property.Decimal, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if len(texts) != 2 {
		return nil, fmt.Errorf("%d numbers, not two", len(texts))
	}
	var ends [2]property.Decimal
	for i, text := range texts {
		var err error
		if ends[i], err = property.NewDecimal(strings.TrimSpace(text)); err != nil {
			return nil, err
		}
	}
	return &ends, nil
}

// labelColumn is the value of --label-column among the flags of a record, empty if it is not
// there.
func labelColumn(flags string) (string, error) {
	words, err := wordsOf(flags)
	for i, w := range words {
		if w == "--label-column" && i+1 < len(words) {
			return words[i+1], err
		}
	}
	return "", err
}

// wordsOf are the words of flags. Those with spaces or quotes are quoted as Go does.
func wordsOf(flags string) (words []string, err error) {
	for rest := flags; rest != ""; {
		word, after, _ := strings.Cut(rest, " ")
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("%.40q has a quote that does not end", flags)
			}
			after = strings.TrimPrefix(rest[len(quoted):], " ")
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
		}
		words, rest = append(words, word), after
	}
	return words, nil
}
