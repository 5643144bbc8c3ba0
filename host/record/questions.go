package record

import (
	"fmt"
	"slices"
	"strings"

	"psafe/host/read/property"
)

// Questions finds records that cannot all be true: records about the same question, which is
// the same P_safe, whatever methods, devices and precisions gave the bounds. It compares radii
// too: T grows with eps and so P_safe falls, and what is proved to be at least p at one radius
// is at least p at every smaller one. So it is with decisions and means, where records have some.
//
// It keeps about 80 bytes for a question, and looks at no more than mostQuestions of them. The
// zero value is ready.
type Questions struct {
	// families have the first entry of what is the same but for its radius; the others follow
	// by entry.next.
	families map[[16]byte]uint32
	entries  chunks
	drawn    map[uint32]*drawnEnds
	decided  map[uint32][]*decidedAt
	means    map[uint32][]meanEnds
	radii    map[string]uint32
	values   []property.Exact // of radii
	files    map[string]uint64
	names    []string // of files
	skipped  int
	text     []byte
}

// Limits of what Questions keeps; MostContradictions for each kind.
const (
	mostQuestions      = 1 << 22
	mostRadii          = 1 << 10
	mostFiles          = 1 << 20
	MostContradictions = 10_000
)

// entry is the tightest of what records say of a question.
type entry struct {
	radius, next     uint32
	lower, upper     float64
	lowerAt, upperAt place
}

// noRadius is the radius of a question that has none, or not one number: it is in its family
// alone, whose text has its eps.
const noRadius = 1<<31 - 1

// further marks entries that are not the first of their family.
const further = 1 << 31

// drawnEnds are the tightest of a question's statistical intervals.
type drawnEnds struct {
	lower, upper             float64
	lowerAt, upperAt         place
	lowerChance, upperChance float64
}

// place is a file and a line in it, 24 and 40 bits.
type place uint64

// chunks are entries in pieces, since one slice would be copied as it grows.
type chunks [][]entry

const chunk = 1 << 12

func (c *chunks) add(e entry) uint32 {
	n := c.len()
	if n%chunk == 0 {
		*c = append(*c, make([]entry, 0, chunk))
	}
	last := &(*c)[n/chunk]
	*last = append(*last, e)
	return uint32(n)
}

func (c chunks) at(i uint32) *entry { return &c[i/chunk][i%chunk] }

func (c chunks) len() int {
	if len(c) == 0 {
		return 0
	}
	return (len(c)-1)*chunk + len(c[len(c)-1])
}

// Len returns how many questions there are.
func (q *Questions) Len() int { return q.entries.len() }

// Skipped counts the records that were compared with nothing, since there were too many
// questions.
func (q *Questions) Skipped() int { return q.skipped }

// Add looks at a record; nothing of it is kept but numbers and its place.
func (q *Questions) Add(p *Placed) {
	at, known := q.place(p)
	i, found := q.find(p.Record, q.radius(p.Record))
	if !known || !found {
		q.skipped++
		return
	}
	e := q.entries.at(i)
	if lower := float64(p.PLower); lower > e.lower {
		e.lower, e.lowerAt = lower, at
	}
	if upper := float64(p.PUpper); upper < e.upper {
		e.upper, e.upperAt = upper, at
	}
	if p.Statistical != nil {
		q.draw(i, p.Statistical, at)
	}
	q.decide(i, p.Record, at)
}

// place tells where a record is; not known if there are too many files.
func (q *Questions) place(p *Placed) (at place, known bool) {
	file, known := q.files[p.File]
	if !known {
		if len(q.names) == mostFiles {
			return 0, false
		}
		if q.files == nil {
			q.files = map[string]uint64{}
		}
		file = uint64(len(q.names))
		name := strings.Clone(p.File)
		q.files[name], q.names = file, append(q.names, name)
	}
	return place(file<<40 | uint64(p.Line)&(1<<40-1)), true
}

func (q *Questions) words(at place) string {
	return fmt.Sprintf("%s: line %d", q.names[at>>40], uint64(at)&(1<<40-1))
}

// radius numbers the radii that are one number, equal ones alike however they are written.
func (q *Questions) radius(r *Record) uint32 {
	if i, known := q.radii[r.Eps]; known {
		return i
	}
	if r.Eps == "" || r.EpsSHA256 != "" || len(q.radii) >= mostRadii {
		return noRadius
	}
	value, err := property.NewExact(r.Eps)
	if err != nil {
		return noRadius
	}
	if q.radii == nil {
		q.radii = map[string]uint32{}
	}
	i := slices.IndexFunc(q.values, func(v property.Exact) bool { return v.Cmp(value) == 0 })
	if i < 0 {
		i, q.values = len(q.values), append(q.values, value)
	}
	q.radii[strings.Clone(r.Eps)] = uint32(i)
	return uint32(i)
}

// find is the entry of a question, a new one if there is none and may be one.
func (q *Questions) find(r *Record, radius uint32) (uint32, bool) {
	key := q.family(r, radius)
	first, there := q.families[key]
	last := first
	for i, more := first, there; more; {
		e := q.entries.at(i)
		if e.radius&^further == radius {
			return i, true
		}
		last, i, more = i, e.next, e.next != 0
	}
	if q.entries.len() >= mostQuestions {
		return 0, false
	}
	if there {
		radius |= further
	}
	i := q.entries.add(entry{radius: radius, lower: -1, upper: 2})
	if there {
		q.entries.at(last).next = i
		return i, true
	}
	if q.families == nil {
		q.families = map[[16]byte]uint32{}
	}
	q.families[key] = i
	return i, true
}

