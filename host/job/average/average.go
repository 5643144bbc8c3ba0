// Package average bounds how likely networks and inputs of a law are safe together, by records of cells
package average

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/read/inputlaw"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/outfile"
)

// Job is about cells that have been certified.
type Job struct {
	// Text is the law as it was typed, Law what it says; Property are the words for S.
	Text     string
	Law      *inputlaw.Law
	Property string
	// Posterior chooses rows that may fail, and gives how many outputs there are.
	Posterior *posterior.Posterior
	// Cells is the property file, Records that of the records; names of files beside it begin with it.
	Cells, Records string
	// Splits is how many cells may be cut in two.
	Splits int
	// Confidence is that of what is said of the law that a sample is of.
	Confidence float64
	// Certify makes the records of a property file, with each_lower.
	Certify func(ctx context.Context, cells, records string) error
	// Old says what becomes of files that are there, Inputs which are not written to.
	Old    outfile.Old
	Inputs []string
	// Version and Numerics name the program.
	Version  string
	Numerics int

	cells  []cell
	all    property.Box // that has all cells
	result Result
}

// ResultSuffix is put behind the name of the records.
const ResultSuffix = ".law.json"

// Statement says what the bounds are of.
const Statement = "over an input of the law and a network of the posterior, independent of each other: the output is in S"

// SampleStatement says what the bounds by a sample are of.
const SampleStatement = "statistical, no certificate: the same over the law that the sample was drawn of, independently, if no cell was chosen by the sample"

// Result is the file of what follows of cells. psafe check proves it again.
type Result struct {
	InputLaw  string      `json:"input_law"`
	SHA256    string      `json:"input_law_sha256,omitempty"`
	Property  string      `json:"property"`
	PLower    record.Down `json:"p_lower"`
	PUpper    record.Up   `json:"p_upper"`
	Statement string      `json:"statement"`
	// Mass is a lower bound of that of all cells; what is outside of them counts as unsafe in PLower and as safe in PUpper.
	Mass   record.Down `json:"mass"`
	Cells  int         `json:"cells"`
	Sample *Sample     `json:"statistical,omitempty"`
	Parts  []Part      `json:"parts"`

	PosteriorSHA256 string `json:"posterior_sha256"`
	// PosteriorScale to StdSHA256 say what was made of that file and of inputs, as the records do.
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

// Sample holds bounds for the law that a sample is of, by Hoeffding's inequality.
type Sample struct {
	Points     int         `json:"points"`
	Confidence float64     `json:"confidence"`
	Lower      record.Down `json:"lower"`
	Upper      record.Up   `json:"upper"`
	Statement  string      `json:"statement"`
}

// Part names a property file and its records.
type Part struct {
	Cells       string `json:"cells"`
	CellsSHA256 string `json:"cells_sha256"`
	Records     string `json:"records"`
}

// cell is a box and what is proved of each x in it: with probability lower the output is in S, with probability fails it is
// not.
type cell struct {
	name         string
	box          property.Box
	mass         float64
	lower, fails float64
}

func (c *cell) open() float64 { return c.mass * (1 - c.lower - c.fails) }

// Fails is behind the name of a cell where the property is that S fails there, Halves are behind those of a cell's halves.
const Fails = " fails"

var halves = [2]string{"/0", "/1"}

// Run bounds P, writes the result beside the records and returns it.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	if j.Splits > 0 && j.Law.Sides == nil {
		return nil, fmt.Errorf("--splits: the masses of halves are known of laws of single inputs alone: leave it out")
	}
	s, _, err := property.ParseSpec(j.Property, j.Posterior.Outputs())
	if err != nil {
		return nil, err
	}
	if err := j.read(Part{Cells: j.Cells, Records: j.Records}); err != nil {
		return nil, err
	}
	all := property.Box{Lo: slices.Clone(j.cells[0].box.Lo), Hi: slices.Clone(j.cells[0].box.Hi)}
	for _, c := range j.cells {
		for i, hi := range c.box.Hi {
			all.Lo[i], all.Hi[i] = min(all.Lo[i], c.box.Lo[i]), max(all.Hi[i], hi)
		}
	}
	j.all = all
	j.weigh()
	if err := j.part(ctx, j.failing(&s, j.cells)); err != nil {
		return nil, err
	}
	for left := j.Splits; left > 0; {
		children := j.split(left)
		if len(children) == 0 {
			break
		}
		left -= len(children) / len(halves)
		if err := j.part(ctx, append(j.safeCells(children), j.failing(&s, children)...)); err != nil {
			return nil, err
		}
	}
	if err := j.sum(); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(&j.result, "", "  ")
	if err != nil {
		return nil, err
	}
	return &j.result, outfile.WriteFile(j.Records+ResultSuffix, j.Old, append(text, '\n'), j.Inputs...)
}

// weigh sets the masses of cells of a law with sides.
func (j *Job) weigh() {
	for i := range j.cells {
		if c := &j.cells[i]; j.Law.Sides != nil {
			c.mass = massDown(j.Law, &c.box, j.all.Hi)
		}
	}
}

