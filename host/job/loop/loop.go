// Package loop runs jobs of closed loops: cells are chosen, certified as properties of a file that is
// kept, and what follows for the loop is written.
package loop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"psafe/host/arith"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/loop"
	"psafe/host/read/plant"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/outfile"
)

// Job describes what psafe loop does.
type Job struct {
	// Plant is the plant file.
	Plant string
	// Certify is how cells are certified: the posterior, the devices, and to which file the result goes. That
	// is the result of the loop; records and cells go beside it.
	Certify certify.Job
	// Draws is how many networks are drawn for an upper bound, which is statistical and holds with Confidence; Seed draws
	// them. None are where PLower leaves less than half a network of so many to be found.
	Draws      int
	Confidence float64
	Seed       uint64
	// Planning and Drawing, if set, hear how many networks have been drawn, for the plan and for the upper bound.
	Planning, Drawing func(done, total int)
}

// The draws of psafe loop if nobody says others.
const (
	DefaultDraws      = 1000
	DefaultConfidence = 0.99
	mostDraws         = 1_000_000
)

// CellsSuffix and RecordsSuffix are put behind the name of the result: the property file of the cells, and their records.
const (
	CellsSuffix   = ".cells.json"
	RecordsSuffix = ".jsonl"
)

// Result is the file of a loop's result, what is proved and what it rests on. psafe check proves it again.
type Result struct {
	// Loop is the semantics, plant.Once or plant.EachStep.
	Loop string `json:"loop"`
	// PLower is a lower bound, and Statement says of what.
	PLower    record.Down `json:"p_lower"`
	Statement string      `json:"statement"`
	// Why says why nothing is proved.
	Why string `json:"why,omitempty"`
	// Statistical says how many drawn networks surely break the statement (each-step: trajectories, from one start), and
	// bounds the probability by that; of what keeps to it it says nothing. Seed drew them. Left names cells of the start
	// set that such trajectories begin in.
	Statistical *record.Statistical `json:"statistical,omitempty"`
	Seed        uint64              `json:"seed,omitempty"`
	Left        []string            `json:"left,omitempty"`
	// Steps is the number of steps that PLower is about; 0 is for all time, with a goal for once the steps after which all are
	// there.
	Steps int `json:"steps,omitempty"`
	// Grid counts all cells, Certified those of which records are, Used those that PLower rests on.
	Grid      int `json:"grid"`
	Certified int `json:"certified"`
	Used      int `json:"used"`

	Plant       string `json:"plant"`
	PlantSHA256 string `json:"plant_sha256"`
	// Cells is the property file, Records the result file; both are empty where no cell was certified.
	Cells           string `json:"cells,omitempty"`
	CellsSHA256     string `json:"cells_sha256,omitempty"`
	Records         string `json:"records,omitempty"`
	PosteriorSHA256 string `json:"posterior_sha256"`
	// PosteriorScale to Activations say what was made of that file, as the records do.
	PosteriorScale    string   `json:"posterior_scale,omitempty"`
	PosteriorSD       string   `json:"posterior_sd,omitempty"`
	PosteriorSDSHA256 string   `json:"posterior_sd_sha256,omitempty"`
	Activations       []string `json:"activations,omitempty"`
	Version           string   `json:"version"`
	Numerics          int      `json:"numerics"`
	Guarantee         string   `json:"guarantee"`
}

// Fresh reports whether the network is drawn anew at each step.
func (r *Result) Fresh() bool { return r.Loop == plant.EachStep }

// Run does the job. Errors are those of certify.Job.Each, or name the plant file.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	out := &j.Certify.Out
	paths := [2]string{out.Path + CellsSuffix, out.Path + RecordsSuffix}
	if err := j.refuse(paths); err != nil {
		return nil, err
	}
	p, err := plant.Read(j.Plant)
	if err != nil {
		return nil, err
	}
	post, err := j.Certify.Posterior.Read()
	if err != nil {
		return nil, err
	}
	if post.Inputs() != len(p.Inputs) || post.Outputs() != len(p.Outputs) {
		return nil, fmt.Errorf("%s: the network has %d inputs and %d outputs, %s has %d and %d: name as many in the plant file",
			j.Plant, len(p.Inputs), len(p.Outputs), j.Certify.Posterior.Path, post.Inputs(), post.Outputs())
	}
	if err := post.RequireNetworks(); err != nil {
		return nil, fmt.Errorf("%s: %w", j.Certify.Posterior.Path, err)
	}
	r := &Result{
		Loop: p.Semantics(), Grid: p.Cells(), Plant: j.Plant, PlantSHA256: p.SHA256,
		PosteriorSHA256: post.Source.SHA256, Version: j.Certify.Version, Numerics: prove.Numerics, Guarantee: record.Guarantee,
	}
	if by := j.Certify.Method.By; by == nil || *by == prove.Auto { // what auto tries after clbp takes long, for thousands of cells
		method := prove.CLBP
		if post.Networks() != nil {
			method = prove.Finite
		}
		j.Certify.Method.By = &method
	}
	if by := *j.Certify.Method.By; by.OfBoxes() || by == prove.Statistical {
		return nil, fmt.Errorf("--method %v draws boxes or networks, and is not for cells: leave --method out", by)
	}
	l := loop.New(p)
	for _, tell := range []*func(int, int){&j.Planning, &j.Drawing} {
		if *tell == nil {
			*tell = func(int, int) {}
		}
	}
	cells, err := l.Plan(ctx, post, j.Planning)
	if err != nil {
		return nil, err
	}
	if j.Certify.Note != nil {
		planned := &Planned{Certified: len(cells), Dropped: p.Cells() - len(cells)}
		for _, c := range cells {
			planned.Boxes += len(c.Rings)
		}
		j.Certify.Note(planned)
	}
	var proved loop.Result
	if len(cells) > 0 {
		text := propertyFile(p, cells)
		r.Cells, r.Records, r.CellsSHA256 = paths[0], paths[1], fmt.Sprintf("%x", sha256.Sum256(text))
		if err := outfile.WriteFile(paths[0], j.old(), text, j.inputs()...); err != nil {
			return nil, fmt.Errorf("--out %w", err)
		}
		if err := j.certify(ctx, p, cells, r); err != nil {
			return nil, err
		}
	}
	if p.Fresh {
		proved = l.EachStep(cells)
	} else {
		proved = l.Once(cells)
	}
	r.fill(p, &proved, len(cells))
	if err := j.draw(ctx, r, l, post); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := outfile.WriteFile(out.Path, j.old(), append(text, '\n'), j.inputs()...); err != nil {
		return nil, fmt.Errorf("--out %w", err)
	}
	return r, nil
}

