package certify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/host/record"
)

// radius is one of the radii of a list, and the region that it makes.
type radius struct {
	text   string
	region *property.Region
}

// tasks builds one task for each radius and point: all points with the first radius, then all
// with the next.
func (p *Points) tasks(post *posterior.Posterior, relation *property.Relation) (*taskList, error) {
	if p.Inputs == "" {
		return nil, errors.New("--inputs is missing: name a data file, as in --inputs points.csv --eps 0.01, or a property file with --property FILE.json")
	}
	g, err := p.grid()
	if err != nil {
		return nil, err
	}
	texts := p.Eps
	if g != nil {
		texts = g.text(g.most)
	}
	radii, err := p.radii(texts, post.Inputs())
	if err != nil {
		return nil, err
	}
	times := len(radii)
	if g != nil {
		times = len(record.RadiusEndWords)
	}
	points, index, list, err := p.read(post, times)
	if err != nil {
		return nil, err
	}
	var safe func(int) (property.Safe, int, error)
	if list.relation = relation; relation == nil {
		safe, err = p.safeSets(post, points, list.norm.Norm)
	} else {
		safe, err = p.ofPairs(post, relation)
	}
	if err != nil {
		return nil, err
	}
	list.words, list.clipSHA256 = p.Property, radii[0].region.ClipSHA256
	reach := largest(radii)
	if p.round() { // no input moves as far as the radius while others do
		reach = 0
	}
	list.notes = append(list.notes, doubtPoints(post, points, index, reach, len(p.Clip) > 0, p.Mean != "")...)
	if relation != nil && property.NeedsClass(p.Property) {
		list.words = p.Relation
	} else if property.NeedsClass(p.Property) {
		list.notes = append(list.notes, p.doubtClasses(post, points, index, list.norm.Norm)...)
	}
	list.n = len(radii) * len(index)
	label, _, _ := p.classLabel()
	byMean := label == "" && property.NeedsClass(list.words)
	around := func(n int, r radius) (property.Task, error) {
		task := property.Task{Index: index[n], Eps: r.text, EpsSHA256: r.region.EpsSHA256, ByMean: byMean}
		var err error
		if task.S, task.Label, err = safe(task.Index); err == nil {
			err = list.give(&task, points, r.region)
		}
		return task, err
	}
	list.at = func(k int) (property.Task, error) { return around(k%len(index), radii[k/len(index)]) }
	list.around = func(k int, eps string) (property.Task, error) {
		of, err := p.radii(eps, post.Inputs())
		if err != nil {
			return property.Task{}, err
		}
		return around(k%len(index), of[0])
	}
	if g == nil {
		return list, nil
	}
	s := &search{grid: g, ends: record.RadiusEndWords[:], around: around, regions: map[int]radius{}}
	s.at = func(k int) (radius, error) {
		radii, err := p.radii(g.text(k), post.Inputs())
		if err != nil {
			return radius{}, err
		}
		return radii[0], nil
	}
	none, err := s.region(0)
	list.search, list.n = s, len(s.ends)*len(index)
	list.at = func(k int) (property.Task, error) {
		n := k / len(s.ends)
		// A point outside of the clip interval has a T from some radius on only.
		if _, err := around(n, none); err != nil {
			return property.Task{}, err
		}
		return around(n, radii[0])
	}
	return list, err
}

// give gives a task the region around point task.Index.
func (l *taskList) give(task *property.Task, points *property.Points, region *property.Region) error {
	if err := points.RegionOf(task, task.Index, region); err != nil {
		return err
	}
	err := l.norm.Apply(task)
	if err == nil {
		err = l.relation.Extend(task, l.norm.Norm)
	}
	if err != nil {
		return fmt.Errorf("%s: point %d: %w", points.Source, task.Index, err)
	}
	return nil
}

