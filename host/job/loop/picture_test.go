package loop

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"psafe/host/job/certify"
)

// TestPicture: the cells of a picture are those that the result rests on; of a record that was changed there is no picture.
func TestPicture(t *testing.T) {
	j := small(t)
	text, _ := os.ReadFile(j.Plant)
	for _, semantics := range []string{"once", "each-step\nsteps: 4"} {
		if err := os.WriteFile(j.Plant, bytes.Replace(text, []byte("once"), []byte(semantics), 1), 0o666); err != nil {
			t.Fatal(err)
		}
		j.Certify.Out.Overwrite = true
		var planned *Planned
		j.Certify.Note = func(n certify.Note) {
			if p, ok := n.(*Planned); ok {
				planned = p
			}
		}
		r, err := j.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if planned == nil || planned.Certified != r.Certified || planned.Dropped != 100-r.Certified || planned.Boxes < r.Certified {
			t.Errorf("%+v", planned)
		}
		out := j.Certify.Out.Path
		p, err := ReadPicture(out)
		if err != nil {
			t.Fatal(err)
		}
		worth := 0
		for _, v := range p.Values {
			if v > 0 {
				worth++
			}
		}
		if middle := p.Values[p.Plant.Number(p.Middle)]; middle < float64(r.PLower) || worth < r.Used || !p.Plant.Fresh && worth != r.Used {
			t.Errorf("%s: of %d cells %d are worth something, the start set's middle %v", semantics, r.Used, worth, middle)
		}
		if !slices.Equal(p.Middle, []int{4, 4}) && !slices.Equal(p.Middle, []int{5, 5}) {
			t.Errorf("the middle is %v", p.Middle)
		}
		result, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range [][2]string{{`"p_lower": 0`, `"p_lower": 1`}, {`"p_lower": 0.9`, `"p_lower": 0.8`}, {r.PlantSHA256, r.CellsSHA256}, {r.CellsSHA256, r.PlantSHA256}, {`"loop"`, `"look"`}} {
			changed := strings.Replace(string(result), change[0], change[1], 1)
			if changed == string(result) {
				continue
			}
			if err := os.WriteFile(out, []byte(changed), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadPicture(out); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %s in place of %s: %v", semantics, change[1], change[0], err)
			}
		}
	}
}
