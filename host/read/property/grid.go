package property

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// mostGridCells is the greatest number of cells of a grid.
const mostGridCells = 1 << 17

// GridFile cuts a box into the cells of a grid and returns a property file (ReadFile) with a task for each, whose safe
// set is words (ParseSpec), and with whole one more for the box, the last.
//
// box is a pair for each input, "[-2,2],[0,1]", of real numbers lo <= hi; grid is into how many parts each is cut,
// "40x40", 1 for what is not cut. The cells cover the box: of two neighbours the edge is one and the same float64, which
// stands in the file as the decimal that it is, so that no reader rounds it; the outer edges are the ends of the box,
// rounded outward to float64. The edges between are float32 where that leaves all cells of one coordinate within a
// part in a thousand of the same width, so that float32 devices do not round them either. Cells have the names
// "cell i,j", counted from 0; the last input counts fastest. columns are names of the inputs for figures, or nil.
//
// Errors are one line and begin with the flag of psafe map that is to be mended.
func GridFile(box, grid, words string, columns []string, whole bool) ([]byte, error) {
	edges, err := gridEdges(box, grid)
	if err != nil {
		return nil, err
	}
	if columns != nil && len(columns) != len(edges) {
		return nil, fmt.Errorf("--names: %d names for %d inputs: give one for each", len(columns), len(edges))
	}
	texts := make([][]json.RawMessage, len(edges))
	for j, list := range edges {
		for _, x := range list {
			texts[j] = append(texts[j], decimalOf(x))
		}
	}
	of := func(name string, at func(j int) (lo, hi int)) gridEntry {
		var cell [][2]json.RawMessage
		for j, ends := range texts {
			lo, hi := at(j)
			cell = append(cell, [2]json.RawMessage{ends[lo], ends[hi]})
		}
		return gridEntry{name, kindRows, words, [][][2]json.RawMessage{cell}}
	}
	var entries []gridEntry
	for at := make([]int, len(edges)); ; {
		name := strings.Trim(strings.ReplaceAll(fmt.Sprint(at), " ", ","), "[]")
		entries = append(entries, of("cell "+name, func(j int) (lo, hi int) { return at[j], at[j] + 1 }))
		j := len(at) - 1
		for ; j >= 0; j-- {
			if at[j]++; at[j] < len(edges[j])-1 {
				break
			}
			at[j] = 0
		}
		if j < 0 {
			break
		}
	}
	if whole {
		entries = append(entries, of("whole box", func(j int) (lo, hi int) { return 0, len(edges[j]) - 1 }))
	}
	return gridFile(columns, entries)
}

// UnionFile returns a property file with one task: T is the union of boxes of finite float64, S is words. Columns are as
// in GridFile, and so are errors.
func UnionFile(boxes []Box, words string, columns []string) ([]byte, error) {
	e := gridEntry{Name: fmt.Sprintf("%d cells", len(boxes)), Kind: kindRows, Safe: words}
	for _, b := range boxes {
		e.Boxes = append(e.Boxes, sidesOf(b))
	}
	return gridFile(columns, []gridEntry{e})
}

// sidesOf writes a box of finite float64.
func sidesOf(b Box) (sides [][2]json.RawMessage) {
	for j := range b.Lo {
		sides = append(sides, [2]json.RawMessage{decimalOf(b.Lo[j]), decimalOf(b.Hi[j])})
	}
	return sides
}

// Cell is a property of CellsFile: T is the box, S is Words or, where there are none, where all rows hold, whose numbers are
// float64.
type Cell struct {
	Name  string
	Box   Box
	Words string
	Rows  []Row
}

