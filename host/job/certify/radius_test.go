package certify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/host/record"
)

// TestRadiusGrid: radii are written as flags have them, and what makes no grid is refused in a line.
func TestRadiusGrid(t *testing.T) {
	for _, c := range []struct {
		step, most, last string
		n                int
	}{{"0.05", "0.5", "0.5", 10}, {"0.0005", "0.0123", "0.012", 24}, {"1/255", "0.1", "5/51", 25}, {"2", "9", "8", 4}, {"1e-3", "0.01", "0.01", 10}} {
		g, err := (&Radii{c.step, c.most}).grid()
		if err != nil || g.most != c.n || g.text(g.most) != c.last || g.text(0) != "0" {
			t.Errorf("%+v: %+v, %v", c, g, err)
		}
	}
	for _, bad := range []Radii{{"", "1"}, {"0", "1"}, {"-1", "1"}, {"2", "1"}, {"1e-9", "1"}, {"x", "1"}, {"1", "inf"}} {
		if g, err := bad.grid(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %+v, %v", bad, g, err)
		}
	}
}

// radiusJob is about three points, of a finite set of networks.
func radiusJob(t *testing.T, m Method) Job {
	t.Helper()
	points := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(points, []byte("0.3,-0.2\n-1,0.7\n0.05,0.02\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return Job{Posterior: Posterior{Path: testFile("samples-2-8-3.npz")}, Method: m, Open: onCPU, Out: Output{OmitTiming: true},
		Tasks: Tasks{Points: Points{Inputs: points, Property: property.KeepsClass}}, Require: "0.6"}
}

// TestRadiiOfPoints: both ends are those of certifying at every radius, with the same bounds, in one run.
func TestRadiiOfPoints(t *testing.T) {
	for name, method := range map[string]Method{"safe": {}, "decision": {Decision: true, Cells: new(40)}} {
		j := radiusJob(t, method)
		list, err := j.Radii(t.Context(), Radii{"0.1", "1"})
		if err != nil {
			t.Fatal(err)
		}
		all := j
		all.Tasks.Points.Eps = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
		records, err := all.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ends := 0
		for _, r := range list {
			var certified, refuted *record.Record
			for _, rec := range records {
				switch v := rec.Wanted(); {
				case rec.Index != r.Index:
				case v > 0:
					certified = rec
				case v < 0 && refuted == nil:
					refuted = rec
				}
			}
			for _, of := range []struct{ is, want *record.Record }{{r.Certified, certified}, {r.Refuted, refuted}} {
				if of.want != nil {
					ends++
				}
				if (of.is == nil) != (of.want == nil) || of.is != nil && (of.is.Eps != of.want.Eps || of.is.ID != of.want.ID || of.is.PLower != of.want.PLower) {
					t.Errorf("%s, point %d: %+v, want %+v", name, r.Index, of.is, of.want)
				}
			}
		}
		if ends < 3 {
			t.Errorf("%s: only %d ends", name, ends)
		}
		if gaps := record.Gaps(placed(RecordsOf(list))); len(gaps) > 0 {
			t.Errorf("%s: %v", name, gaps)
		}
	}
}

// placed are records as if from a file.
func placed(records []*record.Record) (list []record.Placed) {
	for i, r := range records {
		list = append(list, record.Placed{Record: r, File: "r.jsonl", Line: i + 1})
	}
	return list
}

// TestEnds: what is next after a radius that is certified and one that is not; a bound that says both of
// one radius leaves nothing behind.
func TestEnds(t *testing.T) {
	at := func(verdict string) *record.Record {
		return &record.Record{Decision: &record.Decision{Verdict: verdict}}
	}
	e := ends{certified: -1, no: 9, yes: -1, refuted: 9}
	if err := e.learn(4, at(claim.DecisionSafe)); err != nil || e.next() != 6 {
		t.Errorf("%+v, %v", e, err)
	}
	if err := e.learn(6, at("unknown")); err != nil || e.next() != 5 {
		t.Errorf("%+v, %v: nothing is known of 5", e, err)
	}
	if err := e.learn(3, at(claim.DecisionUnsafe)); err == nil {
		t.Error("radius 4 is certified, and 3 refuted")
	}
}

func TestRadiiRefused(t *testing.T) {
	for want, change := range map[string]func(*Job){
		"--eps is what is looked for": func(j *Job) { j.Tasks.Points.Eps = "0.1" },
		"radii are those around":      func(j *Job) { j.Tasks.File = "p.json" },
		"--boxes drawn is not": func(j *Job) {
			j.Method = Method{By: new(prove.IBP), Boxes: new(prove.Drawn), Draws: new(3), Gamma: new(1.0)}
			j.Posterior.Path = testFile("tiny-2-3-2-tanh.npz")
		},
	} {
		j := radiusJob(t, Method{})
		change(&j)
		if _, err := j.Radii(t.Context(), Radii{"0.1", "1"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
