// Package conformal makes prediction sets of records of decisions
package conformal

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"psafe/host/arith"
	"psafe/host/read/property"
	"psafe/host/record"
)

// Calibration collects scores of calibration points: upper bounds of s(x, y) = 1 - pi_y(x) for their true classes y.
type Calibration struct {
	// Alpha is how often sets may miss, in (0, 1); Delta how often, over the drawn networks, one of the scores
	// may be no upper bound, in (0, 1).
	Alpha, Delta property.Exact
	// Labels are the true classes by the index of the points in their file.
	Labels []int

	asked  string
	first  *record.Record
	points map[point]bool
	runs   map[string]*run
	scores []score
}

// point is a point of a data file, or of an array of a NumPy archive.
type point struct {
	file, array string
	index       int
}

func pointOf(r *record.Record) point { return point{r.InputsSHA256, r.Member(), r.Index} }

// run counts the records of a run: calibration points that are left out must not depend on what came out.
type run struct{ seen, tasks int }

// score is 1 less the larger of lower, which is proved, and of drawn less what Hoeffding takes off, with so many
// networks; drawn is nil where there are none.
type score struct {
	lower, drawn *big.Rat
	networks     int
}

// Add takes in the record of a calibration point: a decision at radius 0 about the true class.
func (c *Calibration) Add(p *record.Placed) error {
	r := p.Record
	switch {
	case r.Decision == nil || r.Decision.ClassUpper == nil:
		return fmt.Errorf("%s: it has no decision with class_upper: make it with psafe certify --target decision", p.Place())
	case r.Eps != "0":
		return fmt.Errorf("%s: it is about radius %.40q: calibration points are certified with --eps 0", p.Place(), r.Eps)
	case r.Index >= len(c.Labels) || r.Label == nil || *r.Label != c.Labels[r.Index]:
		return fmt.Errorf("%s: its class is not that of point %d in --calibration-label: certify calibration points with --label, of their own labels", p.Place(), r.Index)
	}
	if err := c.same(p); err != nil {
		return err
	}
	if clip := clipOf(r); clip != clipOf(c.first) {
		return fmt.Errorf("%s: its --clip is %q, that of the first calibration record %q: certify all calibration points with one", p.Place(), clip, clipOf(c.first))
	}
	at := pointOf(r)
	if c.points[at] {
		return fmt.Errorf("%s: point %d is there twice: give each calibration point once", p.Place(), r.Index)
	}
	if c.points == nil {
		c.points, c.runs = map[point]bool{}, map[string]*run{}
	}
	c.points[at] = true
	if c.runs[r.Run] == nil {
		c.runs[r.Run] = &run{tasks: r.Tasks}
	}
	c.runs[r.Run].seen++
	s := score{lower: r.Decision.Lower.Exact().Rat()}
	if d := r.Decision.DrawnLower; d != nil && r.Statistical != nil {
		s.drawn, s.networks = d.Exact().Rat(), r.Statistical.Samples
	}
	c.scores = append(c.scores, s)
	return nil
}

// same demands that all records ask about the same predictive of the same inputs.
func (c *Calibration) same(p *record.Placed) error {
	r := p.Record
	if strings.Contains(r.Flags, "link probit") {
		return fmt.Errorf("%s: it is about the probit rule, which is no mean over networks: leave link out", p.Place())
	}
	asked := strings.Join([]string{r.PosteriorSHA256, r.PosteriorScale, r.PosteriorSD, r.PosteriorSDSHA, r.Functions(), strings.Join(r.Activations, ","),
		or(r.MeanSHA256, r.Mean), or(r.StdSHA256, r.Std), r.InputScale, r.Channels}, "\n")
	if c.first == nil {
		c.first, c.asked = r, asked
	}
	if asked != c.asked {
		return fmt.Errorf("%s: its posterior, or how inputs are scaled, is not that of the first calibration record (posterior %.12s, there %.12s): sets hold for one predictive",
			p.Place(), r.PosteriorSHA256, c.first.PosteriorSHA256)
	}
	return nil
}

// clipOf is the interval that T is cut to, in words.
func clipOf(r *record.Record) string { return or(r.ClipSHA256, strings.Join(r.Clip, ",")) }

// or is the first text that is there.
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Quantile is what calibration came to.
type Quantile struct {
	// Points is n, and Q the ceil((n+1)(1-alpha))-th smallest score, rounded up; 1, so that all sets are full, if
	// there are fewer, Rank being that place.
	Points, Rank int
	// Enough is from how many points on a place is not beyond the last: (1 - alpha) / alpha, rounded up.
	Enough *big.Int
	Q      *big.Rat
	// Promise is at most the probability, over calibration points, drawn networks and a new point, that its set
	// holds its class: 1 - alpha, less delta if scores are of drawn networks.
	Promise *big.Rat
	Drawn   bool
}

// Quantile returns the quantile of all scores so far:
//
//	s_i <= 1 - max(lower_i, drawn_i - sqrt(ln(n/delta) / (2 D_i)))   for all i with probability 1 - delta   (Hoeffding)
//
// rounded up. It refuses calibration points of runs that are not complete.
func (c *Calibration) Quantile() (*Quantile, error) {
	for name, r := range c.runs {
		if r.seen != r.tasks {
			return nil, fmt.Errorf("of run %.12s there are %d of %d records: calibration takes all points of a run, since those that are missing may be the hard ones", name, r.seen, r.tasks)
		}
	}
	n := len(c.scores)
	if n == 0 {
		return nil, fmt.Errorf("there is no calibration record")
	}
	one := big.NewRat(1, 1)
	q := &Quantile{Points: n, Q: new(big.Rat).Set(one), Promise: new(big.Rat).Sub(one, c.Alpha.Rat())}
	var all []*big.Rat
	for _, s := range c.scores {
		lower := s.lower
		if s.drawn != nil {
			q.Drawn = true
			if by := new(big.Rat).Sub(s.drawn, c.hoeffdingUp(n, s.networks)); by.Cmp(lower) > 0 {
				lower = by
			}
		}
		all = append(all, new(big.Rat).Sub(one, lower))
	}
	if q.Drawn {
		q.Promise.Sub(q.Promise, c.Delta.Rat())
	}
	slices.SortFunc(all, (*big.Rat).Cmp)
	place := new(big.Rat).Sub(one, c.Alpha.Rat())
	place.Mul(place, big.NewRat(int64(n)+1, 1))
	q.Rank, q.Enough = int(ceil(place).Int64()), ceil(new(big.Rat).Quo(new(big.Rat).Sub(one, c.Alpha.Rat()), c.Alpha.Rat()))
	if q.Rank <= n {
		q.Q = all[q.Rank-1]
	}
	return q, nil
}

// ceil is the least integer at or above x.
func ceil(x *big.Rat) *big.Int {
	whole, rest := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return whole
}

// hoeffdingUp is at least sqrt(ln(n/delta) / (2 D)): by more than that a mean of D independent numbers of [0, 1] is
// above the mean that it estimates with probability at most delta/n.
func (c *Calibration) hoeffdingUp(n, networks int) *big.Rat {
	odds := new(big.Rat).Quo(big.NewRat(int64(n), 1), c.Delta.Rat())
	x, exact := odds.Float64()
	if !exact {
		x = arith.Up(x)
	}
	t := arith.SqrtUp(arith.Up(arith.LogUp(x) / (2 * float64(networks))))
	if !(t <= 1) {
		return big.NewRat(1, 1)
	}
	return new(big.Rat).SetFloat64(t)
}