// fill says what is proved.
func (r *Result) fill(p *plant.Plant, proved *loop.Result, cells int) {
	r.PLower, r.Why, r.Certified, r.Used = record.Down(proved.Lower), proved.Why, cells, len(proved.Cells)
	if r.Steps = p.Steps; !p.Fresh && p.Goal != nil && len(proved.Ranks) > 0 {
		r.Steps = slices.Max(proved.Ranks)
	}
	r.Statement = Statement(p, r.Steps, r.PLower > 0)
}

// draw bounds the probability from above by drawn networks, if there are starts to try. A bound from below that these
// contradict is an error.
func (j *Job) draw(ctx context.Context, r *Result, l *loop.Loop, post *posterior.Posterior) error {
	if float64(j.Draws)*(1-float64(r.PLower)) < 0.5 {
		return nil
	}
	found, err := l.Leave(ctx, post, loop.Draws{Networks: j.Draws, Seed: j.Seed}, r.Steps, j.Drawing)
	if err != nil || found.Networks == 0 {
		return err
	}
	s := claim.NewStatistic(found.Networks, 0, found.Left, j.Confidence)
	if most := s.Most(); float64(r.PLower) > most {
		return fmt.Errorf("%s: p_lower %v is above %v, the limit of drawn networks at confidence 1 - 1e-9: they contradict each other, and nothing is written", j.Plant, r.PLower, most)
	}
	r.Statistical, r.Seed = record.NewStatistical(s, record.LoopStatement), j.Seed
	at := make([]int, len(l.State))
	for _, c := range found.Cells {
		l.Cell(c, at)
		r.Left = append(r.Left, plant.CellName(at))
	}
	return nil
}

// Statement says in words what the probability is of. Of a goal once that nothing is proved of steps may be 0: then it is
// reached at any time.
func Statement(p *plant.Plant, steps int, proved bool) string {
	who := "over one draw of the network, which is kept: every trajectory from every start"
	if p.Fresh {
		who = "over a fresh draw of the network at each step, from each start by itself: the trajectory"
	}
	what := "stays safe for all time"
	switch {
	case p.Goal != nil && steps == 0 && !proved:
		what = "reaches the goal and is safe until then"
	case p.Goal != nil:
		what = fmt.Sprintf("reaches the goal within %d steps and is safe until then", steps)
	case p.Fresh:
		what = fmt.Sprintf("stays safe for %d steps", steps)
	}
	return p.Semantics() + ": " + who + " " + what
}

func (j *Job) old() outfile.Old {
	switch {
	case j.Certify.Out.Overwrite:
		return outfile.Replace
	case j.Certify.Out.Resume:
		return outfile.Same
	}
	return outfile.Keep
}

func (j *Job) inputs() []string { return []string{j.Plant, j.Certify.Posterior.Path} }

// refuse says which of the files cannot be written, before anything is read.
func (j *Job) refuse(paths [2]string) error {
	switch {
	case j.Draws < 0 || j.Draws > mostDraws:
		return fmt.Errorf("--draws %d is not from 0, which draws none, to %d", j.Draws, mostDraws)
	case j.Draws > 0 && !(j.Confidence > 0 && j.Confidence < 1):
		return fmt.Errorf("--options confidence=%v is not between 0 and 1", j.Confidence)
	case j.Certify.Out.Path == "":
		return fmt.Errorf("--out is missing: name a file for the result, as in --out loop.json")
	}
	for _, path := range append(paths[:1:1], j.Certify.Out.Path) {
		old := j.old()
		if old == outfile.Same { // compared when it is written
			old = outfile.Replace
		}
		if err := outfile.Refuse(path, old, j.inputs()...); err != nil {
			return fmt.Errorf("--out %w", err)
		}
	}
	return nil
}