// CellsFile returns a property file with a task for each cell. Columns are as in GridFile, and so are errors.
func CellsFile(cells []Cell, columns []string) ([]byte, error) {
	type row struct {
		Row    []json.RawMessage `json:"row"`
		Offset json.RawMessage   `json:"offset"`
	}
	var entries []gridEntry
	for _, c := range cells {
		e := gridEntry{c.Name, kindRows, c.Words, [][][2]json.RawMessage{sidesOf(c.Box)}}
		if c.Words == "" {
			var rows []row
			for _, r := range c.Rows {
				of := row{Offset: decimalOf(r.D)}
				for _, x := range r.CLo {
					of.Row = append(of.Row, decimalOf(x))
				}
				rows = append(rows, of)
			}
			e.Safe = map[string][]row{"and": rows}
		}
		entries = append(entries, e)
	}
	return gridFile(columns, entries)
}

// gridEntry is a property of a file.
type gridEntry struct {
	Name  string                 `json:"name"`
	Kind  string                 `json:"kind"`
	Safe  any                    `json:"safe"`
	Boxes [][][2]json.RawMessage `json:"boxes"`
}

// gridFile is a property file, a line for each entry.
func gridFile(columns []string, entries []gridEntry) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("{")
	if columns != nil {
		names, err := json.Marshal(columns)
		if err != nil {
			return nil, fmt.Errorf("--names: %w", err)
		}
		fmt.Fprintf(&b, "\"columns\": %s,\n ", names)
	}
	b.WriteString("\"properties\": [\n")
	for i, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("--property: %w", err)
		}
		b.Write(line)
		if i < len(entries)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return b.Bytes(), nil
}

// decimalOf is the decimal that x is.
func decimalOf(x float64) json.RawMessage {
	text := strconv.FormatFloat(x+0, 'f', 1074, 64) // the least float64 has so many digits; + 0 makes 0 of -0
	return json.RawMessage(strings.TrimSuffix(strings.TrimRight(text, "0"), "."))
}

// gridEdges returns the edges of the parts of each input, in ascending order.
func gridEdges(box, grid string) (edges [][]float64, err error) {
	sides, err := parseSides(box)
	if err != nil {
		return nil, fmt.Errorf("--box: input %w", err)
	}
	parts := strings.Split(grid, "x")
	if len(parts) != len(sides) {
		return nil, fmt.Errorf("--grid %.40q: it has %d numbers for %d inputs of --box: give one for each, with x between, 1 for what is not cut", grid, len(parts), len(sides))
	}
	cells := 1
	for j, s := range sides {
		n, err := strconv.Atoi(parts[j])
		if err != nil || n < 1 || n > mostGridCells/cells {
			return nil, fmt.Errorf("--grid %.40q: input %d: give a whole number from 1, and no more than %d cells in all", grid, j, mostGridCells)
		}
		cells *= n
		if s.lo == nil || s.hi == nil {
			return nil, fmt.Errorf("--box: input %d has no end: give both", j)
		}
		list, ok := parted(s.lo.Lo, s.hi.Hi, n)
		if !ok {
			return nil, fmt.Errorf("--grid %.40q: input %d: %v to %v cannot be cut into %d parts of one width in float64: give fewer", grid, j, s.lo, s.hi, n)
		}
		edges = append(edges, list)
	}
	return edges, nil
}

// parted cuts an interval into n parts of nearly one width; ok is false if float64 has no such numbers.
func parted(lo, hi float64, n int) (edges []float64, ok bool) {
	if n == 1 {
		return []float64{lo, hi}, true
	}
	for _, single := range []bool{true, false} {
		edges = []float64{lo}
		for k := 1; k < n; k++ {
			// Any number between will do: what matters is that neighbours have the same.
			part := float64(k) / float64(n)
			x := float64(lo*(1-part)) + float64(hi*part)
			if single {
				x = float64(float32(x))
			}
			edges = append(edges, x)
		}
		edges, ok = append(edges, hi), true
		width := hi/float64(n) - lo/float64(n)
		for k := range n {
			ok = ok && edges[k] < edges[k+1] && math.Abs(edges[k+1]-edges[k]-width) <= width/1000
		}
		if ok {
			return edges, true
		}
	}
	return nil, false
}
