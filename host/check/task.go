package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"psafe/host/check/record"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// ofPropertyFile is the task of a property file.
func (f *files) ofPropertyFile(r *record.Record, path string, post *posterior.Posterior) (*property.Task, error) {
	if len(r.Clip) > 0 || r.Norm != "" || r.InputScale != "" || r.Fix != "" || r.Free != "" || r.Channels != "" || r.EpsSHA256 != "" || r.ClipSHA256 != "" {
		return nil, fmt.Errorf("clip: a property file has none, nor an input scale, fixed inputs or channels")
	}
	_, outputs, err := f.shape(r, post)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%d %q", outputs, path)
	tasks, err := kept(f, &f.tasks, key, func() ([]property.Task, error) { return property.ReadFile(path, outputs) })
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
	return &t, f.normalise(r, &t, post, post.Input.Shape)
}

// ofPoints is the task of a point of a data file: T is the ball around it.
func (f *files) ofPoints(r *record.Record, path string, post *posterior.Posterior) (*property.Task, error) {
	t := &property.Task{Index: r.Index}
	points, err := f.pointsOf(r, path, post)
	if err != nil {
		return nil, err
	}
	if r.Name != "" {
		return nil, fmt.Errorf("name: points have none")
	}
	region, err := f.region(r, post.Inputs())
	if err != nil {
		return nil, err
	}
	if t.S, t.Label, err = f.safe(r, post); err != nil {
		return nil, err
	}
	return t, f.around(r, t, points, region, post)
}

// around makes the boxes of a task: those of the region around its point, normalised.
func (f *files) around(r *record.Record, t *property.Task, points *property.Points, region *property.Region, post *posterior.Posterior) error {
	if err := points.RegionOf(t, t.Index, region); err != nil {
		return fmt.Errorf("eps: %w", err)
	}
	return f.normalise(r, t, post, shapeOf(points, post))
}

// pointsOf reads the data file of a record, with images in the order that the record says.
func (f *files) pointsOf(r *record.Record, path string, post *posterior.Posterior) (*property.Points, error) {
	label, err := record.LabelColumn(r.Flags)
	if err != nil {
		return nil, fmt.Errorf("flags: %w", err)
	}
	key := strings.Join([]string{path, r.InputScale, label, r.Channels}, "\x00")
	points, err := kept(f, &f.points, key, func() (*property.Points, error) {
		points, err := property.ReadPoints(path, property.InputOptions{Scale: r.InputScale, LabelColumn: label})
		if err == nil && r.Channels != "" {
			points, err = points.InOrder(r.Channels)
		}
		return points, err
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
	}
	if post.Input.Shape != nil {
		order, err := points.OrderOf(post.Input.Shape)
		if err == nil && order != "" {
			err = fmt.Errorf("it is %q, the posterior's file says that an input has shape %v", r.Channels, post.Input.Shape)
		}
		if err != nil {
			return nil, fmt.Errorf("channels: %w", err)
		}
	}
	return points, nil
}

// region reads what T is around a point, and the files that say it.
func (f *files) region(r *record.Record, inputs int) (*property.Region, error) {
	for _, text := range append([]string{r.Eps}, r.Clip...) {
		if err := there(property.VectorFile(text), ""); err != nil {
			return nil, err
		}
	}
	key := fmt.Sprintf("%d %q", inputs, append([]string{r.Eps, r.Norm, r.Fix, r.Free}, r.Clip...))
	region, err := kept(f, &f.regions, key, func() (*property.Region, error) {
		return property.ReadRegion(property.RegionText{Eps: r.Eps, Norm: r.Norm, Clip: r.Clip, Fix: r.Fix, Free: r.Free}, inputs)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fieldOf(err), err)
	}
	return region, cmp.Or(sameFile("eps", region.EpsSHA256, r.EpsSHA256), sameFile("clip", region.ClipSHA256, r.ClipSHA256))
}

// fieldOf is the field of a record that an error is about which begins with a flag.
func fieldOf(err error) string {
	flag, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "--"), " ")
	return strings.TrimSuffix(flag, ":")
}

// sameFile compares the digest of a file with what a record says of it.
func sameFile(field, is, says string) error {
	if is == says {
		return nil
	}
	return fmt.Errorf("%s_sha256: the file has the digest %.16q, the record was made from %.16q", field, is, says)
}

// fromPosterior stands in records for a mean and a standard deviation of the inputs that the
// posterior's file says.
const fromPosterior = "posterior"

