package property

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/read/vnnlib"
)

// number is a decimal that is often no float64, and sometimes one.
func someNumber(r *rand.Rand) string {
	return []string{"0.1", "-0.3", "0.5", "1e-3", "-2.25", "3.0000000000000000001", "0", "-7e-320", "12345.678"}[r.IntN(9)]
}

// TestQueryEncloses: of random queries T holds every input of the box as stated, Inner none
// but those, and where S holds no polytope does: with exact rational numbers, at points next
// to every end and on every border.
func TestQueryEncloses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	safe, unsafe, strictly := 0, 0, 0
	for range 400 {
		var b strings.Builder
		b.WriteString("(declare-const X_0 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)")
		fmt.Fprintf(&b, "(assert (%s X_0 -%s))(assert (%s X_0 20000.%d))", oneOf(r, ">", ">="), "3."+fmt.Sprint(r.IntN(1000)), oneOf(r, "<", "<="), r.IntN(1000))
		fmt.Fprintf(&b, "(assert (or (and (%s (+ (* %s Y_0) Y_1) %s) (%s Y_0 %s)) (%s Y_1 (- Y_0 %s))))", oneOf(r, ">", ">=", "<", "<=", "="), someNumber(r), someNumber(r),
			oneOf(r, ">", ">=", "<", "<="), someNumber(r), oneOf(r, ">", ">=", "<", "<="), someNumber(r))
		q, err := vnnlib.Read([]byte(b.String()))
		if err != nil {
			t.Fatal(b.String(), err)
		}
		tasks, err := QueryTasks(q, 2)
		if err != nil || len(tasks) != 1 {
			t.Fatal(b.String(), err)
		}
		task, of := &tasks[0], &q.Cases[0]
		if err := task.Check(1, 2); err != nil {
			t.Fatal(err)
		}
		for _, end := range []*big.Rat{of.Box[0].Lo, of.Box[0].Hi} {
			v, _ := end.Float64()
			for _, x := range []float64{v, up(v), down(v), up(up(v)), down(down(v))} {
				in := of.Box[0].Contains(new(big.Rat).SetFloat64(x))
				if in && !(task.T[0].Lo[0] <= x && x <= task.T[0].Hi[0]) || !in && task.Inner[0].Lo[0] <= x && x <= task.Inner[0].Hi[0] {
					t.Fatalf("%s: %v is inside: %v; T is %v, Inner %v", b.String(), x, in, task.T[0], task.Inner[0])
				}
			}
			if !(new(big.Rat).SetFloat64(task.T[0].Lo[0]).Cmp(end) <= 0 && new(big.Rat).SetFloat64(task.T[0].Hi[0]).Cmp(end) >= 0) {
				t.Fatalf("%v is not in %v", end, task.T[0])
			}
		}
		for range 40 {
			y := border(r, of)
			wrong := inUnsafe(of, y)
			in := holdsExactly(&task.S, y)
			if in && wrong {
				t.Fatalf("%s: %v is in S and unsafe", b.String(), y)
			}
			if wrong {
				unsafe++
			} else if in {
				safe++
			} else {
				strictly++ // near the border, where S is smaller
			}
		}
	}
	if safe < 1000 || unsafe < 1000 || strictly > 4000 {
		t.Errorf("%d safe, %d unsafe and %d points that S leaves out", safe, unsafe, strictly)
	}
}