func (q *Questions) draw(i uint32, s *Statistical, at place) {
	if q.drawn == nil {
		q.drawn = map[uint32]*drawnEnds{}
	}
	d := q.drawn[i]
	if d == nil {
		d = &drawnEnds{lower: -1, upper: 2}
		q.drawn[i] = d
	}
	if lower := float64(s.Lower); lower > d.lower {
		d.lower, d.lowerAt, d.lowerChance = lower, at, s.Confidence
	}
	if upper := float64(s.Upper); upper < d.upper {
		d.upper, d.upperAt, d.upperChance = upper, at, s.Confidence
	}
}

// Contradiction is two records that cannot both be true, or hardly.
type Contradiction struct {
	// Certified reports whether two certified bounds exclude each other: one of them is wrong. Else a
	// statistical interval lies outside certified bounds, which its confidence allows, rarely.
	Certified bool
	// A and B are the places of the records, "FILE: line N", and Words the whole message, in one
	// line that names both.
	A, B, Words string
}

// Contradictions returns the contradictions among the records added so far, certified ones first,
// each kind in the order in which their questions came, and no more of a kind than
// MostContradictions and those of the last question.
func (q *Questions) Contradictions() []Contradiction {
	var certified, drawn []Contradiction
	for i := range uint32(q.entries.len()) {
		if q.entries.at(i).radius&further != 0 {
			continue
		}
		family := q.byRadius(i)
		if len(certified) < MostContradictions {
			certified = q.meansApart(q.decisions(q.certified(certified, family), family), family)
		}
		if len(drawn) < MostContradictions {
			drawn = q.intervals(drawn, family)
		}
	}
	return append(certified, drawn...)
}

// byRadius is a family in the order of its radii.
func (q *Questions) byRadius(first uint32) []uint32 {
	list := []uint32{first}
	for i := q.entries.at(first).next; i != 0; i = q.entries.at(i).next {
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b uint32) int { return q.value(a).Cmp(q.value(b)) })
	return list
}

// value is the radius of an entry; zero if it has none, and then it is alone.
func (q *Questions) value(i uint32) property.Exact {
	radius := q.entries.at(i).radius &^ further
	if radius == noRadius {
		return property.Exact{}
	}
	return q.values[radius]
}

// where is a record's place with its radius, if there are several.
func (q *Questions) where(at place, i uint32, family []uint32) string {
	if len(family) == 1 {
		return q.words(at)
	}
	return fmt.Sprintf("%s (eps %s)", q.words(at), q.value(i))
}

// certified adds the lower bounds that are above an upper one at the same or a smaller radius.
func (q *Questions) certified(list []Contradiction, family []uint32) []Contradiction {
	least := family[0]
	for _, i := range family {
		e := q.entries.at(i)
		if e.upper < q.entries.at(least).upper {
			least = i
		}
		if u := q.entries.at(least); e.lower > u.upper {
			list = append(list, Contradiction{true, q.words(e.lowerAt), q.words(u.upperAt), fmt.Sprintf("%s: p_lower %s is above p_upper %s of %s: one of the two is wrong, please report it",
				q.where(e.lowerAt, i, family), Down(e.lower).Exact(), Up(u.upper).Exact(), q.where(u.upperAt, least, family))})
		}
	}
	return list
}

// intervals adds the intervals that are above an upper bound at the same or a smaller radius
// or below a lower one at the same or a larger.
func (q *Questions) intervals(list []Contradiction, family []uint32) []Contradiction {
	if len(q.drawn) == 0 {
		return list
	}
	add := func(at, other place, i, j uint32, what, than string, confidence float64) {
		list = append(list, Contradiction{false, q.words(at), q.words(other), fmt.Sprintf("%s: the statistical interval %s of %s: it holds with confidence %v only, but certified bounds hold always",
			q.where(at, i, family), what+" "+than, q.where(other, j, family), confidence)})
	}
	best := family[0]
	for _, i := range family {
		if q.entries.at(i).upper < q.entries.at(best).upper {
			best = i
		}
		if d, u := q.drawn[i], q.entries.at(best); d != nil && d.lower > u.upper {
			add(d.lowerAt, u.upperAt, i, best, fmt.Sprintf("from %s on is above", Down(d.lower).Exact()), fmt.Sprintf("p_upper %s", Up(u.upper).Exact()), d.lowerChance)
		}
	}
	best = family[len(family)-1]
	for _, i := range slices.Backward(family) {
		if q.entries.at(i).lower > q.entries.at(best).lower {
			best = i
		}
		if d, l := q.drawn[i], q.entries.at(best); d != nil && d.upper < l.lower {
			add(d.upperAt, l.lowerAt, i, best, fmt.Sprintf("up to %s is below", Up(d.upper).Exact()), fmt.Sprintf("p_lower %s", Down(l.lower).Exact()), d.upperChance)
		}
	}
	return list
}
