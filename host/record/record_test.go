package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"psafe/host/arith"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/host/record"
)

// TestFormatDown: the printed number is at most the real one, and by less than
// one unit of the last digit.
func TestFormatDown(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	values := []float64{0, 1, 0.5, 0.99995, 1 - 0x1p-53, 0x1p-1074, 1e-35, 0.1, 0.3, 0.0001, math.Nextafter(0.0001, 0)}
	for range 2000 {
		values = append(values, rng.Float64(), math.Pow(rng.Float64(), 20), 1-math.Pow(rng.Float64(), 20))
	}
	for _, p := range values {
		for digits := 1; digits <= 6; digits++ {
			text := record.FormatDown(p, digits)
			printed, ok := new(big.Rat).SetString(text)
			if !ok {
				t.Fatalf("FormatDown(%v, %d) = %q", p, digits, text)
			}
			real := new(big.Rat).SetFloat64(p)
			unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
			if printed.Cmp(real) > 0 || real.Cmp(new(big.Rat).Add(printed, unit)) >= 0 {
				t.Errorf("FormatDown(%v, %d) = %s", p, digits, text)
			}
		}
	}
}

func result(logP float64) *claim.Result {
	return &claim.Result{Task: &property.Task{Index: 3, Label: 1}, LogP: logP, Gamma: 2, Margin: math.Inf(-1), Seconds: 0.25, Device: "cpu"}
}

// TestRecord: fields follow from the result, infinities are null, and p_lower is
// never above the logarithm it came from.
func TestRecord(t *testing.T) {
	for _, c := range []struct {
		logP    float64
		verdict string
		null    bool
	}{{math.Inf(-1), "unknown", true}, {-1e-3, "safe", false}, {0, "safe", false}, {-12534, "unknown", false}, {math.Log(0.9) - 1e-9, "unknown", false}} {
		var rec record.Record
		rec.Fill(result(c.logP), property.MustExact("0.9"))
		var b bytes.Buffer
		if err := rec.Write(&b); err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(b.Bytes(), &m); err != nil || strings.Count(b.String(), "\n") != 1 {
			t.Fatalf("%v: %q", err, b.String())
		}
		if m["verdict"] != c.verdict || (m["log10_p_lower"] == nil) != c.null || m["gamma"] != 2.0 || m["label"] != 1.0 || m["margin"] != nil {
			t.Errorf("log p %v: %s", c.logP, b.String())
		}
		if p := m["p_lower"].(float64); p > math.Exp(c.logP)*(1+1e-15) || p > 1 {
			t.Errorf("log p %v: p_lower %v", c.logP, p)
		}
	}
}

func TestTable(t *testing.T) {
	var records []*record.Record
	for _, logP := range []float64{0, math.Log(0.5), math.Inf(-1)} {
		r := new(record.Record)
		r.Fill(result(logP), property.MustExact("0.9"))
		records = append(records, r)
	}
	var b bytes.Buffer
	if err := record.Table(&b, records, 0); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(b.String()), "\n"); len(lines) != 5 || lines[4] != "1 of 3 safe with probability >= 0.9, 0 unsafe, 2 unknown; mean p_lower 0.4999" {
		t.Errorf("table:\n%s", b.String())
	}
	if strings.Contains(b.String(), "eps") {
		t.Errorf("one radius has a column:\n%s", b.String())
	}
	// Records that differ in eps say so, and those of a template which point they are about.
	records[0].Eps, records[1].Eps, records[2].Eps = "8/255", "8/255", "[0.1,0]"
	records[2].Index, records[2].Property, records[2].TemplateEntry = 7, "drift", new(0)
	b.Reset()
	if err := record.Table(&b, records, 0); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"index      eps", "3    8/255", "7 drift  [0.1,0]"} {
		if !strings.Contains(b.String(), words) {
			t.Errorf("no %q in the table:\n%s", words, b.String())
		}
	}
}

// TestRecordRoundsDown: both numbers are package probability's lower bounds, to the bit,
// whatever the logarithm.
func TestRecordRoundsDown(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		logP := -math.Exp(12*rng.Float64() - 8)
		var rec record.Record
		rec.Fill(result(logP), property.MustExact("0.5"))
		if float64(rec.PLower) != arith.ExpDown(logP) || float64(*rec.Log10PLower) != arith.Log10Down(logP) {
			t.Errorf("log p %v: p_lower %v, log10 %v", logP, rec.PLower, *rec.Log10PLower)
		}
		if (rec.Verdict == "safe") != (rec.PLower >= 0.5) {
			t.Errorf("p_lower %v is %s with --require 0.5", rec.PLower, rec.Verdict)
		}
	}
	// A --require of 0 is no reason to call nothing safe.
	var rec record.Record
	if rec.Fill(result(math.Inf(-1)), property.MustExact("0")); rec.Verdict != "unknown" || rec.PLower != 0 {
		t.Errorf("nothing proved, require 0: p_lower %v is %s", rec.PLower, rec.Verdict)
	}
}