// mostCells is how many parts a cell of the grid may be cut into. More would be spent on cells near the rim of a closed set alone,
// whose boxes of outputs are narrow.
const mostCells = 16

// certify sets P of the rings of all cells to what records prove of them, and says in the result of which posterior they are.
func (j *Job) certify(ctx context.Context, p *plant.Plant, cells []loop.Cell, result *Result) error {
	tasks, err := property.ReadFile(result.Cells, len(p.Outputs))
	if err != nil {
		return err
	}
	var rings []*loop.Ring
	at := make([]int, len(p.State))
	for c := range cells {
		for k := range cells[c].Rings {
			p.Cell(cells[c].Number, at)
			if i := len(rings); !isAbout(p, &tasks[i], at, cells[c].Rings[k].Out) {
				panic("loop: property " + tasks[i].Name + " is not what was written")
			}
			cells[c].Rings[k].P = 0
			rings = append(rings, &cells[c].Rings[k])
		}
	}
	inner := j.Certify
	inner.Out.Path = result.Records
	inner.Tasks = certify.Tasks{File: result.Cells}
	inner.Method.NoUpper, inner.Method.Each = true, p.Fresh
	parts := mostCells
	if p.Fresh { // narrow rings hold with no high probability, however finely their cells are cut
		parts = 1
	}
	inner.Method.Cells = &parts
	return inner.Each(ctx, func(r *record.Record) {
		result.PosteriorScale, result.PosteriorSD, result.PosteriorSDSHA256, result.Activations = r.PosteriorScale, r.PosteriorSD, r.PosteriorSDSHA, r.Activations
		if r.Task < len(rings) {
			rings[r.Task].P = boundOf(p, r)
		}
	})
}

// boundOf is what a record proves of its ring, as the record writes it, which psafe check takes.
func boundOf(p *plant.Plant, r *record.Record) float64 {
	bound := float64(r.PLower)
	if p.Fresh {
		bound = 0
		if r.EachLower != nil {
			bound = float64(*r.EachLower)
		}
	}
	d, err := property.NewDecimal(record.Down(bound).Exact().String())
	if err != nil {
		return 0
	}
	return d.Lo
}

// isAbout reports whether a property that was read is about all of a cell, and its safe set is within the box of outputs.
func isAbout(p *plant.Plant, t *property.Task, at []int, out []arith.Interval) bool {
	if len(t.T) != 1 || len(t.T[0].Lo) != len(p.Inputs) || len(t.S.Any) != 1 || len(t.S.Any[0]) != 2*len(out) || len(t.S.Rows) != 2*len(out) {
		return false
	}
	for k, i := range p.Inputs {
		e := p.State[i].Edges
		if !(t.T[0].Lo[k] <= e[at[i]] && t.T[0].Hi[k] >= e[at[i]+1]) {
			return false
		}
	}
	within := make([][2]bool, len(out))
	for _, row := range t.S.Rows {
		for o, c := range row.CLo {
			switch {
			case c == 0:
			case c == 1 && row.CHi[o] == 1 && -row.D >= out[o].Lo:
				within[o][0] = true
			case c == -1 && row.CHi[o] == -1 && row.D <= out[o].Hi:
				within[o][1] = true
			default:
				return false
			}
		}
	}
	return !slices.ContainsFunc(within, func(w [2]bool) bool { return !w[0] || !w[1] })
}

// propertyFile has a property for each ring of each cell: an output box for the cell's inputs. All numbers are written exactly.
func propertyFile(p *plant.Plant, cells []loop.Cell) []byte {
	var b bytes.Buffer
	b.WriteString("{\"properties\": [\n")
	at := make([]int, len(p.State))
	for c := range cells {
		p.Cell(cells[c].Number, at)
		for k := range cells[c].Rings {
			if c+k > 0 {
				b.WriteString(",\n")
			}
			name := plant.CellName(at)
			if p.Fresh {
				name += " ring " + strconv.Itoa(k)
			}
			fmt.Fprintf(&b, " {\"name\": %q, \"kind\": \"output_box\", \"output\": [", name)
			for o, v := range cells[c].Rings[k].Out {
				comma(&b, o)
				pair(&b, v)
			}
			b.WriteString("], \"boxes\": [[")
			for j, i := range p.Inputs {
				comma(&b, j)
				pair(&b, arith.Of(p.State[i].Edges[at[i]], p.State[i].Edges[at[i]+1]))
			}
			b.WriteString("]]}")
		}
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}

func comma(b *bytes.Buffer, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

func pair(b *bytes.Buffer, v arith.Interval) {
	fmt.Fprintf(b, "[%s, %s]", decimal(v.Lo), decimal(v.Hi))
}

// decimal writes a float64 exactly, as all are that have few bits behind the point.
func decimal(x float64) string {
	digits := 0
	for y := x; y != math.Trunc(y) && digits < 1074; y *= 2 {
		digits++
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}
