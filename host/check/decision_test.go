package check

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// decisionJobs are jobs about decisions: of noise, of a finite set, on cells, of a class that is not
// the predictive's.
func decisionJobs(t testing.TB) map[string]*certify.Job {
	jobs := map[string]*certify.Job{}
	clbp := certify.Method{By: new(prove.CLBP), Decision: true, NoUpper: true}
	for i, p := range []bound.Precision{bound.Float64, bound.Float32} {
		of := fmt.Sprintf("%v ", p)
		if i == 0 || testscale.Deep(t) {
			jobs[of+"glyphs"] = images("glyphs-64-24-24-10.npz", 1, "0.02", clbp, p)
		}
		if i == 0 {
			other := images("glyphs-64-32-10.npz", 1, "0.01", clbp, p)
			other.Tasks.Points.Label = "3"
			jobs[of+"glyphs, another class"] = other
		}
		if i == 0 {
			confined := images("glyphs-64-32-10.npz", 7, "0.028", certify.Method{By: new(prove.Phases), Decision: true, NoUpper: true}, p)
			confined.Tasks.Points.Index = new("6:7")
			jobs[of+"phases"] = confined
		}
		few := clbp
		few.Cells = new(8)
		tanh := file("tiny-2-3-2-tanh.npz", "", few, p)
		tanh.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "pairs.csv"), Eps: "0.3", Property: property.KeepsClass}}
		jobs[of+"tanh"] = tanh
		samples := *tanh
		samples.Posterior.Path = testFile("samples-2-8-3.npz")
		samples.Method = certify.Method{By: new(prove.Finite), Decision: true, Cells: new(8)}
		jobs[of+"samples"] = &samples
		if i == 0 {
			reject, costs := samples, *tanh
			reject.Method.Reject = "0.6"
			jobs[of+"samples, reject"] = &reject
			costs.Method.Costs, costs.Method.Action = "0,1;1/3,0;2,2", "label"
			jobs[of+"tanh, costs"] = &costs
			full := *tanh
			full.Posterior.Path = testFile("correlated-2-8-3.npz")
			jobs[of+"a covariance"] = &full
			dropped, swag := full, full
			dropped.Posterior.Path, swag.Posterior.Path = testFile("dropout-2-8-3.npz"), testFile("swag-2-8-3.npz")
			jobs[of+"dropout"], jobs[of+"swag"] = &dropped, &swag
			probit := full
			probit.Method.Link = certify.LinkProbit
			jobs[of+"probit"] = &probit
		}
		zero := samples
		zero.Tasks.Points.Property = "argmax_is:0"
		jobs[of+"samples, class 0"] = &zero
	}
	return jobs
}

// TestCheckDecision: every record passes; none does in which a number of the decision is better by more
// than certify keeps back, or that names another certificate which does not prove it.
func TestCheckDecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 5))
	verdicts, forged := map[string]int{}, 0
	jobs := decisionJobs(t)
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		var c Checker
		for i, line := range written(t, jobs[name]) {
			v, err := c.Check(t.Context(), line, false)
			if err != nil || v.Refused != nil {
				t.Errorf("%s: line %d: %v %v\n%s", name, i, err, v.Refused, line)
				continue
			}
			verdicts[string(regexp.MustCompile(`"decision":\{"verdict":"([a-z_]*)"`).FindSubmatch(line)[1])]++
			bad := forgedDecisions(t, rng, line)
			names := slices.Sorted(maps.Keys(bad))
			rng.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
			if !testscale.Deep(t) && (strings.Contains(name, "glyphs") || strings.Contains(name, "dropout") || strings.Contains(name, "swag")) {
				names = names[:1]
			}
			if !testscale.Deep(t) && strings.HasPrefix(name, "float64") { // of each precision others
				names = names[:(len(names)+1)/2]
			}
			if strings.Contains(name, "phases") {
				if names = []string{"margin", "phases_tau", "gap", "vote"}; bad["margin"] == nil {
					t.Errorf("%s: no margin in %s", name, line)
				}
			}
			for _, what := range names {
				bad := bad[what]
				forged++
				if v, err := c.Check(t.Context(), bad, false); err != nil || v.Refused == nil {
					t.Errorf("%s: line %d passes with %s: %v\n%s", name, i, what, err, bad)
				}
			}
		}
	}
	t.Log(verdicts, forged)
	if verdicts["decision_safe"] < 4 || verdicts["decision_unsafe"] < 4 || forged < 40 {
		t.Errorf("verdicts %v, %d forged", verdicts, forged)
	}
}

