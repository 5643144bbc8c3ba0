package check

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/moments"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/networktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// moment are lines of records by exact moments, made once for all tests.
var moment struct {
	once         sync.Once
	lower, upper [][]byte
}

// momentRecords are lines of records by exact moments: of one and of two hidden layers, with lower and with upper bounds.
func momentRecords(t *testing.T) (lower, upper [][]byte) {
	t.Helper()
	moment.once.Do(func() { moment.lower, moment.upper = writeMoments(t) })
	return moment.lower, moment.upper
}

func writeMoments(t *testing.T) (lower, upper [][]byte) {
	t.Helper()
	own, other := "2,5", "2"
	if testscale.Deep(t) {
		own, other = "0:12", "0:12"
	}
	for _, of := range []struct {
		file string
		sd   string
	}{{"glyphs-64-24-24-10.npz", "10"}, {"glyphs-64-32-10.npz", "20"}} {
		for _, label := range []string{"", "3"} {
			j := images(of.file, 1, "0", certify.Method{By: new(prove.Chernoff)}, bound.Float64)
			j.Tasks.Points.Index, j.Posterior.Factor = &own, of.sd
			if of.sd == "20" && !testscale.Deep(t) { // of one hidden layer there is less to forge
				j.Tasks.Points.Index = &other
			}
			if label != "" {
				j.Tasks.Points.Index, j.Tasks.Points.Label = &other, label
			}
			for _, line := range written(t, j) {
				if bytes.Contains(line, []byte(`"chernoff":[{`)) {
					lower = append(lower, line)
				}
				if bytes.Contains(line, []byte(`"upper":{"method":"chernoff"`)) {
					upper = append(upper, line)
				}
			}
		}
	}
	return lower, upper
}

// TestCheckMoments: every record passes, and none passes that claims more, or whose proof is another's.
func TestCheckMoments(t *testing.T) {
	lower, upper := momentRecords(t)
	if t.Logf("%d lower bounds, %d upper ones", len(lower), len(upper)); len(lower) < 3 || len(upper) < 2 {
		t.Fatalf("only %d lower bounds and %d upper ones", len(lower), len(upper))
	}
	var c Checker
	refused := func(what, says string, line []byte) {
		t.Helper()
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), says) {
			t.Errorf("%s: %v %v\n%.300s", what, err, v.Refused, line)
		}
	}
	for _, line := range slices.Concat(lower, upper) {
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
			t.Errorf("%v %v\n%s", err, v.Refused, line)
		}
	}
	for i, line := range lower {
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		refused("a better bound", "p_lower", claiming(t, line, 1-(1-r.PLower.Lo)*0.95))
		if i > 0 && !testscale.Deep(t) || !bytes.Contains(line, []byte(`"slopes"`)) {
			continue // with one hidden layer there are no planes and no statements
		}
		// Four statements a neuron fail with twice the whole, one with half of it; the rows fail with less than the whole.
		fail := 1 - r.PLower.Lo
		more := fmt.Sprint(2 * fail / (4 * 24))
		refused("statements that are not counted", "p_lower", claiming(t, changed(t, changed(t, line, `"tau":\[[^]]*\]`, `"tau":[`+more+`]`), `"tau":[^[,]*,`, `"tau":`+more+`,`), 1-1.8*fail))
		refused("no proof", "chernoff", resealed(bytes.Replace(line, append([]byte(`"chernoff":`), r.Proof.Chernoff...), []byte(`"chernoff":[]`), 1)))
		refused("another budget", "tau", changed(t, line, `"tau":\[[^]]*\]`, `"tau":[1e-13]`))
		refused("a larger eps", "p_lower", resealed(bytes.Replace(line, []byte(`"eps":"0"`), []byte(`"eps":"0.01"`), 1)))
		for what, of := range map[string]struct {
			says   string
			change func(p *record.ChernoffProof)
		}{
			"a row less":            {"rows for", func(p *record.ChernoffProof) { p.Rows = p.Rows[1:] }},
			"a rate below 0":        {"rate", func(p *record.ChernoffProof) { p.Rows[0].Rate = -1 }},
			"no rate":               {"p_lower", func(p *record.ChernoffProof) { p.Rows[0].Rate = 0 }},
			"another rate":          {"p_lower", func(p *record.ChernoffProof) { p.Rows[0].Rate *= 3; p.Rows[1].Rate *= 3; p.Rows[2].Rate *= 3 }},
			"a byte less":           {"bytes", func(p *record.ChernoffProof) { p.Rows[0].Slopes = p.Rows[0].Slopes[1:] }},
			"a neuron less":         {"planes", func(p *record.ChernoffProof) { p.Rows[0].Slopes = p.Rows[0].Slopes[8:] }},
			"slopes of NaN":         {"no numbers", func(p *record.ChernoffProof) { copy(p.Rows[0].Slopes, "\xff\xff\xff\xff") }},
			"a part without an end": {"parts between", func(p *record.ChernoffProof) { cutRow(p).Upto = nil }},
			"smaller squares": {"p_lower", func(p *record.ChernoffProof) {
				for _, r := range p.Rows {
					for k := range r.Squares {
						r.Squares[k] -= r.Rate * r.Rate
					}
				}
			}},
			"slopes reversed": {"p_lower", func(p *record.ChernoffProof) {
				for _, r := range p.Rows {
					for at := 3; at < len(r.Slopes); at += 4 {
						r.Slopes[at] ^= 0x80
					}
				}
			}},
		} {
			if what == "a part without an end" || what == "smaller squares" {
				if !bytes.Contains(r.Proof.Chernoff, []byte(`"upto"`)) {
					continue // a row that fails this seldom has no parts
				}
			}
			refused(what, of.says, withMoments(t, line, of.change))
		}
	}
	for i, line := range upper {
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		refused("a better upper bound", "p_upper", changed(t, line, `"p_upper":[^,]*`, `"p_upper":`+property.DecimalUp(r.PUpper.Hi*0.95)))
		if i > 0 && !testscale.Deep(t) {
			continue
		}
		refused("no rows", "rows: ", changed(t, line, `("upper":.*)"rows":\[\{.*\}\]`, `${1}"rows":[]`))
		if bytes.Contains(line, []byte(`"slopes"`)) { // else nothing is stated
			refused("another budget above", "p_upper", changed(t, line, `("upper":.*"tau":)[^,]*,`, `${1}0.5,`))
		}
		refused("no budget", "tau", changed(t, line, `("upper":.*)"tau":[^,]*,`, `${1}`))
	}
}