// sum adds up what is proved.
func (j *Job) sum() error {
	lower, fails, mass := 0.0, 0.0, 0.0
	add := func(m, safe, not float64) {
		mass = arith.SumDown(mass, m)
		lower = arith.SumDown(lower, arith.ProductDown(m, safe))
		fails = arith.SumDown(fails, arith.ProductDown(m, not))
	}
	for _, c := range j.cells {
		if j.Law.Sides != nil {
			add(c.mass, c.lower, c.fails)
		}
	}
	for _, item := range j.Law.Items {
		found, safe, not := false, 0.0, 0.0
		for i := range j.cells {
			if c := &j.cells[i]; c.box.Contains(item.Box.Lo) && c.box.Contains(item.Box.Hi) {
				found, safe, not = true, max(safe, c.lower), max(not, c.fails)
			}
		}
		switch {
		case found && j.Law.Sample > 0: // each is one of so many
			add(1, safe, not)
		case found:
			add(item.Mass, safe, not)
		}
	}
	if n := j.Law.Sample; n > 0 {
		lower, fails, mass = parted(lower, n), parted(fails, n), parted(mass, n)
	}
	upper := min(arith.SumUp(1, -fails), 1)
	if lower > upper {
		return fmt.Errorf("%s: p_lower %v and p_upper %v contradict each other: nothing is written", j.Records, lower, upper)
	}
	r := &j.result
	r.InputLaw, r.SHA256, r.Property, r.Statement, r.Guarantee = j.Text, j.Law.SHA256, j.Property, Statement, record.Guarantee
	r.PLower, r.PUpper, r.Mass, r.Cells, r.Version, r.Numerics = record.Down(max(lower, 0)), record.Up(upper), record.Down(max(mass, 0)), len(j.cells), j.Version, j.Numerics
	if j.Law.Sample > 0 {
		off := hoeffding(j.Law.Sample, j.Confidence)
		r.Sample = &Sample{
			Points: j.Law.Sample, Confidence: j.Confidence, Statement: SampleStatement,
			Lower: record.Down(max(arith.Down(lower-off), 0)), Upper: record.Up(min(arith.Up(upper+off), 1)),
		}
	}
	return nil
}

// parted is x/n rounded down.
func parted(x float64, n int) float64 {
	q := x / float64(n)
	if arith.ProductUp(q, float64(n)) > x {
		q = arith.Down(q)
	}
	return q
}

// hoeffding is how far the mean of so many independent numbers from 0 to 1 may be from what is expected, on either side: no
// farther with this confidence, whose decimal is within 2^-53 of it.
func hoeffding(n int, confidence float64) float64 {
	miss := arith.SumDown(arith.SumDown(1, -confidence), -0x1p-53)
	if !(miss > 0) {
		return 1
	}
	return arith.SqrtUp(arith.Up(arith.LogUp(arith.Up(2/miss)) / float64(2*n)))
}

// part certifies more cells, if there are any.
func (j *Job) part(ctx context.Context, cells []property.Cell) error {
	if len(cells) == 0 {
		return nil
	}
	text, err := property.CellsFile(cells, nil)
	if err != nil {
		return err
	}
	name := j.Records + ".law-" + strconv.Itoa(len(j.result.Parts))
	p := Part{Cells: name + ".cells.json", Records: name + ".jsonl"}
	if err := outfile.WriteFile(p.Cells, j.Old, text, j.Inputs...); err != nil {
		return fmt.Errorf("--input-law: the cells in %w", err)
	}
	if err := j.Certify(ctx, p.Cells, p.Records); err != nil {
		return err
	}
	return j.read(p)
}

// read takes what records say of cells; those that are not there yet are added.
func (j *Job) read(p Part) error {
	tasks, err := property.ReadFile(p.Cells, j.Posterior.Outputs())
	if err != nil {
		return err
	}
	records, err := record.ReadFile(p.Records)
	if err != nil {
		return err
	}
	p.CellsSHA256 = tasks[0].FileSHA256
	j.result.Parts = append(j.result.Parts, p)
	j.result.about(records[0].Record)
	at := make(map[string]int, len(j.cells))
	for i, c := range j.cells {
		at[c.name] = i
	}
	for _, t := range tasks {
		name, fails := strings.CutSuffix(t.Name, Fails)
		if _, there := at[name]; !there && !fails {
			at[name] = len(j.cells)
			j.cells = append(j.cells, cell{name: name, box: t.T[0]})
		}
	}
	for _, r := range records {
		if r.Index < 0 || r.Index >= len(tasks) || r.EachLower == nil {
			return fmt.Errorf("%s: it is not about the cells of %s, or has no each_lower", r.Place(), p.Cells)
		}
		name, fails := strings.CutSuffix(tasks[r.Index].Name, Fails)
		d, err := property.NewDecimal(r.EachLower.Exact().String()) // as it is written, which psafe check takes
		if err != nil {
			return fmt.Errorf("%s: %w", r.Place(), err)
		}
		i, there := at[name]
		if !there {
			return fmt.Errorf("%s: it is about no cell", r.Place())
		}
		if c := &j.cells[i]; fails {
			c.fails = max(c.fails, d.Lo)
		} else {
			c.lower = max(c.lower, d.Lo) // that of a half is no less than that of its parent
		}
	}
	return nil
}

