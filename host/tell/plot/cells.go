package plot

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/summary"
)

// Cells are boxes of a property file with the records about them, such as psafe map makes.
type Cells struct {
	list    []cellOf
	columns []string // names of the inputs, nil if nobody says them
	require string
	// Whole is the record of the box that contains all others, nil without one.
	Whole *record.Record
}

// cellOf is a box and the record about it, nil if there is none.
type cellOf struct {
	box property.Box
	of  *record.Record
}

// CellsOf puts records on the boxes of their property file. Each property has one box; one that contains all others
// is no cell, but the whole. Records of several posteriors, files or requirements, and two of one box, are errors.
func CellsOf(records []record.Placed, boxes *property.Boxes) (*Cells, error) {
	first := &records[0]
	c := &Cells{columns: boxes.Columns, require: first.Require.String()}
	for i, of := range boxes.Of {
		if len(of) != 1 || len(of[0].Lo) != len(boxes.Of[0][0].Lo) {
			return nil, fmt.Errorf("property %d has %d boxes: a map shows properties of one box each, of as many inputs", i, len(of))
		}
		c.list = append(c.list, cellOf{box: of[0]})
	}
	names := summary.PosteriorNames(records, quoted)
	for i := range records {
		r := &records[i]
		switch {
		case r.InputsSHA256 != boxes.SHA256 || r.Eps != "":
			return nil, fmt.Errorf("%s: is not about the property file, whose digest is %.16s: give the one that --property named, unchanged", r.Place(), boxes.SHA256)
		case names[i] != names[0] || r.Require.Cmp(first.Require) != 0:
			return nil, fmt.Errorf("%s: posterior and require are not those of %s: a map shows one of each", r.Place(), first.Place())
		case r.Index < 0 || r.Index >= len(c.list):
			return nil, fmt.Errorf("%s: index %d is none of the %d properties", r.Place(), r.Index, len(c.list))
		case c.list[r.Index].of != nil:
			return nil, fmt.Errorf("%s: property %d has a record already: give one record for each", r.Place(), r.Index)
		}
		c.list[r.Index].of = r.Record
	}
	if i := slices.IndexFunc(c.list, c.containsAll); i >= 0 && len(c.list) > 1 {
		c.Whole = c.list[i].of
		c.list = slices.Delete(c.list, i, i+1)
	}
	return c, nil
}

// containsAll reports whether a box contains those of all cells.
func (c *Cells) containsAll(of cellOf) bool {
	for _, other := range c.list {
		for j := range of.box.Lo {
			if !(of.box.Lo[j] <= other.box.Lo[j] && other.box.Hi[j] <= of.box.Hi[j]) {
				return false
			}
		}
	}
	return true
}

func (of *cellOf) verdict() string {
	if of.of == nil {
		return ""
	}
	return of.of.Verdict
}

// Share is how many cells have a verdict, and their part of the area of all: exactly.
type Share struct {
	Cells int
	Area  *big.Rat
}

// Shares returns those of safe, unsafe, and of the rest, which has no verdict or no record. Inputs that no box has an
// extent in are no part of the area.
func (c *Cells) Shares() (safe, unsafe, open Share) {
	var of [3]Share
	total := new(big.Rat)
	for k := range of {
		of[k].Area = new(big.Rat)
	}
	extent := c.extent()
	for i := range c.list {
		k := 2
		switch c.list[i].verdict() {
		case verdictSafe:
			k = 0
		case verdictUnsafe:
			k = 1
		}
		area := big.NewRat(1, 1)
		for j, wide := range extent {
			if wide {
				width := new(big.Rat).SetFloat64(c.list[i].box.Hi[j])
				area.Mul(area, width.Sub(width, new(big.Rat).SetFloat64(c.list[i].box.Lo[j])))
			}
		}
		of[k].Cells++
		of[k].Area.Add(of[k].Area, area)
		total.Add(total, area)
	}
	for k := range of {
		if total.Sign() > 0 {
			of[k].Area.Quo(of[k].Area, total)
		}
	}
	return of[0], of[1], of[2]
}

// extent reports in which inputs some box has one.
func (c *Cells) extent() []bool {
	extent := make([]bool, c.Inputs())
	for i := range c.list {
		for j := range extent {
			extent[j] = extent[j] || c.list[i].box.Lo[j] < c.list[i].box.Hi[j]
		}
	}
	return extent
}