// TestForgedRates: rates of statements that are no numbers, negative, too few or too many are refused, in lower and in
// upper bounds; others are other statements, and prove no more than they show.
func TestForgedRates(t *testing.T) {
	lower, upper := momentRecords(t)
	bits := math.Float64bits
	seen := map[string]bool{}
	for i, line := range slices.Concat(lower, upper) {
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		of := regexp.MustCompile(`"rates":"([^"]*)"`).FindSubmatch(line)
		if of == nil {
			if bytes.Contains(line, []byte(`"slopes"`)) {
				t.Errorf("planes, and no rates: %.300s", line)
			}
			continue // one hidden layer: nothing is stated
		}
		rates, err := base64.StdEncoding.DecodeString(string(of[1]))
		if err != nil {
			t.Fatal(err)
		}
		with := func(at int, x uint64) []byte {
			forged := slices.Clone(rates)
			binary.LittleEndian.PutUint64(forged[8*at:], x)
			return forged
		}
		times := func(by float64) []byte {
			forged := slices.Clone(rates)
			for at := 0; at < len(forged); at += 8 {
				binary.LittleEndian.PutUint64(forged[at:], bits(by*math.Float64frombits(binary.LittleEndian.Uint64(forged[at:]))))
			}
			return forged
		}
		bound := "p_lower"
		if i >= len(lower) {
			bound = "p_upper"
		}
		var c Checker
		for what, forged := range map[string]struct {
			says  string
			rates []byte
		}{
			"NaN":          {"rate", with(0, bits(math.NaN()))},
			"NaN, signed":  {"rate", with(3, 0xfff8000000000001)},
			"infinite":     {"rate", with(1, bits(math.Inf(1)))},
			"negative":     {"rate", with(2, bits(-1))},
			"a byte less":  {"bytes", rates[1:]},
			"one less":     {"too few", rates[8:]},
			"one more":     {"no neuron", append(slices.Clone(rates), rates[:8]...)},
			"none":         {"too few", nil},
			"0":            {bound, with(5, 0)},
			"the least":    {bound, with(5, 1)},
			"the largest":  {bound, with(5, bits(math.MaxFloat64))},
			"64 times all": {bound, times(64)},
			"a 64th":       {bound, times(1.0 / 64)},
		} {
			if computed := forged.says == bound; computed && seen[bound] && !testscale.Deep(t) {
				continue // one record for each bound: what is computed takes long
			}
			text := []byte(`"rates":"` + base64.StdEncoding.EncodeToString(forged.rates) + `"`)
			if forged.rates == nil {
				text = nil
			}
			of := of[0]
			if text == nil {
				of = append([]byte{','}, of...)
			}
			v, err := c.Check(t.Context(), resealed(bytes.Replace(line, of, text, 1)), false)
			if err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), forged.says) {
				t.Errorf("%s of %s: %v %v", what, r.Property, err, v.Refused)
			}
		}
		seen[bound] = true
	}
}

