package report

import (
	"fmt"
	"html/template"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/plot"
)

// mapOf is a picture of the boxes of a property file, in the colours of verdicts.
type mapOf struct {
	Of, Areas string
	SVG       template.HTML
}

// Limits of what is drawn.
const (
	leastCells = 4
	mostCells  = 1 << 14 // a page has each of them
	mostMaps   = 4
)

// mapsOf are maps of the property files whose boxes have two or more inputs, if they are where points are looked for;
// what makes no map has none.
func mapsOf(records []record.Placed, o *Options) (list []mapOf) {
	of := map[source][]record.Placed{}
	var order []source
	for _, r := range records {
		from := sourceOf(r.Record)
		if !from.isProperty || r.InputsSHA256 == "" {
			continue
		}
		if of[from] == nil {
			order = append(order, from)
		}
		of[from] = append(of[from], r)
	}
	for _, from := range order {
		if m, ok := o.mapOf(of[from]); ok && len(list) < mostMaps {
			list = append(list, m)
		}
	}
	return list
}

// mapOf draws the first two inputs of the records of one property file.
func (o *Options) mapOf(records []record.Placed) (m mapOf, ok bool) {
	if len(records) < leastCells || len(records) > mostCells {
		return m, false
	}
	for _, path := range o.candidates(records[0].Inputs) {
		boxes, err := property.ReadBoxes(path)
		if err != nil || boxes.SHA256 != records[0].InputsSHA256 {
			continue
		}
		cells, err := plot.CellsOf(records, boxes)
		if err != nil || cells.Inputs() < 2 {
			return m, false
		}
		f, err := plot.DrawMap(cells.Map([2]int{0, 1}))
		if err != nil {
			return m, false
		}
		m.Of = shown(fmt.Sprintf("%s, %d cells", records[0].Inputs, cells.N()))
		m.Areas = cells.Words()
		m.SVG = picture(f, "verdicts of the cells; the table of records has the numbers")
		return m, true
	}
	return m, false
}