// forgedDecisions are lines that claim more than is proved, or another verdict, and others that no
// certify writes.
func forgedDecisions(t *testing.T, rng *rand.Rand, line []byte) map[string][]byte {
	list := map[string][]byte{}
	add := func(what, re string, to func(old string) string) {
		at := regexp.MustCompile(re).FindSubmatchIndex(line)
		if at == nil {
			return
		}
		text := to(string(line[at[2]:at[3]]))
		if bad := bytes.Join([][]byte{line[:at[2]], []byte(text), line[at[3]:]}, nil); !bytes.Equal(bad, line) {
			list[what] = resealed(bad)
		}
	}
	// Of what is missing to 1 a good part, since check may prove a little more than certify.
	better := func(up bool) func(string) string {
		return func(old string) string {
			x, err := strconv.ParseFloat(old, 64)
			if err != nil {
				t.Fatal(err)
			}
			share := 0.6 + 0.4*rng.Float64()
			if up {
				return property.DecimalDown(min(1, x+(1-x)*share+1e-3))
			}
			return property.DecimalUp(math.Max(0, x*(1-share)-1e-3))
		}
	}
	add("lower", `"decision":\{.*?"lower":([^,]*)`, better(true))
	add("rival_upper", `"rival_upper":([^,]*)`, better(false))
	add("class_upper of a class", `"class_upper":\[([^,\]]*)`, better(false))
	add("class_upper of the last", `"class_upper":\[[^\]]*,([^,\]]*)\]`, better(false))
	add("class_upper of one class more", `"class_upper":\[([^,\]]*)`, func(old string) string { return "1," + old })
	add("gap", `"gap":([^,]*)`, better(true))
	add("vote", `"vote":([^,}]*)`, better(true))
	add("rival_gap", `"rival_gap":([^,}]*)`, better(true))
	add("verdict", `"decision":\{"verdict":"([a-z_]*)"`, func(old string) string {
		if old == "decision_safe" {
			return "unknown"
		}
		return "decision_safe"
	})
	next := func(old string) string {
		k, _ := strconv.Atoi(old)
		return fmt.Sprint((k + 1) % 2)
	}
	add("margin", `"margin":([0-9.]*),"phases_tau"`, func(string) string { return "3" })
	add("phases_tau", `"phases_tau":([^,]*)`, func(string) string { return "1e-30" })
	add("rival", `"rival":([0-9]*)`, next)
	add("action", `"action":([0-9]*)`, next)
	add("no action", `"decision":\{[^}]*(,"action":[0-9]*)`, func(string) string { return "" })
	add("no costs", `"flags":"[^"]*( --costs [^" ]*| --reject [^" ]*)`, func(string) string { return "" })
	add("a class of reference", `"reference":([0-9]*)`, func(string) string { return "77" })
	add("no decision asked", `"flags":"[^"]*( --target decision)`, func(string) string { return "" })
	add("another target", `"flags":"[^"]*--target (decision)`, func(string) string { return "safe" })
	if strings.Contains(string(line), "decision_safe") {
		add("tau", `"decision":\{[^}]*"tau":\[([^\]]*)\]\}?\},"checksum`, func(string) string { return "1e-300" })
		add("a large region", `"eps":"([^"]*)"`, func(string) string { return "3" })
	}
	return list
}