// radii reads the list of radii, no two of which may be the same.
func (p *Points) radii(texts string, inputs int) ([]radius, error) {
	if texts == "" {
		return nil, errors.New("--eps is missing: the radius of T around each point, for example 0.01 (0 is the point itself)")
	}
	var radii []radius
	for _, text := range property.SplitList(texts) {
		text = strings.TrimSpace(text)
		if text == "" {
			return nil, fmt.Errorf("--eps %.60s: a radius of the list is empty: write radii such as 1/255,2/255", p.Eps)
		}
		if before := len(radii); before > 0 && len(text) > 1 && text[0] == '0' && '0' <= text[1] && text[1] <= '9' {
			return nil, fmt.Errorf("--eps %.60s: write %.60s.%.60s with a point: a comma is between two radii, none of which begins with 0 and a digit", p.Eps, radii[before-1].text, text)
		}
		region, err := property.ReadRegion(property.RegionText{Eps: text, Norm: p.Norm, Clip: p.Clip, Fix: p.Fix, Free: p.Free}, inputs)
		if err != nil {
			return nil, err
		}
		for _, r := range radii {
			if r.region.SameRadius(region) {
				return nil, fmt.Errorf("--eps %.60s: %s and %s are the same radius: list it once", p.Eps, r.text, text)
			}
		}
		radii = append(radii, radius{text, region})
	}
	return radii, nil
}

// largest is the largest radius in any coordinate.
func largest(radii []radius) float64 {
	r := 0.0
	for _, of := range radii {
		r = max(r, of.region.Reach())
	}
	return r
}

// read reads the points, in the network's order, which of them are asked for, each so many
// times, and what belongs to all of their tasks.
func (p *Points) read(post *posterior.Posterior, times int) (*property.Points, []int, *taskList, error) {
	points, err := property.ReadPoints(p.Inputs, property.InputOptions{Scale: p.Scale, LabelColumn: p.LabelColumn, Dim: post.Inputs()})
	if err != nil {
		return nil, nil, nil, unfound("--inputs", err)
	}
	index, err := points.Choose(or(p.Index, ":"), post.Outputs(), times)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("--index: %w", err)
	}
	list := &taskList{source: p.Inputs, sha256: points.SHA256, channels: p.Channels}
	if points, err = p.ordered(points, post, list); err != nil {
		return nil, nil, nil, err
	}
	list.points = points
	shape := points.Shape
	if len(shape) < 2 {
		shape = post.Input.Shape
	}
	list.norm, err = p.norm(post, shape, list.channels)
	return points, index, list, err
}

// ordered is the points in the order of the network: as --channels says, or the posterior's
// file.
func (p *Points) ordered(points *property.Points, post *posterior.Posterior, list *taskList) (*property.Points, error) {
	var err error
	if p.Channels != "" {
		if points, err = points.InOrder(p.Channels); err != nil {
			return nil, fmt.Errorf("--channels: %w", err)
		}
	}
	if post.Input.Shape == nil {
		return points, nil
	}
	channels, err := points.OrderOf(post.Input.Shape)
	switch {
	case err != nil:
		return nil, err
	case p.Channels == "" && points.Cube():
		return nil, fmt.Errorf("points of %s have shape %v, of which nobody can tell the axis of the channels: say with --channels how the network takes PNG files, or save them flat, in its order", points.Source, points.Shape)
	case channels == "":
		return points, nil
	case p.Channels != "":
		return nil, fmt.Errorf("--channels %s: the posterior's file says that an input has shape %v: leave the flag out", p.Channels, post.Input.Shape)
	}
	list.channels = channels
	list.notes = append(list.notes, &Reordered{post.Source.Path, channels})
	return points.InOrder(channels)
}

// FromPosterior stands in records for a mean and a standard deviation of the inputs that the
// posterior's file says.
const FromPosterior = "posterior"

// norm is how data become inputs of the network, and the words for it in records.
type norm struct {
	*property.Norm
	words [2]string
}

