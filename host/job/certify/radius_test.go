package certify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	}{{"0.05", "0.5", "0.5", 10}, {"0.0005", "0.0123", "0.012", 24}, {"1/255", "0.1", "5/51", 25}, {"2", "9", "8", 4}, {"1e-3", "0.01", "0.01", 10}, {"", "0.1", "0.1", 256}} {
		g, err := (&Points{Step: c.step, Most: c.most}).grid()
		if err != nil || g.most != c.n || g.text(g.most) != c.last || g.text(0) != "0" {
			t.Errorf("%+v: %+v, %v", c, g, err)
		}
	}
	for _, bad := range [][2]string{{"0", "1"}, {"-1", "1"}, {"2", "1"}, {"1e-9", "1"}, {"x", "1"}, {"1", "inf"}, {"", "-1"}, {"", "0"}} {
		if g, err := (&Points{Step: bad[0], Most: bad[1]}).grid(); err == nil || strings.Contains(err.Error(), "\n") {
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
		Tasks: Tasks{Points: Points{Inputs: points, Property: property.KeepsClass, Most: "1", Step: "0.1"}}, Require: "0.6"}
}

// TestRadiiOfPoints: both ends are those of certifying at every radius, with the same bounds, in one run; and
// each task alone has the same record.
func TestRadiiOfPoints(t *testing.T) {
	for name, method := range map[string]Method{"safe": {}, "decision": {Decision: true, Cells: new(40)}} {
		j := radiusJob(t, method)
		list, err := j.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := j
		all.Tasks.Points.Eps, all.Tasks.Points.Most, all.Tasks.Points.Step = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1", "", ""
		records, err := all.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for k, r := range list {
			want, wanted := (*record.Record)(nil), false
			for _, rec := range records {
				v := rec.Wanted()
				if k%2 == 1 {
					v = -v
				}
				switch {
				case rec.Index != r.Index:
				case v > 0 && k%2 == 0 || v > 0 && !wanted:
					want, wanted = rec, true
				case !wanted && (k%2 == 1 || rec.Eps == "0"): // the largest radius, the point itself
					want = rec
				}
			}
			if wanted {
				found++
			}
			if r.RadiusEnd != record.RadiusEndWords[k%2] || r.Index != k/2 || r.Eps != want.Eps || r.PLower != want.PLower || r.PUpper != want.PUpper || r.Verdict != want.Verdict || !r.Identified() {
				t.Errorf("%s, task %d: %+v, want %+v", name, k, r, want)
			}
		}
		if found < 3 || len(list) != 6 {
			t.Errorf("%s: only %d ends of %d", name, found, len(list))
		}
		if gaps := record.Gaps(placed(list)); len(gaps) > 0 {
			t.Errorf("%s: %v", name, gaps)
		}
		prepared, err := j.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		for k := range prepared.Len() {
			known, err := prepared.Known(k)
			if err == nil {
				err = prepared.Certify(t.Context(), []int{k}, func(at int, rec *record.Record) error {
					rec.Tasks, rec.Run = list[k].Tasks, list[k].Run
					if field, is, want := record.Differ(rec, list[k]); at != k || field != "" || known.ID != rec.ID || known.Eps != "" {
						t.Errorf("%s, task %d alone: %s is %s, in the run %s", name, k, field, is, want)
					}
					return nil
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRadiiCertifiedOnly: without upper bounds nothing is refuted, and nothing is looked for.
func TestRadiiCertifiedOnly(t *testing.T) {
	both := radiusJob(t, Method{})
	one := both
	one.Method.NoUpper = true
	all, err := both.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := one.Run(t.Context())
	if err != nil || len(list) != 3 {
		t.Fatalf("%d records, %v", len(list), err)
	}
	for k, r := range list {
		if r.RadiusEnd != record.RadiusEndWords[0] || r.Eps != all[2*k].Eps {
			t.Errorf("point %d: %s %s, with upper bounds %s", k, r.RadiusEnd, r.Eps, all[2*k].Eps)
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
	s := &search{grid: &grid{most: 8}, ends: record.RadiusEndWords[:]}
	e := s.newEnds(0)
	if err := e.learn(4, at(claim.DecisionSafe)); err != nil || e.next() != 6 {
		t.Errorf("%+v, %v", e, err)
	}
	if err := e.learn(6, at("unknown")); err != nil || e.next() != 5 {
		t.Errorf("%+v, %v: nothing is known of 5", e, err)
	}
	for _, of := range []struct {
		k       int
		verdict string
	}{{8, claim.DecisionUnsafe}, {7, "unknown"}} {
		if err := e.learn(of.k, at(of.verdict)); err != nil {
			t.Fatal(err)
		}
	}
	if r := e.records[1]; e.refuted != 8 || r.Wanted() >= 0 {
		t.Errorf("%+v: refuted at 8, with the record %+v", e, r)
	}
	if err := e.learn(3, at(claim.DecisionUnsafe)); err == nil {
		t.Error("radius 4 is certified, and 3 refuted")
	}
}

func TestRadiiRefused(t *testing.T) {
	for want, change := range map[string]func(*Job){
		"--eps is what is looked for": func(j *Job) { j.Tasks.Points.Eps = "0.1" },
		"--step is that of radii":     func(j *Job) { j.Tasks.Points.Most = "" },
		"--time-limit is not for":     func(j *Job) { j.TimeLimit = new(time.Second) },
		"radii are those around":      func(j *Job) { j.Tasks.File = "p.json" },
		"weight boxes are not for radii": func(j *Job) {
			j.Method = Method{By: new(prove.IBP), Draws: new(3), Gamma: new(1.0)}
			j.Posterior.Path = testFile("tiny-2-3-2-tanh.npz")
		},
	} {
		j := radiusJob(t, Method{})
		change(&j)
		if _, err := j.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
