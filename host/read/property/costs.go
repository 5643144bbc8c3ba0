package property

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Costs hold what each action costs where each class is the truth. The action taken at x is the one
// of least expected cost, sum_k Of(a, k) pi_k(x) (docs/theory.md, section 9.4).
type Costs struct {
	of [][]*big.Rat
	// most is the greatest difference between two actions' costs of a class.
	most *big.Rat
}

// mostCosts is the greatest number of numbers in costs: records carry them all.
const mostCosts = 4096

// ParseCosts reads "0,1;10,0": an action after the other, of each its cost for class 0, 1 and so on.
// Numbers are decimals or fractions. Errors are one line.
func ParseCosts(text string, classes int) (*Costs, error) {
	var rows [][]*big.Rat
	for a, row := range strings.Split(text, ";") {
		var list []*big.Rat
		words := strings.Split(row, ",")
		if len(words) != classes {
			return nil, fmt.Errorf("%s: action %d has %d costs, there are %d classes: write one for each, actions apart by \";\"", quote(text), a, len(words), classes)
		}
		if (a+1)*classes > mostCosts {
			return nil, fmt.Errorf("%s: more than %d costs", quote(text), mostCosts)
		}
		for k, word := range words {
			x, err := NewExact(strings.TrimSpace(word))
			if err != nil {
				return nil, fmt.Errorf("action %d, class %d: %w", a, k, err)
			}
			list = append(list, x.Rat())
		}
		rows = append(rows, list)
	}
	return newCosts(rows)
}

// RejectBelow are the costs by which a class is taken if its probability is above the threshold, and
// otherwise the last action: to abstain. A wrong class costs 1, to abstain 1 less the threshold
// (Chow 1970).
func RejectBelow(threshold string, classes int) (*Costs, error) {
	x, err := NewExact(threshold)
	if err != nil {
		return nil, err
	}
	one := big.NewRat(1, 1)
	if x.Rat().Sign() <= 0 || x.Rat().Cmp(one) >= 0 {
		return nil, fmt.Errorf("%s is not between 0 and 1: give the probability from which on a class is taken, such as 0.9", quote(threshold))
	}
	if (classes+1)*classes > mostCosts {
		return nil, fmt.Errorf("%d classes are more than a threshold is for: at most %d costs", classes, mostCosts)
	}
	rows := make([][]*big.Rat, classes+1)
	for a := range rows {
		for k := range classes {
			cost := one
			switch a {
			case k:
				cost = new(big.Rat)
			case classes:
				cost = new(big.Rat).Sub(one, x.Rat())
			}
			rows[a] = append(rows[a], cost)
		}
	}
	return newCosts(rows)
}

func newCosts(rows [][]*big.Rat) (*Costs, error) {
	c := &Costs{of: rows, most: new(big.Rat)}
	if len(rows) < 2 {
		return nil, fmt.Errorf("there is one action: give the costs of two or more, apart by \";\"")
	}
	for k := range rows[0] {
		for a := range rows {
			for b := range rows {
				if d := new(big.Rat).Sub(rows[a][k], rows[b][k]); d.Cmp(c.most) > 0 {
					c.most = d
				}
			}
		}
	}
	if c.most.Sign() == 0 {
		return nil, fmt.Errorf("all actions cost the same whatever the class is: nothing decides between them")
	}
	return c, nil
}

// Actions returns how many actions there are, and Classes how many classes.
func (c *Costs) Actions() int { return len(c.of) }
func (c *Costs) Classes() int { return len(c.of[0]) }

// Over returns what action b costs more than action a for each class, as a share, from -1 to 1, of
// the greatest such difference.
func (c *Costs) Over(b, a int) []*big.Rat {
	over := make([]*big.Rat, c.Classes())
	for k := range over {
		over[k] = new(big.Rat).Sub(c.of[b][k], c.of[a][k])
		over[k].Quo(over[k], c.most)
	}
	return over
}

// OverDown is Over, each number rounded down.
func (c *Costs) OverDown(b, a int) []float64 {
	list := make([]float64, c.Classes())
	for k, x := range c.Over(b, a) {
		list[k], _, _ = roundRat(x) // of a share, which is in reach
	}
	return list
}

// BestFor is the action of least cost for a class, -1 if several have it.
func (c *Costs) BestFor(class int) int {
	best, tie := 0, false
	for a := 1; a < len(c.of); a++ {
		switch c.of[a][class].Cmp(c.of[best][class]) {
		case -1:
			best, tie = a, false
		case 0:
			tie = true
		}
	}
	if tie {
		return -1
	}
	return best
}

// CheapestApprox is about the action of least expected cost, the first one if several have it.
func (c *Costs) CheapestApprox(pi []float64) (action int) {
	least := math.Inf(1)
	for a, row := range c.of {
		sum := 0.0
		for k, cost := range row {
			x, _ := cost.Float64()
			sum += x * pi[k]
		}
		if sum < least {
			least, action = sum, a
		}
	}
	return action
}