// norm returns what --mean and --std say, or the posterior's file. channels is which axis of shape
// they are where that is known, as ReadNorm has it: records say so, and psafe check reads them.
func (p *Points) norm(post *posterior.Posterior, shape []int, channels string) (norm, error) {
	var n norm
	var err error
	if p.Mean != "" || p.Std != "" {
		if n.Norm, err = property.ReadNorm(p.Mean, p.Std, post.Inputs(), shape, channels); err != nil {
			return n, err
		}
		n.words = [2]string{p.Mean, p.Std}
	}
	if post.Input.Mean == nil && post.Input.Std == nil {
		return n, nil
	}
	says, err := property.NormOf(post.Input.Mean, post.Input.Std, post.Inputs())
	if err == nil && n.Norm != nil {
		err = says.Agrees(n.Norm, post.Inputs())
	}
	if err != nil {
		return n, fmt.Errorf("%s: %w", post.Source.Path, err)
	}
	return norm{says, [2]string{FromPosterior, FromPosterior}}, nil
}

// apply takes the boxes of a task of a property file to those of the network.
func (n *norm) apply(t *property.Task, inputs, outputs int) error {
	if n.Norm == nil {
		return nil
	}
	if err := t.Check(inputs, outputs); err != nil { // as many coordinates as there are means
		return err
	}
	return n.Apply(t)
}

// fromTemplates builds a task for each property of the file and each point: all points with
// the first property, then all with the next.
func (t *Tasks) fromTemplates(post *posterior.Posterior, relation *property.Relation) (*taskList, error) {
	p := &t.Points
	_, outputs := relation.Shape(post.Inputs(), post.Outputs())
	templates, digest, err := property.ReadTemplates(t.File, post.Inputs(), outputs)
	if errors.Is(err, property.ErrOwnBoxes) {
		return nil, fmt.Errorf("--inputs and a property file cannot be combined: the file %s has its own input boxes", t.File)
	}
	if err != nil {
		return nil, unfound("--property", err)
	}
	byLabel := slices.ContainsFunc(templates, func(t *property.Template) bool { return t.ByLabel })
	if err := t.refuse("the boxes of "+t.File+" say how far points move", []given{{"eps", p.Eps != ""}, {"norm", p.round()}, {"property", p.Property != ""}}); err != nil {
		return nil, err
	}
	if err := t.refuse("no property of "+t.File+` has "class": "label"`, []given{{"label", p.Label != "" && !byLabel}}); err != nil {
		return nil, err
	}
	clip, err := property.ReadRegion(property.RegionText{Clip: p.Clip, Fix: p.Fix, Free: p.Free}, post.Inputs())
	if err != nil {
		return nil, err
	}
	points, index, list, err := p.read(post, len(templates))
	if err != nil {
		return nil, err
	}
	class, err := p.classes(post, points, list.norm.Norm)
	if err != nil {
		return nil, err
	}
	list.template, list.clipSHA256, list.relation = t.File, clip.ClipSHA256, relation
	if byLabel {
		list.notes = append(list.notes, p.doubtClasses(post, points, index, list.norm.Norm)...)
	}
	var regions []*property.Region
	for _, of := range templates {
		regions = append(regions, of.Around(clip))
	}
	list.n = len(templates) * len(index)
	list.at = func(k int) (property.Task, error) {
		of, i := templates[k/len(index)], index[k%len(index)]
		task := property.Task{Index: i, Name: of.Name, Template: of.Index, TemplateSHA256: digest, Gamma: of.Gamma, Samples: of.Samples}
		c := -1
		var err error
		if of.ByLabel {
			if c, err = class(i); err != nil {
				return task, err
			}
		}
		if task.S, task.Label, err = of.Safe(c); err != nil {
			return task, fmt.Errorf("%s: %s: point %d: %w", t.File, cmp.Or(of.Name, strconv.Itoa(of.Index)), i, err)
		}
		err = list.give(&task, points, regions[k/len(index)])
		return task, err
	}
	return list, nil
}
