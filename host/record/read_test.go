package record_test

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/record"
)

// line is a result record with what its reader asks for.
func line(method string, index int, lower, upper float64, more string) string {
	return string(record.Seal(fmt.Appendf(nil, `{"index":%d,"method":%q,"p_lower":%v,"p_upper":%v,%s"guarantee":%q,"posterior_sha256":"ab","numerics":1,"id":"0123456789abcdef0123456789abcdef","task":%d,"tasks":9,"run":"ab"}`,
		index, method, lower, upper, more, record.Guarantee, index)))
}

// changed is a line with a change whose checksum matches again.
func changed(line, from, to string) string {
	object := line[:strings.LastIndex(line, `,"checksum"`)] + "}"
	return string(record.Seal([]byte(strings.Replace(object, from, to, 1))))
}

// TestReadRefuses: an error is one line that names file, line and a mend.
func TestReadRefuses(t *testing.T) {
	good := line("lbp", 0, 0.5, 1, "")
	for _, c := range []struct{ text, want string }{
		{"", "r.jsonl: line 1: no record"},
		{"\n\n", "r.jsonl: line 1: no record"},
		{"index,label\n", "r.jsonl: line 1: no result record"},
		{"{\n  \"input_law\": \"uniform:0,1\"\n}\n", "r.jsonl: line 1: no result record: it begins JSON of several lines"},
		{good + "\n{}\n", "r.jsonl: line 2: no result record: it has no checksum"},
		{changed(good, `"p_lower":0.5,`, ""), "no result record: p_lower or p_upper is missing"},
		{strings.Replace(good, `"p_lower":0.5`, `"p_lower":0.7`, 1), "line 1: no result record: its checksum does not match"},
		{strings.Replace(good, `"checksum":"`, `"checksum":"0`, 1), "its checksum does not match"},
		{good[:len(good)-3] + `0"}`, "its checksum does not match"},
		{changed(good, `"task":0`, `"task":9`), "it is task 9 of the 9 of run"},
		{good + "\n" + good[:80], "r.jsonl: line 2: no result record"},
		{changed(good, `"p_lower":0.5`, `"p_lower":1.5`), "line 1: no result record: p_lower 1.5 and p_upper 1"},
		{changed(good, `"p_upper":1`, `"p_upper":0.25`), "no bounds of a probability"},
		{changed(good, "certified", "estimated"), "the guarantee is"},
		{changed(good, `"method":"lbp"`, `"method":""`), "method or posterior_sha256"},
		{line("lbp", 0, 0.5, 1, `"statistical":{"samples":9,"safe":9,"unsafe":0,"confidence":0.95,"lower":0.5,"upper":1.5},`), "the statistical interval"},
		{"\x89PNG\r\n\x1a\n\x00", "r.jsonl: line 1: no result record"},
		{strings.Repeat("x", 17<<20), "r.jsonl: line 1: cannot be read"},
	} {
		_, err := record.ReadRecords("r.jsonl", strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), "that psafe certify --out wrote") {
			t.Errorf("%.80q: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestReadFile: records come with their places; a message about a file names it once.
func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	_, err := record.ReadFile(path)
	if err == nil || strings.Count(err.Error(), path) != 1 || !strings.HasPrefix(err.Error(), path+": cannot be read: ") || !strings.HasSuffix(err.Error(), ": name a result file") {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte(line("lbp", 7, 0.5, 1, "")+"\n\n"+line("lbp", 8, 0.25, 1, "")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	records, err := record.ReadFile(path)
	if err != nil || len(records) != 2 || records[0].Index != 7 || records[1].PLower != 0.25 || records[1].Place() != path+": line 3" {
		t.Errorf("%+v, %v", records, err)
	}
}

// TestEach: records come one by one with their lines to the byte, and an error ends it.
func TestEach(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	lines := []string{line("lbp", 7, 0.5, 1, ""), line("lbp", 8, 0.25, 1, ""), "{}"}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := record.Each(path, func(p record.Placed) error {
		got = append(got, fmt.Sprint(p.Place(), p.Index, string(p.Raw)))
		return nil
	})
	if len(got) != 2 || got[1] != path+": line 28"+lines[1] || err == nil || !strings.HasPrefix(err.Error(), path+": line 3: no result record: ") {
		t.Errorf("%q, %v", got, err)
	}
	enough := errors.New("enough")
	if err := record.Each(path, func(record.Placed) error { return enough }); err != enough {
		t.Error(err)
	}
	if err := record.Each(path+"x", nil); err == nil || !strings.HasPrefix(err.Error(), path+"x: cannot be read: ") {
		t.Error(err)
	}
}

// TestMeansRoundOutward: a mean of lower bounds is not above the exact mean, one of
// upper bounds not below.
func TestMeansRoundOutward(t *testing.T) {
	var records []record.Placed
	lower, upper := new(big.Rat), new(big.Rat)
	for i := range 30 {
		p, q := 0.1+float64(i)/97, 0.5+float64(i)/71
		records = append(records, record.Placed{Record: &record.Record{Method: "lbp", PLower: record.Down(p), PUpper: record.Up(q)}})
		lower.Add(lower, new(big.Rat).SetFloat64(p))
		upper.Add(upper, new(big.Rat).SetFloat64(q))
		m, n := record.MeanOf(records), new(big.Rat).SetInt64(int64(i+1))
		low, high := new(big.Rat).SetFloat64(m.Lower), new(big.Rat).SetFloat64(m.Upper)
		if low.Mul(low, n).Cmp(lower) > 0 || high.Mul(high, n).Cmp(upper) < 0 {
			t.Errorf("%d records: %v, %v", i+1, m.Lower, m.Upper)
		}
	}
}

// TestGaps: missing and repeated tasks of each run are named, whatever the order of records
// and files.
func TestGaps(t *testing.T) {
	rec := func(file, run string, task, tasks int) record.Placed {
		return record.Placed{Record: &record.Record{Run: run, Task: task, Tasks: tasks}, File: file}
	}
	records := []record.Placed{rec("b", "2", 1, 2), rec("b", "2", 0, 2)}
	if lines := record.Gaps(records); len(lines) != 0 {
		t.Errorf("a complete run: %q", lines)
	}
	for _, task := range []int{7, 3, 4, 3, 9} {
		records = append(records, rec("a", "1", task, 1_000_000_000))
	}
	lines := record.Gaps(records)
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "are missing: 0-2, 5-6, 8, 10-999999999") || !strings.HasSuffix(lines[1], "are there more than once: 3") || !strings.HasPrefix(lines[0], "a: ") {
		t.Errorf("%q", lines)
	}
	for task := range 40 {
		records = append(records, rec("c", "3", 2*task, 100))
	}
	if lines := record.Gaps(records); len(lines) != 3 || !strings.HasSuffix(lines[2], "21, 23, ...") {
		t.Errorf("%q", lines)
	}
}
