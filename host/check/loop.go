package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/check/loop"
	"psafe/host/check/record"
	"psafe/host/read/plant"
	"psafe/host/read/property"
	"psafe/internal/infile"
)

// looped is the result file of a closed loop, as psafe loop writes it.
type looped struct {
	Loop      string          `json:"loop"`
	PLower    *record.Decimal `json:"p_lower"`
	Statement string          `json:"statement"`
	Why       string          `json:"why,omitempty"`

	Statistical *record.Interval `json:"statistical,omitempty"`
	Seed        uint64           `json:"seed,omitempty"`
	Left        []string         `json:"left,omitempty"`

	Steps     int `json:"steps,omitempty"`
	Grid      int `json:"grid"`
	Certified int `json:"certified"`
	Used      int `json:"used"`

	Plant           string `json:"plant"`
	PlantSHA256     string `json:"plant_sha256"`
	Cells           string `json:"cells,omitempty"`
	CellsSHA256     string `json:"cells_sha256,omitempty"`
	Records         string `json:"records,omitempty"`
	PosteriorSHA256 string `json:"posterior_sha256"`

	PosteriorScale    string   `json:"posterior_scale,omitempty"`
	PosteriorSD       string   `json:"posterior_sd,omitempty"`
	PosteriorSDSHA256 string   `json:"posterior_sd_sha256,omitempty"`
	Activations       []string `json:"activations,omitempty"`

	Version   string `json:"version"`
	Numerics  int    `json:"numerics"`
	Guarantee string `json:"guarantee"`
}

// IsLoop reports whether a file is the result of a loop.
func IsLoop(text []byte) bool {
	var begin struct {
		Loop *string `json:"loop"`
	}
	return json.Unmarshal(text, &begin) == nil && begin.Loop != nil
}

// Loop proves the result of a closed loop again: the record of every cell, as Check does, of which each is told, and
// then what follows. refused says what is wrong; an error is that of Check.
func (c *Checker) Loop(ctx context.Context, text []byte, each func()) (refused, err error) {
	var r looped
	if err := record.Strictly(text, &r); err != nil {
		return err, nil
	}
	if r.PLower == nil || r.PLower.Lo < 0 || r.PLower.Hi > 1 {
		return fmt.Errorf("p_lower: it is no probability"), nil
	}
	if err := there(r.Plant, ""); err != nil {
		return nil, err
	}
	p, err := plant.Read(r.Plant)
	switch {
	case err != nil:
		return err, nil
	case p.SHA256 != r.PlantSHA256:
		return fmt.Errorf("plant: %s has the digest %.16s, the result was made from %.16s", r.Plant, p.SHA256, r.PlantSHA256), nil
	case p.Semantics() != r.Loop:
		return fmt.Errorf("loop: it is %.20q, the plant file says %s", r.Loop, p.Semantics()), nil
	case p.Fresh && r.Steps != p.Steps || !p.Fresh && p.Goal == nil && r.Steps != 0:
		return fmt.Errorf("steps: they are %d, the plant file says %d", r.Steps, p.Steps), nil
	case r.Steps < 0:
		return fmt.Errorf("steps: they are %d", r.Steps), nil
	case r.Statement != saysOf(p, r.Steps, !r.PLower.Is(0)):
		return fmt.Errorf("statement: it is not that of the plant file"), nil
	case r.Guarantee != record.Guarantee:
		return fmt.Errorf("guarantee: it is %.80q", r.Guarantee), nil
	case r.Grid != p.Cells() || r.Used < 0 || r.Used > r.Grid:
		return fmt.Errorf("grid: it has %d cells, of which %d are used; by the plant file there are %d", r.Grid, r.Used, p.Cells()), nil
	}
	if err := r.drawn(p); err != nil {
		return err, nil
	}
	switch {
	case r.PLower.Is(0):
		return nil, nil
	case r.Why != "":
		return fmt.Errorf("why: it says why nothing is proved, and p_lower is %v", r.PLower), nil
	}
	rings, refused, err := c.rings(ctx, &r, p, each)
	switch {
	case refused != nil || err != nil:
		return refused, err
	case r.Certified != len(rings):
		return fmt.Errorf("certified: it is %d, records are of %d cells", r.Certified, len(rings)), nil
	}
	lower, steps, err := loop.Lower(p, rings)
	switch {
	case err != nil:
		return err, nil
	case lower.Cmp(r.PLower.Rat()) < 0:
		f, _ := lower.Float64()
		return fmt.Errorf("p_lower: it is %v, proved is %v", r.PLower, f), nil
	case steps > r.Steps:
		return fmt.Errorf("steps: they are %d, proved are %d", r.Steps, steps), nil
	}
	return nil, nil
}

