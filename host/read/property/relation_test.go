package property

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestReadRelation: S of each relation is what its words say, exactly, at random outputs.
func TestReadRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 6))
	for range 300 {
		m := 2 + rng.IntN(2)
		y := make([]float64, 2*m)
		for i := range y {
			y[i] = float64(rng.IntN(5)) / 4
		}
		same, within := false, true
		rises, falls := true, true
		for c := range m {
			top := true
			for i := range m {
				top = top && y[c] >= y[i] && y[m+c] >= y[m+i]
			}
			same = same || top
			d := y[m+c] - y[c]
			rises, falls, within = rises && d >= 0, falls && d <= 0, within && d <= 0.5 && d >= -0.5
		}
		for words, want := range map[string]bool{
			"monotone:1:[0,0.1]": rises, "falling:1:[0,1/3]": falls, "fair:0,2:0.5": within, "fair:1:3:0.5": within, "fair:0:same_class": same,
			"lipschitz:5:0.1": within, "lipschitz:1/3:1.5": within, "same_class:0.1": same, "within:0.5": within, "same_class": same,
		} {
			read := ReadRelation
			if words == "within:0.5" || words == "same_class" {
				read = ReadComparison
			}
			r, err := read(words, 3, m)
			if err != nil {
				t.Fatal(err)
			}
			s, ok := r.Safe()
			margins := make([]float64, len(s.Rows))
			for k, row := range s.Rows {
				margins[k] = row.D
				for i := range y {
					margins[k] += row.CLo[i] * y[i]
				}
			}
			if inputs, outputs := r.Shape(3, m); !ok || s.Holds(margins) != want || inputs != 3+len(r.At) || outputs != 2*m {
				t.Fatalf("%s: %v at %v, want %v", words, !want, y, want)
			}
		}
	}
	for _, words := range []string{"step:2:[-1,0.5]", "swap:0,2", "near:1/3"} {
		r, err := ReadRelation(words, 3, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, says := r.Safe(); says {
			t.Errorf("%s says what is asked", words)
		}
	}
}

// TestReadRelationRefuses: what is no relation is refused in one line that names the flag.
func TestReadRelationRefuses(t *testing.T) {
	for _, words := range []string{
		"monoton:0:[0,1]", "monotone", "monotone:0", "monotone:3:[0,1]", "monotone:0,1:[0,1]", "monotone:0:[-1,1]", "falling:0:[0,]", "step:0:[1,0]", "step:0:[0,1],[0,1]",
		"fair:0", "fair:0:", "fair:0:-1", "fair:7:1", "fair:0:other", "swap", "lipschitz:1", "lipschitz:-1:1", "lipschitz:1:-1", "lipschitz:1e300:1e300", "lipschitz:x:1", "same_class:", "near:nan", ":", "near:r.npy", "within:1", "same_class",
	} {
		if _, err := ReadRelation(words, 3, 2); err == nil || !strings.HasPrefix(err.Error(), "--relation ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", words, err)
		}
	}
	for words, want := range map[string]string{
		"monotone:1":         "how far the input moves is missing; write monotone:J:[LO,HI]",
		"step:2:0.5":         `"0.5": pair 0: "0.5" is not a pair of bounds`,
		"falling:2:[0.7,.6]": `pair 0: lower bound`,
	} {
		if _, err := ReadRelation(words, 3, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", words, err)
		}
	}
	for _, words := range []string{"within", "within:", "within:-1", "within:x", "within:1:2", "same_class:1", "swap:0", "near:1", "lipschitz:1:1", ":"} {
		if _, err := ReadComparison(words, 3, 2); err == nil || !strings.HasPrefix(err.Error(), "--relation ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q of two networks: %v", words, err)
		}
	}
	_, err := ReadRelation("same_class:1", 3, 1)
	_, twice := ReadComparison("same_class", 3, 1)
	if err == nil || twice == nil {
		t.Error("one output has classes")
	}
	if r, err := ReadComparison("", 3, 2); err != nil || r.safe != nil {
		t.Errorf("%v: no words say what is asked", err)
	}
}

// TestExtend: T of pairs has all u that there are, whatever numbers the texts are, and its inner boxes none else.
func TestExtend(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 7))
	for range 400 {
		a, b := big.NewRat(int64(rng.IntN(30)), 7), big.NewRat(int64(30+rng.IntN(30)), 7)
		std := big.NewRat(int64(1+rng.IntN(20)), int64(1+rng.IntN(20)))
		var norm *Norm
		if rng.IntN(4) > 0 {
			n, err := ReadNorm("0.5", std.String(), 2, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			norm = n
		} else {
			std = big.NewRat(1, 1)
		}
		words := fmt.Sprintf("step:1:[%v,%v]", a, b)
		if rng.IntN(2) == 0 {
			words, a = fmt.Sprintf("near:%v", b), new(big.Rat).Neg(b)
		}
		r, err := ReadRelation(words, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		box := Box{[]float64{-1, 0.25}, []float64{1, 0.5}}
		task := Task{Label: -1, T: []Box{box}, Inner: []Box{box}, S: Safe{Any: [][]int{nil}}}
		if err := r.Extend(&task, norm); err != nil {
			t.Fatal(err)
		}
		lo, hi := new(big.Rat).Quo(a, std), new(big.Rat).Quo(b, std)
		outer, inner := task.T[0], task.Inner[0]
		for k := 2; k < len(outer.Lo); k++ {
			if exact(outer.Lo[k]).Cmp(lo) > 0 || exact(outer.Hi[k]).Cmp(hi) < 0 || exact(inner.Lo[k]).Cmp(lo) < 0 || exact(inner.Hi[k]).Cmp(hi) > 0 {
				t.Fatalf("%s over %v: from %v to %v, within %v to %v", words, std, outer.Lo[k], outer.Hi[k], inner.Lo[k], inner.Hi[k])
			}
		}
		if len(box.Lo) != 2 || len(outer.Lo) != 2+len(r.At) {
			t.Fatalf("%s: %v", words, outer)
		}
	}
	r, err := ReadRelation("swap:1", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	box := Box{[]float64{-1, 0.25}, []float64{1, 0.5}}
	both, err := ReadComparison("within:1", 2, 1)
	two := Task{Label: -1, T: []Box{box, box}, Inner: []Box{{}, box}, S: Safe{Any: [][]int{nil}}}
	if err = cmp.Or(err, both.Extend(&two, nil)); err != nil || !reflect.DeepEqual(two.T, []Box{box, box}) || !reflect.DeepEqual(two.Inner, []Box{{}, box}) {
		t.Errorf("%v: two networks at one input: %+v", err, two)
	}
	task := Task{Label: -1, T: []Box{box}, Inner: []Box{{}}, S: Safe{Any: [][]int{nil}}}
	if err := r.Extend(&task, nil); err != nil || task.T[0].Lo[2] != 0.25 || task.T[0].Hi[2] != 0.5 || task.Inner[0].Lo != nil {
		t.Errorf("%v: %v", task, err)
	}
	for _, bad := range []Task{{Label: 1, T: []Box{box}}, {Label: -1, T: []Box{box, box}}, {Label: -1, T: []Box{box}, Ball: &Ball{}}, {Label: -1, T: []Box{{box.Lo[:1], box.Hi[:1]}}}} {
		if err := r.Extend(&bad, nil); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v is taken: %v", bad, err)
		}
	}
}
