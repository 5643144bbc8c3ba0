package decide

import (
	"context"
	"math"
	"slices"
	"sort"

	"psafe/host/bound"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// question asks for lower bounds of rows on a box, for one network.
type question struct {
	net  int
	box  property.Box
	rows []property.Row
	// of is the safe set of these rows where a hint is wanted too, and clauses are those of it
	// where rows may be refined (refineApprox).
	of      *property.Safe
	clauses [][]int
	// lo is the answer; margin is a lower bound of S.MarginLo, at least that of lo, where of is
	// given; hint comes with it unless S follows. rounded says that S does not follow only because
	// of roundings, probably.
	lo      []float64
	margin  float64
	hint    hint
	rounded bool
}

// mostShared is the greatest number of questions about one network that share its weights in a batch, and
// boxCost about how many questions the weights cost that a batch has once for them.
const (
	mostShared = 64
	boxCost    = 4
)

// ask answers questions about networks: their weights, rounded outward, are weight
// boxes of (nearly) no width.
func (d *decision) ask(ctx context.Context, method bound.Propagation, qs []*question) error {
	e := d.e
	if len(qs) == 0 {
		return nil
	}
	rows := 0
	for _, q := range qs {
		rows = max(rows, len(q.rows))
	}
	sort.SliceStable(qs, func(i, j int) bool { return qs[i].net < qs[j].net })
	perBox := sharing(qs)
	runs := cutRuns(qs, perBox)
	boxBytes, itemBytes := e.Model.Footprint(method, rows)
	most := max(1, min(e.AtATime(e.Budget(), boxBytes+int64(perBox)*itemBytes, 4096), e.Model.MostItems(rows)/perBox))
	for chunk := range slices.Chunk(runs, most) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := engine.Guarded(e, method.String()+" of drawn networks", chunk, func(m *bound.Model, part [][]*question) ([]engine.Answer, error) {
			return d.askOn(m, method, part, perBox)
		}); err != nil {
			return err
		}
	}
	return nil
}

// sharing returns how many questions about a network share its weights so that runs of them cost the least:
// what is missing of a run is asked again.
func sharing(qs []*question) int {
	var each []int
	for i := range qs {
		if i == 0 || qs[i].net != qs[i-1].net {
			each = append(each, 0)
		}
		each[len(each)-1]++
	}
	best, least := 1, math.MaxInt
	for n := 1; n <= min(mostShared, slices.Max(each)); n++ {
		cost := 0
		for _, all := range each {
			cost += (all + n - 1) / n * (n + boxCost)
		}
		if cost < least {
			best, least = n, cost
		}
	}
	return best
}

// cutRuns cuts sorted questions into runs of perBox about one network each, the
// last ones repeated.
func cutRuns(qs []*question, perBox int) [][]*question {
	var runs [][]*question
	for len(qs) > 0 {
		n := 1
		for n < len(qs) && n < perBox && qs[n].net == qs[0].net {
			n++
		}
		run := slices.Clone(qs[:n])
		for len(run) < perBox {
			run = append(run, qs[n-1])
		}
		runs, qs = append(runs, run), qs[n:]
	}
	return runs
}

// askOn answers runs of questions in one batch.
func (d *decision) askOn(m *bound.Model, method bound.Propagation, runs [][]*question, perBox int) ([]engine.Answer, error) {
	var nets []drawn
	var regions []property.Box
	var rows [][]property.Row
	for _, run := range runs {
		nets = append(nets, d.nets[run[0].net])
		for _, q := range run {
			regions, rows = append(regions, q.box), append(rows, q.rows)
		}
	}
	boxes, err := m.UploadNetworks(nets)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	in, dr, release, err := engine.Upload(m, regions, rows)
	if err != nil {
		return nil, err
	}
	defer release()
	items := len(regions)
	job := bound.Query{Propagation: method, Boxes: boxes, Inputs: in, Rows: dr,
		Batch: bound.Batch{Items: items, PerBox: perBox, Inputs: items}}
	seen := hintsOf(m.Device(), items, runs)
	looks := &looks{d: d, items: slices.Concat(runs...), seen: seen, chosen: make([]refined, items)}
	if seen != nil {
		job.Observe, job.Refine = seen.observe, looks.refine
	}
	margins, err := m.Propagate(job)
	if err != nil {
		return nil, err
	}
	looks.end(margins)
	answers := make([]engine.Answer, len(runs))
	for r, run := range runs {
		first := r * perBox
		numbers := slices.Concat(looks.lo[first : first+perBox]...)
		for p := first; seen != nil && p < first+perBox; p++ {
			numbers = append(append(numbers, seen.of(p).numbers()...), looks.margins[p])
		}
		answers[r] = engine.Answer{Numbers: numbers, Take: func() {
			for i, q := range run {
				q.lo, q.margin, q.hint, q.rounded = looks.lo[first+i], looks.margins[first+i], looks.hints[first+i], looks.rounded[first+i]
			}
		}}
	}
	return answers, nil
}