// cutRow is a row that was bounded in several parts.
func cutRow(p *record.ChernoffProof) *record.ChernoffRow {
	return &p.Rows[slices.IndexFunc(p.Rows, func(r record.ChernoffRow) bool { return len(r.Upto) > 0 })]
}

// withMoments is a line with another proof, and the checksum that fits.
func withMoments(t *testing.T, line []byte, change func(p *record.ChernoffProof)) []byte {
	t.Helper()
	r, err := record.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	var proofs []record.ChernoffProof
	if err := json.Unmarshal(r.Proof.Chernoff, &proofs); err != nil {
		t.Fatal(err)
	}
	change(&proofs[0])
	text, err := json.Marshal(proofs)
	if err != nil {
		t.Fatal(err)
	}
	return resealed(bytes.Replace(line, r.Proof.Chernoff, text, 1))
}

// TestMomentsOfCertainLayers: where weights of hidden layers are certain, so is the variance of its neurons, and
// what certify claims is proved again.
func TestMomentsOfCertainLayers(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 7))
	lower, upper := 0, 0
	cases := testscale.Cases(t, 150)
	for i := range cases {
		post := sumtest.RandomNoisy(rng, net.Activation{Kind: net.ReLU}, []float64{0.1, 0.3, 1}[i%3], 1, 7, 6, 2)
		if i%3 == 1 {
			otherActivations(rng, post)
		}
		for k := i % 2; k < 2; k++ {
			clear(post.Layers[k].Weight.SdLo)
			clear(post.Layers[k].Weight.SdHi)
		}
		if i%4 == 0 {
			clear(post.Layers[0].Bias.SdLo)
			clear(post.Layers[0].Bias.SdHi)
		}
		task := checktest.RandomTask(rng, post, 0)
		task.T = task.T[:1]
		copy(task.T[0].Hi, task.T[0].Lo)
		task.Inner = task.T
		c, err := moments.New(post)
		if err != nil {
			t.Fatal(err)
		}
		r := checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.Chernoff}, []property.Task{task})[0]
		if r.Lower() > 0 {
			lower++
			fail, err := c.FailUp(t.Context(), task.T[0], &task.S, r.Tau, momentsOf(t, r.Proof.Chernoff[0]))
			if claimed := -math.Expm1(r.LogP); err != nil || fail > claimed {
				t.Errorf("case %d: fails %v, certify says %v, %v", i, fail, claimed, err)
			}
		}
		if u := r.Proof.Upper; u != nil && u.Method == "chernoff" {
			upper++
			if holds, err := c.SafeUp(t.Context(), checktest.WitnessOf(t, r.Task, u.Witness), &task.S, u.Tau, momentsOf(t, &u.ChernoffProof)); err != nil || holds > r.Upper() {
				t.Errorf("case %d: holds with %v, certify says %v, %v", i, holds, r.Upper(), err)
			}
		}
	}
	if t.Logf("%d lower bounds, %d upper", lower, upper); cases >= 150 && lower < 3 {
		t.Errorf("%d lower bounds, %d upper", lower, upper)
	}
}

// otherActivations gives each hidden layer any.
func otherActivations(rng *rand.Rand, post *posterior.Posterior) {
	all := networktest.Activations(0.1, 1)
	for k := range post.Layers[:len(post.Layers)-1] {
		post.Layers[k].Activation = all[rng.IntN(len(all))]
	}
}

