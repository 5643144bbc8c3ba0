package check

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"psafe/host/check/average"
	"psafe/host/check/record"
	"psafe/host/read/inputlaw"
	"psafe/host/read/property"
)

// averaged is the result file of cells and a law of inputs, as psafe map --input-law writes it.
type averaged struct {
	InputLaw  string          `json:"input_law"`
	SHA256    string          `json:"input_law_sha256,omitempty"`
	Property  string          `json:"property"`
	PLower    *record.Decimal `json:"p_lower"`
	PUpper    *record.Decimal `json:"p_upper"`
	Statement string          `json:"statement"`
	Mass      *record.Decimal `json:"mass"`
	Cells     int             `json:"cells"`
	Sample    *sampled        `json:"statistical,omitempty"`
	Parts     []averagedPart  `json:"parts"`

	PosteriorSHA256   string   `json:"posterior_sha256"`
	PosteriorScale    string   `json:"posterior_scale"`
	PosteriorSD       string   `json:"posterior_sd,omitempty"`
	PosteriorSDSHA256 string   `json:"posterior_sd_sha256,omitempty"`
	Activations       []string `json:"activations"`
	FeaturesOf        string   `json:"features_of,omitempty"`
	Mean              string   `json:"mean,omitempty"`
	MeanSHA256        string   `json:"mean_sha256,omitempty"`
	Std               string   `json:"std,omitempty"`
	StdSHA256         string   `json:"std_sha256,omitempty"`

	Version   string `json:"version"`
	Numerics  int    `json:"numerics"`
	Guarantee string `json:"guarantee"`
}

type averagedPart struct {
	Cells       string `json:"cells"`
	CellsSHA256 string `json:"cells_sha256"`
	Records     string `json:"records"`
}

// sampled are bounds for the law that a sample is of.
type sampled struct {
	Points     int             `json:"points"`
	Confidence *record.Decimal `json:"confidence"`
	Lower      *record.Decimal `json:"lower"`
	Upper      *record.Decimal `json:"upper"`
	Statement  string          `json:"statement"`
}

// What a result says that its bounds are of.
const (
	averageStatement = "over an input of the law and a network of the posterior, independent of each other: the output is in S"
	sampleStatement  = "statistical, no certificate: the same over the law that the sample was drawn of, independently, if no cell was chosen by the sample"
)

// AverageText reads a result file if it is that of a law of inputs, and nil if it is another.
func AverageText(path string) ([]byte, error) {
	text, err := wholeText(path)
	var begin struct {
		InputLaw *string `json:"input_law"`
	}
	if err != nil || json.Unmarshal(text, &begin) != nil || begin.InputLaw == nil {
		return nil, nil
	}
	return text, nil
}

// Average proves the result of a law of inputs again: the records of all cells, as Check does, of which each is told, and what
// follows. refused says what is wrong; an error is that of Check.
func (c *Checker) Average(ctx context.Context, text []byte, each func()) (refused, err error) {
	var r averaged
	if err := record.Strictly(text, &r); err != nil {
		return err, nil
	}
	if err := r.formed(); err != nil {
		return err, nil
	}
	if path := inputlaw.File(r.InputLaw); path != "" {
		if err := there(path, ""); err != nil {
			return nil, err
		}
	}
	l, err := inputlaw.Read(r.InputLaw)
	switch {
	case err != nil:
		return fmt.Errorf("input_law: %w", err), nil
	case l.SHA256 != r.SHA256:
		return fmt.Errorf("input_law: its file has the digest %.16q, the result was made from %.16q", l.SHA256, r.SHA256), nil
	}
	m := lawCells{result: &r, by: map[string]*average.Cell{}}
	for i := range r.Parts {
		if refused, err := c.lawPart(ctx, &m, &r.Parts[i], each); refused != nil || err != nil {
			return refused, err
		}
	}
	b, err := average.Of(l, m.leaves())
	switch {
	case err != nil:
		return err, nil
	case len(m.leaves()) != r.Cells:
		return fmt.Errorf("cells: there are %d, records are of %d", r.Cells, len(m.leaves())), nil
	case b.Lower.Cmp(r.PLower.Rat()) < 0:
		return fmt.Errorf("p_lower: it is %v, proved is %s", r.PLower, b.Lower.FloatString(12)), nil
	case b.Upper.Cmp(r.PUpper.Rat()) > 0 && !r.PUpper.Is(1):
		return fmt.Errorf("p_upper: it is %v, proved is %s", r.PUpper, b.Upper.FloatString(12)), nil
	case b.Mass.Cmp(r.Mass.Rat()) < 0:
		return fmt.Errorf("mass: it is %v, proved is %s", r.Mass, b.Mass.FloatString(12)), nil
	}
	return r.Sample.follows(l, b), nil
}