// drawn checks what the result says of drawn networks, as far as it can be known without them.
func (r *looped) drawn(p *plant.Plant) error {
	if r.Statistical == nil {
		if r.Left != nil || r.Seed != 0 {
			return fmt.Errorf("left: no networks were drawn")
		}
		return nil
	}
	if err := r.Statistical.OfLoop(r.PLower); err != nil {
		return err
	}
	if (len(r.Left) > 0) != (r.Statistical.Unsafe > 0) {
		return fmt.Errorf("left: %d cells, %d networks leave", len(r.Left), r.Statistical.Unsafe)
	}
	for _, name := range r.Left {
		if number, ok := p.CellOf(name); !ok || !loop.Starts(p, number) {
			return fmt.Errorf("left: %.40q is no cell of the start set", name)
		}
	}
	return nil
}

// saysOf is the statement that a lower bound is about.
func saysOf(p *plant.Plant, steps int, proved bool) string {
	text := "once: over one draw of the network, which is kept: every trajectory from every start "
	if p.Fresh {
		text = "each-step: over a fresh draw of the network at each step, from each start by itself: the trajectory "
	}
	switch {
	case p.Goal != nil && steps == 0 && !proved:
		return text + "reaches the goal and is safe until then"
	case p.Goal != nil:
		return text + fmt.Sprintf("reaches the goal within %d steps and is safe until then", steps)
	case p.Fresh:
		return text + fmt.Sprintf("stays safe for %d steps", steps)
	}
	return text + "stays safe for all time"
}

// rings proves the records of all cells and returns what they say, in the order of the properties.
func (c *Checker) rings(ctx context.Context, r *looped, p *plant.Plant, each func()) (rings map[int][]loop.Ring, refused, err error) {
	if r.Cells == "" && r.Records == "" { // the start set is within the goal
		return nil, nil, nil
	}
	for _, path := range []string{r.Cells, r.Records} {
		if err := there(path, ""); err != nil {
			return nil, nil, err
		}
	}
	tasks, err := property.ReadFile(r.Cells, len(p.Outputs))
	if err != nil {
		return nil, err, nil
	}
	if tasks[0].FileSHA256 != r.CellsSHA256 {
		return nil, fmt.Errorf("cells: %s has the digest %.16s, the result was made from %.16s", r.Cells, tasks[0].FileSHA256, r.CellsSHA256), nil
	}
	proved := make([]*big.Rat, len(tasks))
	var first *record.Record
	refused, err = c.recordsOf(ctx, r.Records, each, func(line []byte) error { return ofCell(line, r, p, proved, &first) })
	if refused != nil || err != nil {
		return nil, refused, err
	}
	rings = map[int][]loop.Ring{}
	for i := range tasks {
		if proved[i] == nil {
			return nil, fmt.Errorf("records: property %d has none", i), nil
		}
		number, ring, err := ringOf(p, &tasks[i])
		if err != nil {
			return nil, fmt.Errorf("cells: property %d: %w", i, err), nil
		}
		ring.P = proved[i]
		rings[number] = append(rings[number], ring)
	}
	return rings, nil, nil
}

// recordsOf proves the records of a file, as Check does, of which each is told, and hands every line to of, in their order; refused
// says what is wrong with the first that is not proved, or that of refuses.
func (c *Checker) recordsOf(ctx context.Context, path string, each func(), of func(line []byte) error) (refused, err error) {
	file, err := infile.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err), nil
	}
	defer file.Close()
	enough := errors.New("a record is refused")
	err = OnCores(ctx, c.Given, func(put Put) error {
		return Lines(file, func(n int, line []byte) error {
			line = bytes.Clone(line)
			return put(line, false, func(v Verdict, err error) error {
				if err != nil {
					return err
				}
				each()
				if refused = v.Refused; refused == nil {
					refused = of(line)
				}
				if refused != nil {
					refused = fmt.Errorf("%s: line %d: %w", path, n, refused)
					return enough
				}
				return nil
			})
		})
	})
	if refused != nil {
		return refused, nil
	}
	return nil, err
}