// TestNamesOfFiles: a property of a file may have the name of another one. argmax_is:1 may say that class
// 1 is never the largest output, whose rows would be taken for margins of class 1, and output_box:[3,4] be a
// box that holds everything. No record of a file has a decision or means.
func TestNamesOfFiles(t *testing.T) {
	for _, of := range []struct{ posterior, entry, target, claim, proof, refused string }{
		{"tiny-2-3-2-tanh.npz", `"name":"argmax_is:1","kind":"argmax_is_never","class":1,"boxes":[[[0.25,0.35],[-0.25,-0.15]]]`, "decision",
			`"decision":{"verdict":"decision_safe","lower":0,"rival_upper":1,"gap":` + property.DecimalDown(0.5) + `,"vote":0}`, `,"decision":{"tau":[0.0001]}`, "decision: the property is that of a file"},
		{"cubic-128.npz", `"name":"output_box:[3,4]","kind":"output_box","output":[[-1e9,1e9]],"boxes":[[[0.25,0.35]]]`, "mean",
			`"output_mean":{"verdict":"mean_safe","lower":[` + property.DecimalDown(-1e6) + `],"upper":[` + property.DecimalUp(1e6) + `],"sd_lower":[0],"sd_upper":[` + property.DecimalUp(1e6) + `]}`, "", "output_mean: the property is that of a file"},
	} {
		path := filepath.Join(t.TempDir(), "p.json")
		if err := os.WriteFile(path, []byte(`{"properties":[{`+of.entry+`}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		job := file(of.posterior, "", certify.Method{By: new(prove.CLBP), NoUpper: true}, bound.Float64)
		job.Tasks = certify.Tasks{File: path}
		var c Checker
		line := written(t, job)[0]
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
			t.Fatalf("without a claim: %v %v", err, v.Refused)
		}
		for _, r := range [][2]string{{`--no-upper"`, `--no-upper --target ` + of.target + `"`}, {`,"margin"`, "," + of.claim + `,"margin"`}, {`]},"checksum"`, `]` + of.proof + `},"checksum"`}} {
			line = bytes.Replace(line, []byte(r[0]), []byte(r[1]), 1)
		}
		ids, err := record.Identities(line)
		if err != nil {
			t.Fatal(err)
		}
		line = regexp.MustCompile(`"id":"[^"]*"`).ReplaceAll(line, fmt.Appendf(nil, `"id":"%s"`, ids[0]))
		if v, err := c.Check(t.Context(), resealed(line), false); err != nil || v.Refused == nil || !strings.HasPrefix(v.Refused.Error(), of.refused) {
			t.Errorf("with one: %v %v\n%s", err, v.Refused, line)
		}
	}
}

// TestActionOfLabel: to abstain is not the best action for a class, whatever is proved of it.
func TestActionOfLabel(t *testing.T) {
	job := decisionJobs(t)["float64 samples, reject"]
	var c Checker
	for _, line := range written(t, job) {
		if !bytes.Contains(line, []byte(`"action":3`)) {
			continue
		}
		line = bytes.Replace(line, []byte(`--reject 0.6"`), []byte(`--reject 0.6 --action label"`), 1)
		ids, err := record.Identities(line)
		if err != nil {
			t.Fatal(err)
		}
		line = regexp.MustCompile(`"id":"[^"]*"`).ReplaceAll(line, fmt.Appendf(nil, `"id":"%s"`, ids[0]))
		if v, err := c.Check(t.Context(), resealed(line), false); err != nil || v.Refused == nil || !strings.HasPrefix(v.Refused.Error(), "decision: action 3 is not the best for class") {
			t.Errorf("%v %v", err, v.Refused)
		}
		return
	}
	t.Error("nowhere does it abstain")
}

// TestSpacesInProperty: the words of a property may have spaces around them.
func TestSpacesInProperty(t *testing.T) {
	spaced := file("tiny-2-3-2-tanh.npz", "", certify.Method{By: new(prove.CLBP), NoUpper: true, Decision: true}, bound.Float64)
	spaced.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "pairs.csv"), Eps: "0.3", Property: " argmax_is:0"}}
	var c Checker
	for _, line := range written(t, spaced) {
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
			t.Errorf("%v %v\n%s", err, v.Refused, line)
		}
	}
}
