package property

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"psafe/internal/testscale"
)

// TestGridFile: the cells of a grid cover the box, as rational numbers, with no gap: the edges of neighbours are one
// float64, and what ReadFile reads of the file is those numbers, rounded no more.
func TestGridFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 7))
	path := filepath.Join(t.TempDir(), "cells.json")
	for i := range testscale.Cases(t, 200) {
		var sides, parts []string
		var ends [][2]*big.Rat
		for range 1 + rng.IntN(3) {
			a, b := gridNumber(rng), gridNumber(rng)
			if a.Cmp(b) > 0 {
				a, b = b, a
			}
			n := 1 + rng.IntN(5)
			if a.Cmp(b) == 0 {
				n = 1
			}
			text := func(x *big.Rat) string {
				if i%2 == 0 {
					return x.FloatString(25)
				}
				return x.String()
			}
			x, _ := new(big.Rat).SetString(text(a))
			y, _ := new(big.Rat).SetString(text(b))
			ends = append(ends, [2]*big.Rat{x, y})
			sides, parts = append(sides, "["+text(a)+","+text(b)+"]"), append(parts, fmt.Sprint(n))
		}
		whole := i%3 == 0
		file, err := GridFile(strings.Join(sides, ","), strings.Join(parts, "x"), "argmax_is:1", nil, whole)
		if err != nil {
			if strings.Contains(err.Error(), "cannot be cut") { // the box is as narrow as float64 allows
				continue
			}
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		tasks, err := ReadFile(path, 2)
		if err != nil {
			t.Fatal(err)
		}
		if whole {
			last := tasks[len(tasks)-1]
			tasks = tasks[:len(tasks)-1]
			gridCovers(t, ends, []Task{last}, 0)
		}
		gridCovers(t, ends, tasks, 0)
		var boxes []Box
		for _, task := range tasks {
			boxes = append(boxes, task.T[0])
			for j := range ends {
				if task.T[0].Lo[j] != task.Inner[0].Lo[j] || task.T[0].Hi[j] != task.Inner[0].Hi[j] {
					t.Fatalf("%s: %v was rounded: %v", file, task.T, task.Inner)
				}
			}
		}
		if file, err = UnionFile(boxes, "argmax_is:1", nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		if union, err := ReadFile(path, 2); err != nil || len(union) != 1 || !reflect.DeepEqual(union[0].T, boxes) || !reflect.DeepEqual(union[0].Inner, boxes) {
			t.Fatalf("the union of %v: %v, %v", boxes, union, err)
		}
	}
}

// gridNumber draws numbers of many sizes, few of which float64 has.
func gridNumber(rng *rand.Rand) *big.Rat {
	x := big.NewRat(int64(rng.IntN(2001)-1000), int64(1+rng.IntN(1000)))
	if rng.IntN(4) == 0 {
		return x.Mul(x, big.NewRat(1, 1<<40))
	}
	return x
}

// gridCovers: along input j the cells make one chain from the lower end to the upper one; and so in each link along
// the next input.
func gridCovers(t *testing.T, ends [][2]*big.Rat, cells []Task, j int) {
	t.Helper()
	if j == len(ends) {
		if len(cells) != 1 {
			t.Fatalf("%d cells are one", len(cells))
		}
		return
	}
	var from, to float64
	for first := 0; first < len(cells); {
		lo, hi, last := cells[first].T[0].Lo[j], cells[first].T[0].Hi[j], first
		for last < len(cells) && cells[last].T[0].Lo[j] == lo && cells[last].T[0].Hi[j] == hi {
			last++
		}
		if first == 0 {
			from = lo
		} else if lo != to {
			t.Fatalf("input %d: a gap between %v and %v", j, to, lo)
		}
		to = hi
		gridCovers(t, ends, cells[first:last], j+1)
		first = last
	}
	exact := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	if exact(from).Cmp(ends[j][0]) > 0 || exact(to).Cmp(ends[j][1]) < 0 {
		t.Fatalf("input %d: %v to %v does not contain %v to %v", j, from, to, ends[j][0], ends[j][1])
	}
}

// TestGridRefused: what is no box or no grid of it is an error that names the flag.
func TestGridRefused(t *testing.T) {
	for _, c := range []struct{ box, grid, want string }{
		{"[0,1],[0,1]", "4", "--grid"}, {"[0,1],[0,1]", "4x4x4", "--grid"}, {"[0,1]", "0", "--grid"}, {"[0,1]", "-4", "--grid"}, {"[0,1]", "4.5", "--grid"},
		{"[0,1]", "200000", "--grid"}, {"[0,1],[0,1],[0,1]", "1000x1000x1000", "--grid"}, {"[1,1]", "2", "--grid"}, {"[1,1.0000000000000004]", "5", "--grid"},
		{"[0,inf]", "4", "--box"}, {"[1,0]", "4", "--box"}, {"0,1", "4", "--box"}, {"", "4", "--box"}, {"[nan,1]", "4", "--box"}, {"[-1e308,1e309]", "4", "--box"},
	} {
		if file, err := GridFile(c.box, c.grid, "argmax_is:1", nil, false); err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %s: %v\n%.300s", c.box, c.grid, err, file)
		}
	}
	if _, err := GridFile("[0,1]", "2", "argmax_is:1", []string{"a", "b"}, false); err == nil {
		t.Error("two names for one input")
	}
}
