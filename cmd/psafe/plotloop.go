package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"psafe/host/check"
	"psafe/host/job/loop"
	"psafe/host/record"
	"psafe/host/tell/plot"
)

// loopFigure draws the cells of a loop's result; nil if the files are others.
func (p *plotFlags) loopFigure(kind string, files []string) (*plot.Figure, error) {
	if kind != "map" || len(files) != 1 {
		return nil, nil
	}
	if text, err := check.LoopText(files[0]); text == nil || err != nil {
		return nil, err
	}
	if p.points != "" {
		return nil, errors.New("--points is not for the result of a loop, which names its cells: leave it out")
	}
	picture, err := loop.ReadPicture(files[0])
	if err != nil {
		return nil, err
	}
	for _, c := range p.columns {
		if n := len(picture.Plant.State); c < 0 || c >= n {
			return nil, fmt.Errorf("--columns %d: the state has coordinates 0 to %d", c, n-1)
		}
	}
	return plot.DrawMap(loopMap(picture, [2]int(p.columns)))
}

// loopMap is the map of two coordinates of a loop; of others it has the cells in the middle of the start set.
func loopMap(t *loop.Picture, columns [2]int) *plot.Map {
	least, semantics := float64(t.Result.PLower), t.Plant.Semantics()
	m := &plot.Map{
		Title: fmt.Sprintf("Closed loop, %s: probability at least %s", semantics, record.FormatDown(least, 6)),
		Safe:  "the result rests on it", Unknown: "open",
		Unsafe: "a drawn network breaks it from here",
	}
	if t.Result.Why != "" {
		m.Title = fmt.Sprintf("Closed loop, %s: nothing is proved", semantics)
	}
	if t.Plant.Fresh {
		if least == 0 {
			least = 0.5 // shows where it fails
		}
		m.Safe = fmt.Sprintf("from each state of it at least %s", record.FormatDown(least, 6))
	}
	var elsewhere []string
	for i, c := range t.Plant.State {
		if k := t.Middle[i]; !slices.Contains(columns[:], i) {
			elsewhere = append(elsewhere, fmt.Sprintf("%s in [%.4g, %.4g]", c.Name, c.Edges[k], c.Edges[k+1]))
		}
	}
	if elsewhere != nil {
		m.Note = "a slice, at the middle of the start set: " + strings.Join(elsewhere, ", ")
	}
	at := slices.Clone(t.Middle)
	x, y := t.Plant.State[columns[0]], t.Plant.State[columns[1]]
	m.Axes = [2]string{x.Name, y.Name}
	for i := range len(x.Edges) - 1 {
		for j := range len(y.Edges) - 1 {
			at[columns[0]], at[columns[1]] = i, j
			verdict, cell := record.Unknown, t.Plant.Number(at)
			switch v := t.Values[cell]; {
			case t.Left[cell]:
				verdict = "unsafe"
			case t.Plant.Fresh && v >= least || !t.Plant.Fresh && v > 0:
				verdict = "safe"
			}
			m.Cells = append(m.Cells, plot.MapCell{Lo: [2]float64{x.Edges[i], y.Edges[j]}, Hi: [2]float64{x.Edges[i+1], y.Edges[j+1]}, Verdict: verdict})
		}
	}
	return m
}