// ofCell takes the bound of a record that has been proved: of these cells, and of the posterior of the result, whose inputs
// are the coordinates themselves.
func ofCell(line []byte, r *looped, p *plant.Plant, proved []*big.Rat, first **record.Record) error {
	of, err := record.Parse(line)
	if err != nil {
		return err
	}
	if *first == nil {
		*first = of
	}
	one := *first
	switch {
	case of.InputsSHA256 != r.CellsSHA256 || of.Template != "" || of.Eps != "":
		return fmt.Errorf("inputs_sha256: the record is not about the cells of the result")
	case of.Index < 0 || of.Index >= len(proved):
		return fmt.Errorf("index: %d is none of the %d cells", of.Index, len(proved))
	case proved[of.Index] != nil:
		return fmt.Errorf("index: %d is there twice", of.Index)
	case of.PosteriorSHA256 != r.PosteriorSHA256, of.Predictive != "", of.PosteriorScale != r.PosteriorScale,
		of.InputNoise != "", of.Relation != "", of.Other != "", of.PosteriorSD != r.PosteriorSD, of.PosteriorSDSHA != r.PosteriorSDSHA256, !slices.Equal(of.Activations, r.Activations),
		of.Mean != one.Mean, of.MeanSHA256 != "", of.Std != one.Std, of.StdSHA256 != "", of.Mean != "" && of.Mean != "posterior", of.Std != of.Mean:
		return fmt.Errorf("posterior: it is another than that of the result, or has other inputs than the state")
	}
	bound := of.PLower
	if p.Fresh {
		if bound = of.EachLower; bound == nil {
			return fmt.Errorf("each_lower: it is missing, and draws are fresh at each step")
		}
	}
	proved[of.Index] = bound.Rat()
	return nil
}

// ringOf reads a property of a cell: its box covers the cell's inputs, its safe set is a box of outputs.
func ringOf(p *plant.Plant, t *property.Task) (number int, ring loop.Ring, err error) {
	number, ok := p.CellOf(t.Name)
	if !ok || len(t.T) != 1 || len(t.T[0].Lo) != len(p.Inputs) || len(t.S.Any) != 1 || len(t.S.Gates) > 0 {
		return 0, ring, fmt.Errorf("%.40q is no cell of the grid with a box of outputs", t.Name)
	}
	at := make([]int, len(p.State))
	p.Cell(number, at)
	for k, i := range p.Inputs {
		if e := p.State[i].Edges; !(t.T[0].Lo[k] <= e[at[i]] && e[at[i]+1] <= t.T[0].Hi[k]) {
			return 0, ring, fmt.Errorf("%.40q: its box does not cover the cell along %s", t.Name, p.State[i].Name)
		}
	}
	ring = loop.Ring{Lo: make([]*big.Rat, len(p.Outputs)), Hi: make([]*big.Rat, len(p.Outputs))}
	for _, m := range t.S.Any[0] {
		row := &t.S.Rows[m]
		o, sign := -1, 0.0
		for k := range row.CLo {
			if row.CLo[k] == 0 && row.CHi[k] == 0 {
				continue
			}
			if o >= 0 || row.CLo[k] != row.CHi[k] || row.CLo[k] != 1 && row.CLo[k] != -1 {
				return 0, ring, fmt.Errorf("%.40q: its safe set is no box", t.Name)
			}
			o, sign = k, row.CLo[k]
		}
		if o < 0 {
			continue
		}
		end := new(big.Rat).SetFloat64(-sign * row.D)
		if sign > 0 {
			ring.Lo[o] = end
		} else {
			ring.Hi[o] = end
		}
	}
	for o := range ring.Lo {
		if ring.Lo[o] == nil || ring.Hi[o] == nil || ring.Lo[o].Cmp(ring.Hi[o]) > 0 {
			return 0, ring, fmt.Errorf("%.40q: output %d is not bounded on both sides", t.Name, o)
		}
	}
	return number, ring, nil
}

// LoopRecords names the file with the records of a loop's cells, empty if there is none.
func LoopRecords(text []byte) string {
	var r struct {
		Records string `json:"records"`
	}
	_ = json.Unmarshal(text, &r)
	return r.Records
}

// LoopText reads a result file if it is that of a loop, and nil if it is another.
func LoopText(path string) ([]byte, error) {
	text, err := wholeText(path)
	if err != nil || !IsLoop(text) {
		return nil, nil
	}
	return text, nil
}

// wholeText reads a result file that is one JSON object and no list of records, which are longer.
func wholeText(path string) ([]byte, error) {
	const most = 1 << 16
	if err := infile.Regular(path); err != nil {
		return nil, err // a stream, or absent: its reader says what it is
	}
	text, err := infile.ReadAll(path, most)
	return bytes.TrimSpace(text), err
}