func oneOf(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

// border is a random point, mostly on the border of some constraint of the case, or next to
// it by less than any float64.
func border(r *rand.Rand, c *vnnlib.Case) []*big.Rat {
	y := []*big.Rat{big.NewRat(int64(r.IntN(17)-8), 4), big.NewRat(int64(r.IntN(17)-8), 4)}
	var all []*vnnlib.Constraint
	c.Unsafe.Holds(func(k *vnnlib.Constraint) bool { all = append(all, k); return r.IntN(2) == 0 })
	k := all[r.IntN(len(all))]
	if r.IntN(5) == 0 {
		return y
	}
	term := k.Terms[r.IntN(len(k.Terms))]
	shift := new(big.Rat).Quo(k.Value(nil, y), term.Coef)
	y[term.Of].Sub(y[term.Of], shift)
	tiny := new(big.Rat).SetFrac(big.NewInt(int64(r.IntN(3)-1)), new(big.Int).Exp(big.NewInt(10), big.NewInt(400), nil))
	y[term.Of].Add(y[term.Of], tiny)
	return y
}

// holdsExactly reports whether the stored set surely holds at y: every coefficient of a row at its
// worst.
func holdsExactly(s *Safe, y []*big.Rat) bool {
	lo := make([]float64, len(s.Rows))
	for i, row := range s.Rows {
		v := new(big.Rat).SetFloat64(row.D)
		for j := range y {
			c := row.CLo[j]
			if y[j].Sign() < 0 {
				c = row.CHi[j]
			}
			v.Add(v, new(big.Rat).Mul(new(big.Rat).SetFloat64(c), y[j]))
		}
		lo[i] = float64(v.Sign())
	}
	return s.Holds(lo)
}

// TestQueryStrictness: unsafe at equality makes a strict row, and the other way round.
func TestQueryStrictness(t *testing.T) {
	for _, c := range []struct {
		op    string
		d, hi float64
	}{{"<=", down(-3), -3}, {"<", -3, -3}} {
		path := filepath.Join(t.TempDir(), "q")
		text := "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (= X_0 0.1))(assert (" + c.op + " Y_0 3))"
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		tasks, err := ReadFile(path, 1)
		if err != nil || len(tasks) != 1 {
			t.Fatal(tasks, err)
		}
		row := tasks[0].S.Rows[0]
		if row.CLo[0] != 1 || row.CHi[0] != 1 || row.D != c.d || row.DHi != c.hi || tasks[0].Name != "query" || len(tasks[0].FileSHA256) != 64 {
			t.Errorf("%s: %+v", c.op, tasks[0])
		}
		if box := tasks[0].T[0]; box.Lo[0] != down(0.1) || box.Hi[0] != 0.1 {
			t.Errorf("0.1 is enclosed in %v", box)
		}
	}
}

// inUnsafe reports whether outputs are in the set that the case states.
func inUnsafe(c *vnnlib.Case, y []*big.Rat) bool {
	return c.Unsafe.Holds(func(k *vnnlib.Constraint) bool { return k.Holds(nil, y) })
}

// TestQueryErrors: what does not belong to a network, or is too much, is refused.
func TestQueryErrors(t *testing.T) {
	head := "(declare-const X_0 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)(assert (>= X_0 0))"
	for _, c := range []struct {
		text    string
		outputs int
		want    string
	}{
		{head + "(assert (<= X_0 1))(assert (<= Y_0 1))", 3, "the query has 2 outputs, the network has 3"},
		{head + "(assert (<= X_0 1e400))(assert (<= Y_0 1))", 2, "box 0 of the query: input 0: a number is beyond the range of float64"},
		{head + "(assert (<= X_0 1))(assert (<= Y_0 1e400))", 2, "box 0 of the query: a number is beyond the range of float64"},
		{head + "(assert (<= X_0 -1))(assert (<= Y_0 1))", 2, "line 1:"},
	} {
		path := filepath.Join(t.TempDir(), "q.vnnlib")
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFile(path, c.outputs)
		if wantError(t, err, c.want); err != nil && !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%v does not name the file", err)
		}
	}
}

// TestJoinTasks: boxes with the same safe set become one task, and no others.
func TestJoinTasks(t *testing.T) {
	text := "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (or (and (<= 0 X_0) (<= X_0 1) (< Y_0 0)) (and (<= 2 X_0) (<= X_0 3) (<= Y_0 0)) (and (<= 4 X_0) (<= X_0 5) (< Y_0 0))))"
	q, err := vnnlib.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := QueryTasks(q, 1)
	if err != nil || len(tasks) != 3 || tasks[2].Name != "box 2 of query" {
		t.Fatal(tasks, err)
	}
	joined := JoinTasks(tasks)
	if len(joined) != 2 || len(joined[0].T) != 2 || len(joined[0].Inner) != 2 || joined[0].T[1].Lo[0] != 4 || joined[1].Index != 1 || joined[1].T[0].Lo[0] != 2 || len(tasks[0].T) != 1 {
		t.Errorf("%+v", joined)
	}
	one, two := Task{S: topK(2, 0, 4)}, Task{S: topK(2, 0, 4)}
	if two.S.Gates[0].Need = 1; len(JoinTasks([]Task{one, two})) != 2 || len(JoinTasks([]Task{one, one})) != 1 {
		t.Error("sets of other gates are taken for the same")
	}
	for i := range joined {
		if err := joined[i].Check(1, 1); err != nil {
			t.Error(err)
		}
	}
}

// TestStrictRows: "strict" of a property file moves the offset that a proof uses below the
// one that is written, and no further.
func TestStrictRows(t *testing.T) {
	read := func(row string) (Row, error) {
		path := write(t, "p.json", one(`"kind": "rows", "safe": `+row+`, "boxes": [[[0,1]]]`))
		tasks, err := ReadFile(path, 2)
		if err != nil {
			return Row{}, err
		}
		return tasks[0].S.Rows[0], nil
	}
	for _, c := range []struct {
		row   string
		d, hi float64
	}{
		{`{"row": [1, 0], "offset": 2, "strict": true}`, down(2), 2},
		{`{"row": [1, 0], "offset": 2, "strict": false}`, 2, 2},
		{`{"row": [1, 0], "strict": true}`, -math.SmallestNonzeroFloat64, 0},
		{`{"row": [1, 0], "offset": 0.1, "strict": true}`, down(0.1), 0.1},
	} {
		r, err := read(c.row)
		if err != nil || r.D != c.d || r.DHi != c.hi {
			t.Errorf("%s: %v to %v (%v), want %v to %v", c.row, r.D, r.DHi, err, c.d, c.hi)
		}
	}
	_, err := read(`{"row": [1, 0], "strict": 1}`)
	wantError(t, err, "strict: expected true or false")
	_, err = read(`{"row": [1, 0], "offset": ` + new(big.Rat).SetFloat64(-math.MaxFloat64).FloatString(0) + `, "strict": true}`)
	wantError(t, err, "strict row needs one above")
}
