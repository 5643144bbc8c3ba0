// Package plant reads closed loops: what a network steers or predicts, and the sets that trajectories
// are to keep to or to reach.
//
// The state is x, one number for each coordinate; y are the outputs of the network at x, v is noise
// somewhere in a box, anew at each step. The next state is Next(x, y, v). All numbers are exact, as
// decimals and fractions write them. The state space is cut into a grid of closed cells whose edges
// are float64 of few bits; what is outside of the grid counts as unsafe.
package plant

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Plant is a file that has been read.
type Plant struct {
	// Path is the file, SHA256 the digest of its content.
	Path, SHA256 string
	// State are the coordinates of the state, in the order of the file.
	State []Coordinate
	// Inputs holds for each input of the network the coordinate that it is given.
	Inputs []int
	// Outputs and Noise name the network's outputs and the noise, which is within Between.
	Outputs, Noise []string
	Between        [][2]Number
	// Next has the next state, a form for each coordinate, over Variables.
	Next []*Form
	// Start, Safe and Goal are sets of states; Goal is nil if there is none, which asks that
	// trajectories stay safe and not that they get anywhere.
	Start, Safe, Goal Set
	// Fresh says that the network is drawn anew at each step, and not once and for ever; Steps
	// is then how many steps there are.
	Fresh bool
	Steps int
}

// Semantics in files and records.
const (
	Once     = "once"
	EachStep = "each-step"
)

// Semantics is the word for what Fresh says.
func (p *Plant) Semantics() string {
	if p.Fresh {
		return EachStep
	}
	return Once
}

// Coordinate is one of the state, with the edges of its cells: cell k is [Edges[k], Edges[k+1]].
type Coordinate struct {
	Name  string
	Edges []float64
}

// Set is the set of states where every form is at least 0.
type Set []*Form

// Form is the function Constant + sum_i Terms[i].By Terms[i].Of of variables: the state, the
// outputs of the network and the noise, numbered in this order.
type Form struct {
	Constant Number
	Terms    []Term
}

// Term is an atom with what it is multiplied by.
type Term struct {
	By Number
	Of Atom
}

// Atom is a variable if Of is nil; or else the sine of Of, or Of clipped to [Lo, Hi].
type Atom struct {
	Variable int
	Sine     bool
	Of       *Form
	Lo, Hi   Number
}

// Number is Exact, enclosed by two neighbouring float64, or one that it is.
type Number struct {
	Exact  *big.Rat
	Lo, Hi float64
}

// number encloses an exact number; ok is false if it is beyond the range of float64.
func number(r *big.Rat) (n Number, ok bool) {
	v, exact := r.Float64()
	n = Number{r, v + 0, v + 0}
	if !exact && !math.IsInf(v, 0) {
		if new(big.Rat).SetFloat64(v).Cmp(r) < 0 {
			n.Hi = math.Nextafter(v, math.Inf(1))
		} else {
			n.Lo = math.Nextafter(v, math.Inf(-1))
		}
	}
	return n, !math.IsInf(n.Lo, 0) && !math.IsInf(n.Hi, 0)
}

// Cells is how many cells the grid has.
func (p *Plant) Cells() int {
	n := 1
	for _, c := range p.State {
		n *= len(c.Edges) - 1
	}
	return n
}

// Cell sets at to the place of a cell along each coordinate; the last coordinate varies fastest.
func (p *Plant) Cell(number int, at []int) {
	for i := len(p.State) - 1; i >= 0; i-- {
		n := len(p.State[i].Edges) - 1
		at[i], number = number%n, number/n
	}
}

// Number is the number of the cell at a place.
func (p *Plant) Number(at []int) int {
	number := 0
	for i, c := range p.State {
		number = number*(len(c.Edges)-1) + at[i]
	}
	return number
}

// cellWord begins the names of properties of cells.
const cellWord = "cell "

// CellName names a cell's property by the cell's place, as in "cell 3,40".
func CellName(at []int) string {
	words := make([]string, len(at))
	for i, k := range at {
		words[i] = strconv.Itoa(k)
	}
	return cellWord + strings.Join(words, ",")
}

// CellOf reads a name of CellName, what follows behind a space apart; ok is false where no cell of
// the grid is called so.
func (p *Plant) CellOf(name string) (number int, ok bool) {
	words, ok := strings.CutPrefix(name, cellWord)
	words, _, _ = strings.Cut(words, " ")
	list := strings.Split(words, ",")
	if !ok || len(list) != len(p.State) {
		return 0, false
	}
	at := make([]int, len(list))
	for i, word := range list {
		k, err := strconv.Atoi(word)
		if err != nil || k < 0 || k >= len(p.State[i].Edges)-1 {
			return 0, false
		}
		at[i] = k
	}
	return p.Number(at), true
}