// apart reports whether no two boxes have more than edges in common.
func (c *Cells) apart() bool {
	var wide []int // inputs in which boxes have an extent, the one with the most lower ends first
	ends := make([]int, c.Inputs())
	for j, is := range c.extent() {
		if is {
			lower := map[float64]bool{}
			for i := range c.list {
				lower[c.list[i].box.Lo[j]] = true
			}
			wide, ends[j] = append(wide, j), len(lower)
		}
	}
	if len(wide) == 0 {
		return len(c.list) == 1
	}
	slices.SortStableFunc(wide, func(a, b int) int { return cmp.Compare(ends[b], ends[a]) })
	first := wide[0]
	order := slices.SortedFunc(slices.Values(c.list), func(a, b cellOf) int { return cmp.Compare(a.box.Lo[first], b.box.Lo[first]) })
	for i := range order {
		a := &order[i].box
		for k := i + 1; k < len(order) && order[k].box.Lo[first] < a.Hi[first]; k++ {
			b := &order[k].box
			if !slices.ContainsFunc(wide, func(j int) bool { return !(a.Lo[j] < b.Hi[j] && b.Lo[j] < a.Hi[j]) }) {
				return false
			}
		}
	}
	return true
}

// SafeTogether is a lower bound of the probability that the networks are safe on all cells that are safe, and their
// number: 1 less the sum of what P_safe of each may lack, exactly, of their decimals; at least 0. It is 0 of no cell.
func (c *Cells) SafeTogether() (lower *big.Rat, cells int) {
	lower = big.NewRat(1, 1)
	for i := range c.list {
		if c.list[i].verdict() != verdictSafe {
			continue
		}
		cells++
		lower.Add(lower, c.list[i].of.PLower.Exact().Rat())
		lower.Sub(lower, big.NewRat(1, 1))
	}
	if cells == 0 || lower.Sign() < 0 {
		lower.SetInt64(0)
	}
	return lower, cells
}

// SafeBoxes are those of the cells that are safe.
func (c *Cells) SafeBoxes() (list []property.Box) {
	for i := range c.list {
		if c.list[i].verdict() == verdictSafe {
			list = append(list, c.list[i].box)
		}
	}
	return list
}

// Words say which part of the area is what: what is certified and refuted in percent rounded down, what is open up.
// Of boxes that overlap they say how many.
func (c *Cells) Words() string {
	safe, unsafe, open := c.Shares()
	percent := func(s Share) *big.Rat { return new(big.Rat).Mul(s.Area, big.NewRat(100, 1)) }
	text := fmt.Sprintf("certified: %d of %d cells", safe.Cells, c.N())
	if c.apart() {
		text += fmt.Sprintf(", %s %% of the area; refuted: %d, %s %%; open: %d, %s %%", record.DecimalDown(percent(safe), 3),
			unsafe.Cells, record.DecimalDown(percent(unsafe), 3), open.Cells, record.DecimalUp(percent(open), 3))
	} else {
		text += fmt.Sprintf("; refuted: %d; open: %d", unsafe.Cells, open.Cells)
	}
	if lower, n := c.SafeTogether(); n > 0 {
		text += "; safe on all certified cells together: with probability at least " + record.DecimalDown(lower, 6)
	}
	if c.Whole != nil {
		text += "; safe on the whole box: with probability at least " + property.DecimalDown(float64(c.Whole.PLower))
	}
	return text
}

// N returns how many cells there are.
func (c *Cells) N() int { return len(c.list) }

// Inputs returns how many coordinates the boxes have.
func (c *Cells) Inputs() int { return len(c.list[0].box.Lo) }

// Map is the figure of two coordinates.
func (c *Cells) Map(columns [2]int) *Map {
	m := &Map{Title: "Verdicts of P_safe, cell by cell", Safe: "safe: P_safe is at least " + c.require + ", certified", Unsafe: "unsafe: P_safe is below " + c.require + ", certified", Unknown: "unknown: neither is proved"}
	for axis, j := range columns {
		if m.Axes[axis] = coordinate(j); c.columns != nil {
			m.Axes[axis] = quoted(c.columns[j], 60)
		}
	}
	for i := range c.list {
		of := &c.list[i]
		at := func(x []float64) [2]float64 { return [2]float64{x[columns[0]], x[columns[1]]} }
		m.Cells = append(m.Cells, MapCell{Lo: at(of.box.Lo), Hi: at(of.box.Hi), Verdict: of.verdict()})
		for j := range of.box.Lo {
			first := &c.list[0].box
			if !slices.Contains(columns[:], j) && (of.box.Lo[j] != first.Lo[j] || of.box.Hi[j] != first.Hi[j]) {
				m.Note = "cells differ in other inputs too: of those at one place the worst is seen"
			}
		}
	}
	return m
}