// TestTableRoundsDown: p_lower and log10 are cut, and log10 is there only where p_lower has no digit
// left: that of 1/2^16 is -4.81648, which is not above -4.8165.
func TestTableRoundsDown(t *testing.T) {
	for _, c := range []struct {
		p    float64
		want []string
	}{{0.5, []string{"0.4999", "1.0000"}}, {0x1p-16, []string{"0.0000", "-4.8165", "1.0000"}}} {
		var rec record.Record
		rec.Fill(result(math.Log(c.p)), property.MustExact("0.9"))
		var b bytes.Buffer
		if err := record.Table(&b, []*record.Record{&rec}, 0); err != nil {
			t.Fatal(err)
		}
		if fields := strings.Fields(strings.Split(b.String(), "\n")[1]); !slices.Equal(fields[2:2+len(c.want)], c.want) {
			t.Errorf("table:\n%s", b.String())
		}
	}
}

// TestFormatUp: the printed number is at least the real one, and by less than one
// unit of the last digit.
func TestFormatUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	values := []float64{0, 1, 0.5, 0.99995, 1 - 0x1p-53, 0x1p-1074, 1e-35, 0.1, 0.3, 0.0001, math.Nextafter(0.0001, 1)}
	for range 2000 {
		values = append(values, rng.Float64(), math.Pow(rng.Float64(), 20), 1-math.Pow(rng.Float64(), 20))
	}
	for _, p := range values {
		for digits := 1; digits <= 6; digits++ {
			printed, ok := new(big.Rat).SetString(record.FormatUp(p, digits))
			if !ok {
				t.Fatalf("FormatUp(%v, %d) = %q", p, digits, record.FormatUp(p, digits))
			}
			unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
			if real := new(big.Rat).SetFloat64(p); printed.Cmp(real) < 0 || printed.Cmp(new(big.Rat).Add(real, unit)) >= 0 {
				t.Errorf("FormatUp(%v, %d) = %s", p, digits, record.FormatUp(p, digits))
			}
		}
	}
}

// TestVerdict: unsafe only by a certified upper bound below what is required; a
// statistical interval decides nothing.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		unsafe, upper float64
		statistic     *claim.Statistic
		verdict       string
	}{
		{0, 1, nil, "unknown"},
		{0.05, 0.95, nil, "unknown"},
		{0.2, 0.8, nil, "unsafe"},
		{0, 1, &claim.Statistic{Samples: 10, Unsafe: 10, Confidence: 0.9, Upper: 0.01}, "unknown"},
		{0, 1, &claim.Statistic{Samples: 10, Safe: 10, Confidence: 0.9, Lower: 0.99, Upper: 1}, "unknown"},
	} {
		res := result(math.Inf(-1))
		res.UnsafeDown, res.Statistic = c.unsafe, c.statistic
		var rec record.Record
		rec.Fill(res, property.MustExact("0.9"))
		if rec.Verdict != c.verdict || float64(rec.PUpper) < c.upper || float64(rec.PUpper) > math.Nextafter(math.Nextafter(c.upper, 2), 2) || rec.PLower != 0 {
			t.Errorf("unsafe with %v, %+v: %s, p_upper %v", c.unsafe, c.statistic, rec.Verdict, rec.PUpper)
		}
		if (rec.Statistical == nil) != (c.statistic == nil) || rec.Statistical != nil && !strings.Contains(rec.Statistical.Statement, "not certified") {
			t.Errorf("statistical: %+v", rec.Statistical)
		}
	}
}