// momentsOf returns what check makes of what certify has proved.
func momentsOf(t *testing.T, of *claim.ChernoffProof) *moments.Proof {
	t.Helper()
	p := record.ChernoffProof{Rates: of.Rates}
	for _, r := range of.Rows {
		p.Rows = append(p.Rows, record.ChernoffRow(r))
	}
	for _, r := range of.Statements {
		p.Statements = append(p.Statements, record.ChernoffRow(r))
	}
	proof, err := planesOf(&p)
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

// TestDeepMoments: of three and four hidden layers, what certify claims is proved again by its statements; and not with
// others.
func TestDeepMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 10))
	lower, upper, dearer := 0, 0, 0
	cases := testscale.Cases(t, 80/testscale.By(t, 2))
	for i := range cases {
		sizes := [][]int{{2, 5, 4, 3, 2}, {2, 4, 3, 3, 3, 2}}[i%2]
		post := sumtest.RandomNoisy(rng, net.Activation{Kind: net.ReLU}, []float64{0.1, 0.6}[i/2%2], sizes...)
		if i%3 == 1 {
			otherActivations(rng, post)
		}
		if i%5 == 0 {
			clear(post.Layers[2].Weight.SdLo)
			clear(post.Layers[2].Weight.SdHi)
		}
		task := checktest.RandomTask(rng, post, 0)
		task.T = task.T[:1]
		copy(task.T[0].Hi, task.T[0].Lo)
		task.Inner = task.T
		y := post.LogitsApprox(task.T[0].Lo)
		task.Label = slices.Index(y, slices.Max(y))
		if i%4 == 3 { // another class, so that there is an upper bound
			task.Label = 1 - task.Label
		}
		task.S = property.ArgmaxIs(task.Label, len(y))
		c, err := moments.New(post)
		if err != nil {
			t.Fatal(err)
		}
		r := checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.Chernoff}, []property.Task{task})[0]
		if u := r.Proof.Upper; u != nil && u.Method == "chernoff" {
			upper++
			if holds, err := c.SafeUp(t.Context(), checktest.WitnessOf(t, r.Task, u.Witness), &task.S, u.Tau, momentsOf(t, &u.ChernoffProof)); err != nil || holds > r.Upper() {
				t.Errorf("case %d: holds with %v, certify says %v, %v", i, holds, r.Upper(), err)
			}
		}
		if r.Lower() == 0 {
			continue
		}
		lower++
		claimed := -math.Expm1(r.LogP)
		fail := func(change func(p *moments.Proof)) (float64, error) {
			p := momentsOf(t, r.Proof.Chernoff[0])
			change(p)
			return c.FailUp(t.Context(), task.T[0], &task.S, r.Tau, p)
		}
		first, err := fail(func(*moments.Proof) {})
		if err != nil || first > claimed {
			t.Errorf("case %d: fails %v, certify says %v, %v", i, first, claimed, err)
		}
		for what, change := range map[string]func(p *moments.Proof){
			"a statement less": func(p *moments.Proof) { p.Statements = p.Statements[1:] },
			"NaN for a rate":   func(p *moments.Proof) { p.Statements[0].Rate = math.NaN() },
			"one more":         func(p *moments.Proof) { p.Statements = append(p.Statements, p.Statements[0]) },
			"none":             func(p *moments.Proof) { p.Statements = nil },
			"a plane less":     func(p *moments.Proof) { third := &p.Statements[4*sizes[2]]; third.Planes = third.Planes[1:] },
			"a rate below 0":   func(p *moments.Proof) { p.Statements[0].Rate = -1 },
		} {
			if _, err := fail(change); err == nil {
				t.Errorf("case %d: %s passes", i, what)
			}
		}
		// Another rate is another statement, that says less or hardly more.
		more, err := fail(func(p *moments.Proof) {
			for s := range p.Statements {
				p.Statements[s].Rate *= 4
			}
		})
		if err != nil || more < first*(1-0.02) {
			t.Errorf("case %d: at other rates fails %v, %v, before %v", i, more, err, first)
		}
		if more > claimed {
			dearer++
		}
	}
	if t.Logf("%d lower bounds, %d upper", lower, upper); cases >= 8 && (lower < 3 || dearer == 0) {
		t.Errorf("%d lower bounds, %d at other rates less, %d upper", lower, dearer, upper)
	}
}