// about takes in what a record says of the posterior, and of how inputs are read.
func (r *Result) about(of *record.Record) {
	r.PosteriorSHA256, r.PosteriorScale, r.PosteriorSD, r.PosteriorSDSHA256 = of.PosteriorSHA256, of.PosteriorScale, of.PosteriorSD, of.PosteriorSDSHA
	r.Activations, r.FeaturesOf, r.Mean, r.MeanSHA256, r.Std, r.StdSHA256 = of.Activations, of.FeaturesOf, of.Mean, of.MeanSHA256, of.Std, of.StdSHA256
}

// split replaces the cells that leave most open by their halves, and returns these.
func (j *Job) split(most int) (children []cell) {
	slices.SortStableFunc(j.cells, func(a, b cell) int { return cmp.Compare(b.open(), a.open()) })
	n := min(most, max(len(j.cells)/4, 16), len(j.cells)) // so that parts are few
	var kept []cell
	for i, c := range j.cells {
		side := j.widest(&c.box)
		left, right := c.box.Halves(side)
		if i >= n || !(c.open() > 0) || left.Hi[side] == c.box.Hi[side] || left.Lo[side] == left.Hi[side] {
			kept = append(kept, c)
			continue
		}
		for k, box := range []property.Box{left, right} {
			h := cell{name: c.name + halves[k], box: box, lower: c.lower, fails: c.fails}
			h.mass = massDown(j.Law, &h.box, j.all.Hi)
			children = append(children, h)
		}
	}
	j.cells = append(kept, children...)
	return children
}

// middle is about what the network reads in the middle of a box, if the posterior's file says how inputs are normalised.
func (j *Job) middle(box property.Box) []float64 {
	if in := j.Posterior.Input; in.Mean != nil || in.Std != nil {
		if norm, err := property.NormOf(in.Mean, in.Std, j.Posterior.Inputs()); err == nil {
			if read, err := norm.Outer(box); err == nil {
				box = read
			}
		}
	}
	return box.CentreApprox()
}

// widest is the side of a box to be cut: that in which the density of the law, or the width, matters most.
func (j *Job) widest(b *property.Box) int {
	best, most := 0, -1.0
	for i := range b.Lo {
		if w := (b.Hi[i] - b.Lo[i]) / j.scale(i); w > most {
			best, most = i, w
		}
	}
	return best
}

// scale is about how wide the law of an input is.
func (j *Job) scale(i int) float64 {
	s := &j.Law.Sides[i]
	switch s.Kind {
	case inputlaw.Normal:
		return s.SD.Hi
	case inputlaw.Truncated:
		return min(s.SD.Hi, s.To.Hi-s.From.Lo)
	case inputlaw.Uniform:
		return s.To.Hi - s.From.Lo
	}
	return j.all.Hi[i] - j.all.Lo[i] // atoms have no width
}

// safeCells asks of cells whether outputs are in S.
func (j *Job) safeCells(cells []cell) (list []property.Cell) {
	for _, c := range cells {
		list = append(list, property.Cell{Name: c.name, Box: c.box, Words: j.Property})
	}
	return list
}

// failing asks, of cells where the mean network is not in S or little is proved, whether outputs are where S fails: of each
// alternative of S one row is turned round, the one that is worst in the middle.
func (j *Job) failing(s *property.Safe, cells []cell) (list []property.Cell) {
	turned := make([]property.Row, len(s.Rows))
	known := make([]bool, len(s.Rows))
	for r := range s.Rows {
		turned[r], known[r] = s.Rows[r].Outside()
	}
	for _, c := range cells {
		y := j.Posterior.LogitsApprox(j.middle(c.box))
		margin := make([]float64, len(s.Rows))
		for r, row := range s.Rows {
			margin[r] = row.D
			for k, v := range y {
				margin[r] += row.CLo[k] * v
			}
		}
		var rows []property.Row
		ok := len(s.Gates) == 0 && (s.MarginLo(margin) < 0 || c.lower < 0.5)
		for _, all := range s.Any {
			worst := -1
			for _, r := range all {
				if r >= 0 && known[r] && (worst < 0 || margin[r] < margin[worst]) {
					worst = r
				}
			}
			if ok = ok && worst >= 0; ok {
				rows = append(rows, turned[worst])
			}
		}
		if ok && len(rows) > 0 {
			list = append(list, property.Cell{Name: c.name + Fails, Box: c.box, Rows: rows})
		}
	}
	return list
}