// TestParseRecord: a record that is read and written again is the same line, and the
// table has the same row; a half-width that is no number is refused.
func TestParseRecord(t *testing.T) {
	for _, gamma := range []float64{0, 2, 1e-7} {
		res := result(math.Log(0.95))
		res.Gamma, res.Method, res.Task.Name = gamma, "lbp", "a\u009bb"
		rec := record.Record{PosteriorSHA256: "ab", Numerics: 1, ID: strings.Repeat("0", 32), Run: "1f", Task: 2, Tasks: 3, Seed: 1<<64 - 1, Flags: "--method lbp"}
		rec.Fill(res, property.MustExact("0.9"))
		var line, again, table, tableAgain bytes.Buffer
		if err := rec.Write(&line); err != nil {
			t.Fatal(err)
		}
		read, err := record.ParseRecord(line.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(read.Write(&again), record.Table(&table, []*record.Record{&rec}, 0), record.Table(&tableAgain, []*record.Record{read}, 0)); err != nil {
			t.Fatal(err)
		}
		if line.String() != again.String() || table.String() != tableAgain.String() || strings.Contains(table.String(), "\u009b") {
			t.Errorf("gamma %v: %s read as %s, table\n%s and\n%s", gamma, line.String(), again.String(), table.String(), tableAgain.String())
		}
		for _, bad := range []string{`"x"`, `[2,"x"]`, `{}`, `true`} {
			text := changed(line.String(), `"method"`, `"gamma":`+bad+`,"method"`)
			if gamma == 0 {
				if _, err := record.ParseRecord([]byte(text)); err == nil || !strings.Contains(err.Error(), "gamma") {
					t.Errorf("gamma %s: %v", bad, err)
				}
			}
		}
	}
}

// TestDecimalsAreBounds: what a record says of a bound, read as a decimal, is a bound too,
// and decides the verdict: 0.7 is not proved where 0.69999999999999995559 is.
func TestDecimalsAreBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 1))
	for i := range 500 {
		res := result(math.Inf(-1))
		res.PLower, res.UnsafeDown, res.Margin = 0.9*rng.Float64(), 0.1*rng.Float64(), rng.NormFloat64()
		if i == 0 {
			res.PLower = 0.7
		}
		var rec record.Record
		rec.Fill(res, property.MustExact("0.7"))
		line, err := rec.Line()
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]json.RawMessage
		if err := json.Unmarshal(line, &texts); err != nil {
			t.Fatal(err)
		}
		text := func(field string) *big.Rat {
			r, _ := new(big.Rat).SetString(string(texts[field]))
			return r
		}
		lower, upper, margin := text("p_lower"), text("p_upper"), text("margin")
		if lower.Cmp(new(big.Rat).SetFloat64(res.Lower())) > 0 || upper.Cmp(new(big.Rat).SetFloat64(res.Upper())) < 0 || margin.Cmp(new(big.Rat).SetFloat64(res.Margin)) > 0 {
			t.Errorf("p_lower %v, p_upper %v, margin %v are written %s", res.Lower(), res.Upper(), res.Margin, line)
		}
		if safe := lower.Cmp(big.NewRat(7, 10)) >= 0; safe != (rec.Verdict == "safe") || i == 0 && safe {
			t.Errorf("--require 0.7: %s", line)
		}
	}
}

// TestLineIsVisible: no text of a record can command a terminal that shows its line.
func TestLineIsVisible(t *testing.T) {
	rec := record.Record{Numerics: 1, ID: strings.Repeat("0", 32), Run: "1f", Tasks: 1, PosteriorSHA256: "ab"}
	rec.Fill(result(-1), property.MustExact("0.9"))
	rec.Method, rec.Name = "lbp", "a\x1b[2J\u009b31m\x7f\u202eb\u200bc\u00e9\n"
	line, err := rec.Line()
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(line[:len(line)-1]), "\x1b\u009b\x7f\u202e\u200b\n") || !strings.Contains(string(line), "c\u00e9") {
		t.Errorf("%q", line)
	}
	read, err := record.ParseRecord(line)
	if err != nil || read.Name != rec.Name {
		t.Errorf("%v, name %q", err, read.Name)
	}
}