// normalise takes the boxes of a task to those of the network.
func (f *files) normalise(r *record.Record, t *property.Task, post *posterior.Posterior, shape []int) error {
	norm, err := f.normOf(r, post, shape)
	if err != nil {
		return err
	}
	relation, outputs, err := f.shape(r, post)
	if err != nil || relation == nil && norm == nil {
		return err
	}
	if err := t.Check(post.Inputs(), outputs); err != nil { // as many coordinates as there are means
		return fmt.Errorf("inputs: %w", err)
	}
	if err := norm.Apply(t); err != nil {
		return fmt.Errorf("mean: %w", err)
	}
	if err := relation.Extend(t, norm); err != nil {
		return fmt.Errorf("relation: %w", err)
	}
	return nil
}

// normOf is the mean and the standard deviation of the record, which are the posterior's if its file says any; nil
// without.
func (f *files) normOf(r *record.Record, post *posterior.Posterior, shape []int) (*property.Norm, error) {
	says := post.Input.Mean != nil || post.Input.Std != nil
	if says != (r.Mean == fromPosterior) || says != (r.Std == fromPosterior) {
		return nil, fmt.Errorf("mean: it is %.40q and std %.40q; whether the posterior's file says them: %v", r.Mean, r.Std, says)
	}
	if r.Mean == "" && r.Std == "" {
		return nil, cmp.Or(sameFile("mean", "", r.MeanSHA256), sameFile("std", "", r.StdSHA256))
	}
	for _, text := range []string{r.Mean, r.Std} {
		if err := there(property.VectorFile(text), ""); err != nil {
			return nil, err
		}
	}
	key := fmt.Sprintf("%q", []any{post.Source.SHA256, post.Inputs(), r.Mean, r.Std, shape, r.Channels})
	norm, err := kept(f, &f.norms, key, func() (*property.Norm, error) {
		if says {
			return property.NormOf(post.Input.Mean, post.Input.Std, post.Inputs())
		}
		return property.ReadNorm(r.Mean, r.Std, post.Inputs(), shape, r.Channels)
	})
	if err != nil {
		return nil, fmt.Errorf("mean: %w", err)
	}
	return norm, cmp.Or(sameFile("mean", norm.MeanSHA256, r.MeanSHA256), sameFile("std", norm.StdSHA256, r.StdSHA256))
}

// ofTemplate is the task of a property of a file whose boxes are relative to points.
func (f *files) ofTemplate(r *record.Record, path string, post *posterior.Posterior) (*property.Task, error) {
	if err := there(r.Template, ""); err != nil {
		return nil, err
	}
	_, outputs, err := f.shape(r, post)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%d %d %q", post.Inputs(), outputs, r.Template)
	of, err := kept(f, &f.templates, key, func() (*templates, error) {
		list, digest, err := property.ReadTemplates(r.Template, post.Inputs(), outputs)
		return &templates{list, digest}, err
	})
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	switch {
	case r.Eps != "" || r.Norm != "":
		return nil, fmt.Errorf("eps: the boxes of %s say how far points move", r.Template)
	case of.sha256 != r.TemplateSHA256:
		return nil, fmt.Errorf("template: %s has the digest %.16s, the record was made from %.16s", r.Template, of.sha256, r.TemplateSHA256)
	case r.TemplateEntry == nil || *r.TemplateEntry < 0 || *r.TemplateEntry >= len(of.list):
		return nil, fmt.Errorf("template_entry: %s has %d properties", r.Template, len(of.list))
	}
	template := of.list[*r.TemplateEntry]
	switch {
	case template.Name != r.Name:
		return nil, fmt.Errorf("name: it is %.40q, the file says %.40q", r.Name, template.Name)
	case template.Words() != r.Property:
		return nil, fmt.Errorf("property: it is %.40q, the file says %.40q", r.Property, template.Words())
	case template.ByLabel && r.Label == nil:
		return nil, errors.New("label: there is none, the property is about the class of the point")
	}
	points, err := f.pointsOf(r, path, post)
	if err != nil {
		return nil, err
	}
	region, err := f.region(r, post.Inputs())
	if err != nil {
		return nil, err
	}
	t, label := &property.Task{Index: r.Index, Name: r.Name}, -1
	if r.Label != nil {
		label = *r.Label
	}
	if t.S, t.Label, err = template.Safe(label); err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	return t, f.around(r, t, points, template.Around(region), post)
}
