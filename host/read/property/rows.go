package property

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// formula makes a Safe of a tree of "and", "or" and rows, as large as the tree is: nothing is
// multiplied out. Equal rows, and equal gates, are stored once.
type formula struct {
	outputs int
	rows    []Row
	gates   []Gate
	// index finds a row, or a gate, by the digest of its bits.
	index map[[sha256.Size]byte]int
	// memory holds what rows take.
	memory *memory
}

func newFormula(outputs int, m *memory) *formula {
	return &formula{outputs: outputs, index: map[[sha256.Size]byte]int{}, memory: m}
}

// list is an AND or an OR of members (see Safe) under way.
type list struct {
	or      bool
	members []int
}

// gate is the member that stands for a list: its only one, or a gate.
func (p *formula) gate(l list) int {
	l.members = different(l.members)
	if len(l.members) == 1 {
		return l.members[0]
	}
	g := Gate{len(l.members), l.members}
	if l.or {
		g.Need = 1
	}
	key := binary.BigEndian.AppendUint64([]byte{'g'}, uint64(g.Need))
	for _, m := range g.Of {
		key = binary.BigEndian.AppendUint64(key, uint64(m))
	}
	digest := sha256.Sum256(key)
	m, known := p.index[digest]
	if !known {
		m = ^len(p.gates)
		p.index[digest], p.gates = m, append(p.gates, g)
	}
	return m
}

// safe is the set of a list: of an AND one alternative, of an OR its members, each of which is one,
// or the members of a gate that is an AND.
func (p *formula) safe(l list) Safe {
	s := Safe{Rows: p.rows, Gates: p.gates}
	if l.members = different(l.members); !l.or {
		s.Any = [][]int{l.members}
	} else {
		for _, m := range l.members {
			if m < 0 && p.gates[^m].Need == len(p.gates[^m].Of) {
				s.Any = append(s.Any, p.gates[^m].Of)
			} else {
				s.Any = append(s.Any, []int{m})
			}
		}
	}
	return s.compact()
}

// different sorts members, rows first, and drops repetitions.
func different(members []int) []int {
	slices.SortFunc(members, func(a, b int) int { return cmp.Or(cmp.Compare(min(b, 0), min(a, 0)), cmp.Compare(a, b)) })
	return slices.Compact(members)
}

// compact drops gates that nothing is about.
func (s Safe) compact() Safe {
	used := make([]bool, len(s.Gates))
	use := func(members []int) {
		for _, m := range members {
			if m < 0 {
				used[^m] = true
			}
		}
	}
	for _, all := range s.Any {
		use(all)
	}
	for g, gate := range slices.Backward(s.Gates) {
		if used[g] {
			use(gate.Of)
		}
	}
	at, kept := make([]int, len(s.Gates)), []Gate(nil)
	moved := func(members []int) []int {
		members = slices.Clone(members)
		for k, m := range members {
			if m < 0 {
				members[k] = at[^m]
			}
		}
		return members
	}
	for g, gate := range s.Gates {
		if used[g] {
			at[g] = ^len(kept)
			kept = append(kept, Gate{gate.Need, moved(gate.Of)})
		}
	}
	for a, all := range s.Any {
		s.Any[a] = moved(all)
	}
	s.Gates = kept
	return s
}

// parseSafe reads the "safe" field of a property file: {"and": [...]},
// {"or": [...]} or {"row": [c0, ...], "offset": d}, the latter meaning
// sum c_i y_i + d >= 0 with one coefficient for each of the outputs, or > 0 with
// "strict": true.
func parseSafe(n *node, outputs int, m *memory) (Safe, error) {
	p := newFormula(outputs, m)
	l, err := p.list(n)
	if err != nil {
		return Safe{}, err
	}
	return p.safe(l), nil
}