// formed checks what a result says by itself.
func (r *averaged) formed() error {
	for _, p := range []struct {
		name string
		of   *record.Decimal
	}{{"p_lower", r.PLower}, {"p_upper", r.PUpper}, {"mass", r.Mass}} {
		if p.of == nil || p.of.Lo < 0 || p.of.Hi > 1 {
			return fmt.Errorf("%s: it is no probability", p.name)
		}
	}
	switch {
	case r.PLower.Cmp(r.PUpper.Exact) > 0:
		return fmt.Errorf("p_lower: it is %v, above p_upper %v", r.PLower, r.PUpper)
	case r.Statement != averageStatement:
		return fmt.Errorf("statement: it is %.80q", r.Statement)
	case r.Guarantee != record.Guarantee:
		return fmt.Errorf("guarantee: it is %.80q", r.Guarantee)
	case len(r.Parts) == 0:
		return fmt.Errorf("parts: there are none")
	}
	return nil
}

// follows checks bounds by Hoeffding's inequality.
func (s *sampled) follows(l *inputlaw.Law, b *average.Bounds) error {
	if (s != nil) != (l.Sample > 0) {
		return fmt.Errorf("statistical: there are %d points of a sample", l.Sample)
	}
	switch {
	case s == nil:
		return nil
	case s.Points != l.Sample || s.Statement != sampleStatement:
		return fmt.Errorf("statistical: it says %d points and %.40q, the sample has %d", s.Points, s.Statement, l.Sample)
	case s.Confidence == nil || s.Confidence.Lo <= 0 || s.Confidence.Hi >= 1 || s.Lower == nil || s.Upper == nil || s.Lower.Lo < 0 || s.Upper.Hi > 1:
		return fmt.Errorf("statistical: confidence and bounds are no probabilities")
	case !s.Lower.Is(0) && !average.Hoeffding(l.Sample, new(big.Rat).Sub(b.Lower, s.Lower.Rat()), s.Confidence.Rat()):
		return fmt.Errorf("statistical: lower is %v, which does not follow", s.Lower)
	case !s.Upper.Is(1) && !average.Hoeffding(l.Sample, new(big.Rat).Sub(s.Upper.Rat(), b.Upper), s.Confidence.Rat()):
		return fmt.Errorf("statistical: upper is %v, which does not follow", s.Upper)
	}
	return nil
}

// lawCells are cells by their names, and S.
type lawCells struct {
	result *averaged
	by     map[string]*average.Cell
	names  []string
	safe   *property.Safe
}

// Names of halves are that of their parent with these behind it, that of a property that S fails has failing.
var halves = [2]string{"/0", "/1"}

const failing = " fails"

// leaves are the cells that were not cut.
func (m *lawCells) leaves() (list []average.Cell) {
	for _, name := range m.names {
		if m.by[name+halves[0]] == nil && m.by[name+halves[1]] == nil {
			list = append(list, *m.by[name])
		}
	}
	return list
}

// lawPart proves the records of a part and takes in what they say of cells.
func (c *Checker) lawPart(ctx context.Context, m *lawCells, p *averagedPart, each func()) (refused, err error) {
	for _, path := range []string{p.Cells, p.Records} {
		if err := there(path, ""); err != nil {
			return nil, err
		}
	}
	var tasks []property.Task
	said := map[int]bool{}
	return c.recordsOf(ctx, p.Records, each, func(line []byte) error {
		of, err := record.Parse(line)
		if err != nil {
			return err
		}
		if tasks == nil {
			if tasks, err = m.tasks(c, of, p); err != nil {
				return err
			}
		}
		if of.Index < 0 || of.Index >= len(tasks) || said[of.Index] {
			return fmt.Errorf("index: %d is none of the %d cells, or there twice", of.Index, len(tasks))
		}
		said[of.Index] = true
		return m.take(of, p, &tasks[of.Index])
	})
}