// TestDrawn: intervals are counted against what the verdict asks for, and only where there are
// some.
func TestDrawn(t *testing.T) {
	interval := func(lower, upper, confidence float64) *record.Record {
		return &record.Record{Require: property.MustExact("0.9"), Statistical: &record.Statistical{Lower: record.Down(lower), Upper: record.Up(upper), Confidence: confidence}}
	}
	drawn := func(records ...*record.Record) string {
		var t record.Tally
		for _, r := range records {
			t.Add(r)
		}
		return t.Drawn()
	}
	none := &record.Record{Require: property.MustExact("0.9")}
	if text := drawn(none); text != "" {
		t.Errorf("no interval: %q", text)
	}
	got := drawn(interval(0.9, 1, 0.99), interval(0.1, 0.95, 0.99), none, interval(0, 0.5, 0.95), interval(0.1, 0.9, 0.99))
	if want := "statistical, not certified: 1 of 4 intervals from 0.9 on, 1 below it (confidence 0.95 each)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnasked: the line that counts verdicts says of unknown ones that no p_upper was asked for.
func TestUnasked(t *testing.T) {
	var tally record.Tally
	for _, c := range []struct{ verdict, flags, want string }{
		{"safe", "--method clbp --no-upper", "0 unknown;"},
		{"unknown", "--method clbp", "1 unknown;"},
		{"unknown", "--method clbp --no-upper", "2 unknown (of 1 p_upper was not asked for: no-upper);"},
	} {
		tally.Add(&record.Record{Verdict: c.verdict, Flags: c.flags, Require: property.MustExact("0.9")})
		if got := tally.Summary(); !strings.Contains(got, c.want) {
			t.Errorf("%q does not say %q", got, c.want)
		}
	}
}

// TestMixedRequire: the lines of a summary name no limit that is not that of all records.
func TestMixedRequire(t *testing.T) {
	var one, mixed record.Tally
	for i, require := range []string{"0.9", "0.90", "0.99", "1/2"} {
		r := &record.Record{PLower: 0.95, PUpper: 1, Statistical: &record.Statistical{Lower: 0.95, Upper: 1, Confidence: 0.9}}
		r.Decide(property.MustExact(require))
		if mixed.Add(r); i < 2 {
			one.Add(r)
		}
	}
	var found record.Tally
	found.Add(&record.Record{RadiusEnd: "certified", Verdict: "safe", PLower: 1, Require: property.MustExact("0.9")})
	for _, c := range []struct{ got, want string }{
		{found.Summary(), "1 of 1 safe with probability >= 0.9, 0 unsafe, 0 unknown; no share or mean is one of the inputs, as radii were chosen by their verdicts: psafe summary has radii"},
		{one.Summary(), "2 of 2 safe with probability >= 0.9, 0 unsafe, 0 unknown; mean p_lower 0.9499"},
		{one.Drawn(), "statistical, not certified: 2 of 2 intervals from 0.9 on, 0 below it (confidence 0.9 each)"},
		{mixed.Summary(), "3 of 4 safe each by its own --require, from 0.5 to 0.99, 0 unsafe, 1 unknown; mean p_lower 0.9499"},
		{mixed.Drawn(), "statistical, not certified: 3 of 4 intervals from their --require on, 0 below it (confidence 0.9 each)"},
	} {
		if c.got != c.want {
			t.Errorf("%s\nwant %s", c.got, c.want)
		}
	}
}

// TestTableFits: whatever records say, a table takes 80 columns; nothing is left out that fits; and
// the heads come again where that is asked for.
func TestTableFits(t *testing.T) {
	var records []*record.Record
	for i := range 7 {
		r := new(record.Record)
		r.Fill(result(math.Log(0x1p-16)), property.MustExact("0.9"))
		r.Index, r.Method, r.Seconds = i, "sampled", new(12.5)
		records = append(records, r)
	}
	table := func(every int) (lines []string) {
		t.Helper()
		var b bytes.Buffer
		if err := record.Table(&b, records, every); err != nil {
			t.Fatal(err)
		}
		lines = strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		for _, line := range lines[:len(lines)-1] {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		return lines
	}
	heads := func(lines []string) (at []int) {
		for i, line := range lines {
			if strings.Contains(line, "p_lower  ") {
				at = append(at, i)
			}
		}
		return at
	}
	if at := heads(table(0)); !slices.Equal(at, []int{0}) {
		t.Errorf("heads in lines %v", at)
	}
	if lines := table(3); !slices.Equal(heads(lines), []int{0, 4, 8}) || len(lines) != 11 {
		t.Errorf("heads in lines %v of %d", heads(lines), len(lines))
	}
	has := func(words ...string) {
		t.Helper()
		head := table(0)[0]
		for _, w := range []string{"index", "eps", "label", "p_lower", "log10", "p_upper", "statistical@0.99", "method", "verdict", "seconds"} {
			if strings.Contains(head, w) != slices.Contains(words, w) {
				t.Errorf("%s: has %s: %v", head, w, strings.Contains(head, w))
			}
		}
	}
	has("index", "label", "p_lower", "log10", "p_upper", "method", "verdict", "seconds")
	for _, r := range records {
		r.Gamma = 1e17
	}
	if text := strings.Join(table(0), "\n"); strings.Contains(text, "gamma") || !strings.Contains(text, "sampled") {
		t.Errorf("half-widths do not fit:\n%s", text)
	}
	has("index", "label", "p_lower", "log10", "p_upper", "method", "verdict", "seconds")
	for _, r := range records {
		r.Statistical = &record.Statistical{Lower: 0.25, Upper: 0.5, Confidence: 0.99}
	}
	has("index", "label", "p_lower", "log10", "p_upper", "statistical@0.99", "method", "verdict")
	for i, r := range records {
		r.Eps = strconv.Itoa(i) + "/255"
	}
	has("index", "eps", "p_lower", "log10", "p_upper", "statistical@0.99", "method", "verdict")
	for i, r := range records {
		r.Name = strings.Repeat("name ", 20) + strconv.Itoa(i)
	}
	has("index", "eps", "p_lower", "p_upper", "statistical@0.99", "method", "verdict")
	if text := strings.Join(table(0), "\n"); !strings.Contains(text, " name name ") || !strings.Contains(text, "..  0/255   0.0000") {
		t.Errorf("names are not cut:\n%s", text)
	}
	for _, r := range records {
		r.Eps, r.Statistical = "", nil
	}
	has("index", "label", "p_lower", "log10", "p_upper", "method", "verdict", "seconds")
}