// list reads the tree n; what a list has of its own kind in it becomes a part of it.
func (p *formula) list(n *node) (list, error) {
	if n.kind != '{' {
		return list{}, n.errorf(`expected an object with "and", "or" or "row", found %s`, n.describe())
	}
	if n.values["row"] != nil {
		r, err := p.row(n)
		return list{members: []int{r}}, err
	}
	keys := slices.DeleteFunc(slices.Clone(n.keys), forHumans)
	if len(keys) != 1 || keys[0] != "and" && keys[0] != "or" {
		return list{}, n.errorf(`an expression has exactly one key, "and" or "or", or else "row" with "offset"; this one has %s`, keyList(keys))
	}
	of := n.values[keys[0]]
	if of.kind != '[' || len(of.items) == 0 {
		return list{}, of.errorf("%q needs a list of at least one expression, found %s", keys[0], of.count())
	}
	l := list{or: keys[0] == "or"}
	for _, item := range of.items {
		part, err := p.list(item)
		if err != nil {
			return list{}, err
		}
		p.join(&l, part)
	}
	return l, nil
}

// join takes a part into a list.
func (p *formula) join(l *list, part list) {
	if part.or == l.or || len(part.members) == 1 {
		l.members = append(l.members, part.members...)
		return
	}
	l.members = append(l.members, p.gate(part))
}

// keyList names the first keys.
func keyList(keys []string) string {
	if len(keys) == 0 {
		return "none"
	}
	var names []string
	for _, key := range keys[:min(4, len(keys))] {
		names = append(names, quote(key))
	}
	return strings.Join(names, ", ")
}

// row reads {"row": [...], "offset": d, "strict": true} and returns its index in p.rows.
// Coefficients and offset are enclosed: a weight vector that satisfies the stored
// row, whose offset is the lower end, satisfies the written one.
func (p *formula) row(n *node) (int, error) {
	if err := n.onlyKeys("a row", "row", "offset", "strict"); err != nil {
		return 0, err
	}
	list := n.values["row"]
	if list.kind != '[' || len(list.items) != p.outputs {
		return 0, list.errorf("a row needs a list of %d coefficients, one for each output, found %s", p.outputs, list.count())
	}
	r := Row{CLo: make([]float64, p.outputs), CHi: make([]float64, p.outputs)}
	for i, item := range list.items {
		c, err := item.decimal()
		if err != nil {
			return 0, fmt.Errorf("coefficient %d: %w", i, err)
		}
		r.CLo[i], r.CHi[i] = c.Lo, c.Hi
	}
	if offset := n.values["offset"]; offset != nil {
		d, err := offset.decimal()
		if err != nil {
			return 0, fmt.Errorf("offset: %w", err)
		}
		r.D, r.DHi = d.Lo, d.Hi
	}
	if strict := n.values["strict"]; strict != nil {
		if strict.kind != 'b' {
			return 0, strict.errorf("strict: expected true or false, found %s", strict.describe())
		}
		if strict.text == "true" {
			r.makeStrict()
		}
	}
	if !ordered(r.D, r.DHi) {
		return 0, n.errorf("offset: a strict row needs one above the least float64")
	}
	return p.store(n, r)
}

// store returns the index of the row in p.rows.
func (p *formula) store(n *node, r Row) (int, error) {
	key := binary.BigEndian.AppendUint64([]byte{'r'}, math.Float64bits(r.D))
	key = binary.BigEndian.AppendUint64(key, math.Float64bits(r.DHi))
	for i := range r.CLo {
		key = binary.BigEndian.AppendUint64(key, math.Float64bits(r.CLo[i]))
		key = binary.BigEndian.AppendUint64(key, math.Float64bits(r.CHi[i]))
	}
	digest := sha256.Sum256(key)
	if k, ok := p.index[digest]; ok {
		return k, nil
	}
	if err := p.memory.rows(1, p.outputs); err != nil {
		return 0, n.errorf("%w", err)
	}
	p.index[digest] = len(p.rows)
	p.rows = append(p.rows, r)
	return len(p.rows) - 1, nil
}