// tasks are the properties of a part, by a record that says of how many outputs.
func (m *lawCells) tasks(c *Checker, of *record.Record, p *averagedPart) ([]property.Task, error) {
	post, err := c.files.posterior(of, c.Given)
	if err != nil {
		return nil, err
	}
	if m.safe == nil {
		s, _, err := property.ParseSpec(m.result.Property, post.Outputs())
		if err != nil {
			return nil, err
		}
		m.safe = &s
	}
	tasks, err := property.ReadFile(p.Cells, post.Outputs())
	switch {
	case err != nil:
		return nil, err
	case tasks[0].FileSHA256 != p.CellsSHA256:
		return nil, fmt.Errorf("cells: %s has the digest %.16s, the result was made from %.16s", p.Cells, tasks[0].FileSHA256, p.CellsSHA256)
	}
	return tasks, nil
}

// take takes the bound of a record that has been proved: of S at each input of a cell, or of a set apart from S. What is proved of a
// cell holds for its halves.
func (m *lawCells) take(of *record.Record, p *averagedPart, t *property.Task) error {
	r := m.result
	switch {
	case of.InputsSHA256 != p.CellsSHA256 || of.Template != "" || of.Eps != "":
		return fmt.Errorf("inputs_sha256: the record is not about the cells of the result")
	case of.PosteriorSHA256 != r.PosteriorSHA256, of.Predictive != "", of.InputNoise != "", of.Relation != "", of.Other != "", of.PosteriorScale != r.PosteriorScale,
		of.PosteriorSD != r.PosteriorSD, of.PosteriorSDSHA != r.PosteriorSDSHA256, !slices.Equal(of.Activations, r.Activations), of.FeaturesOf != r.FeaturesOf,
		of.Mean != r.Mean, of.MeanSHA256 != r.MeanSHA256, of.Std != r.Std, of.StdSHA256 != r.StdSHA256:
		return fmt.Errorf("posterior: it is another than that of the result, or reads inputs otherwise")
	case of.EachLower == nil:
		return fmt.Errorf("each_lower: it is missing")
	case len(t.T) != 1:
		return fmt.Errorf("cells: %.40q has %d boxes", t.Name, len(t.T))
	}
	name, fails := strings.CutSuffix(t.Name, failing)
	switch {
	case !fails && !reflect.DeepEqual(&t.S, m.safe):
		return fmt.Errorf("cells: the safe set of %.40q is not the property of the result", t.Name)
	case fails && !apart(m.safe, &t.S):
		return fmt.Errorf("cells: the safe set of %.40q is not outside of the property of the result", t.Name)
	}
	cell := m.by[name]
	if cell == nil {
		cell = &average.Cell{Box: t.T[0], Safe: new(big.Rat), Fails: new(big.Rat)}
		for _, half := range halves {
			if parent := m.by[strings.TrimSuffix(name, half)]; parent != nil && average.Within(&cell.Box, &parent.Box) {
				cell.Safe.Set(parent.Safe)
				cell.Fails.Set(parent.Fails)
			}
		}
		m.by[name], m.names = cell, append(m.names, name)
	}
	if !average.Within(&cell.Box, &t.T[0]) {
		return fmt.Errorf("cells: %.40q has another box than its cell", t.Name)
	}
	bound := &cell.Safe
	if fails {
		bound = &cell.Fails
	}
	if proved := of.EachLower.Rat(); proved.Cmp(*bound) > 0 {
		*bound = proved
	}
	return nil
}

// apart reports whether two sets have no output in common: other is an AND of rows, of which one goes against one of each
// alternative of s, so that both together are below 0.
func apart(s, other *property.Safe) bool {
	rows, ok := other.Conjunction()
	if !ok {
		return false
	}
	for _, all := range s.Any {
		if !slices.ContainsFunc(all, func(m int) bool {
			return m >= 0 && slices.ContainsFunc(rows, func(r int) bool { return against(&s.Rows[m], &other.Rows[r]) })
		}) {
			return false
		}
	}
	return true
}

// against reports whether the sum of two rows is a number below 0, so that not both hold.
func against(a, b *property.Row) bool {
	for k := range a.CLo {
		if a.CLo[k] != a.CHi[k] || b.CLo[k] != b.CHi[k] || a.CLo[k] != -b.CLo[k] {
			return false
		}
	}
	return a.DHi+b.DHi < 0
}
