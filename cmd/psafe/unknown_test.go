package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"psafe/host/record"
	"psafe/internal/testscale"
)

// unknowns are runs that may end with unknown: of each kind of posterior, by each method, for each cause. T names the
// folder testdata, G the images of glyphs, $D the folder of what writeUnknowns writes.
const unknowns = `
glyphs-64-32-10.npz G --index 0:3 --eps 0.03 --clip 0,1
glyphs-64-32-10.npz G --index 1 --eps 0.03 --clip 0,1 --method clbp --options no-upper
glyphs-64-32-10.npz G --index 1 --eps 0.03 --clip 0,1 --draws 20
glyphs-64-32-10.npz G --index 2,3 --eps 1/40 --clip 0,1 --method clbp --draws 20
glyphs-64-32-10.npz G --index 1 --eps 0.02 --clip 0,1 --scale-factor 30 --method phases
glyphs-64-32-10.npz G --index 1 --eps 0.03 --clip 0,1 --method chernoff
glyphs-64-32-10.npz G --index 2,3 --eps 0.025 --clip 0,1 --method chernoff
glyphs-64-32-10.npz G --index 1 --eps 0.03 --clip 0,1 --time-limit 1ms
glyphs-64-32-10.npz G --index 1 --eps 0.02,0.03 --clip 0,1 --require 0.99
glyphs-64-32-10.npz G --index 0 --eps 0.03 --clip 0,1 --method ibp --gamma 3 --draws 5
glyphs-64-32-10.npz G --index 0 --eps 0.01 --clip 0,1 --method lbp --gamma 3 --draws 5 --options seed=3
glyphs-64-32-10.npz G --index 1 --eps 0.2 --norm 2 --clip 0,1 --options no-upper
glyphs-64-32-10.npz G --index 0 --eps 0.03 --clip 0,1 --property argmax_is:3 --options no-upper
glyphs-64-32-10.npz G --index 0:2 --eps 0.3 --clip 0,1 --options no-upper --method clbp
glyphs-64-32-10.npz G --index 2 --eps 0.02 --clip 0,1 --scale-factor 12
glyphs-64-32-10.npz G --index 2 --eps 0 --scale-factor 40
glyphs-64-32-10.npz G --index 2 --eps 0 --scale-factor 40 --method clbp
glyphs-64-32-10.npz G --index 2 --eps 0 --scale-factor 400
glyphs-64-32-10.npz G --index 0 --eps 0.03 --clip 0,1 --property margin:2 --method clbp
glyphs-64-32-10.npz G --index 1 --eps 0.05 --clip 0,1 --property top_k:2 --method clbp --options no-upper
glyphs-64-24-24-10.npz G --index 77,79 --eps 0.018 --clip 0,1
glyphs-64-24-24-10.npz G --index 77 --eps 0.03 --clip 0,1 --method clbp
glyphs-64-24-24-10.npz G --index 77 --eps 0.03 --clip 0,1 --method clbp --options depth=1
glyphs-64-24-24-10.npz G --index 0 --eps 0.001 --clip 0,1 --scale-factor 24 --options no-upper
glyphs-64-24-24-10.npz G --index 0 --eps 0.001 --clip 0,1 --scale-factor 40 --method clbp
glyphs-64-24-24-10.npz G --index 0 --eps 0 --scale-factor 24 --method phases
glyphs-64-24-24-10.npz G --index 79 --eps 0.02 --clip 0,1 --predictive linearised --options no-upper
glyphs-64-24-24-10.npz G --index 0 --eps 0.02 --clip 0,1 --precision float64 --require 0.99999999
glyphs-conv-8-10.npz G --index 0 --eps 0.05 --clip 0,1 --method clbp --options no-upper
glyphs-conv-8-10.npz G --index 0 --eps 0.05 --clip 0,1 --draws 10
glyphs-conv-8-10.npz G --index 0 --eps 0.02 --clip 0,1 --scale-factor 20 --method clbp
cubic-128.npz --property $D/wide.json --method clbp --options cells=2
cubic-128.npz --property $D/tight.json --options no-upper
cubic-128.npz --property $D/wide.json --method clbp
cubic-128.npz --property $D/cover.json --method clbp
cubic-128.npz --property $D/cover.json --method clbp --options cells=144
cubic-128.npz --property $D/tight.json --method clbp --draws 50
cubic-128.npz --property T/cubic-property.json --method neuronsum --time-limit 20ms
advisory-4-32-9.npz --property T/advisory-property.json --method clbp --require 0.97
advisory-4-32-9.npz --property T/advisory-property.json --method clbp --scale-factor 2
advisory-4-32-9.npz --property T/advisory-property.json --method clbp --options cells=2
advisory-4-32-9.npz --property T/advisory-property.json --time-limit 1ms
advisory-4-32-9.npz --property T/advisory-property.json --method ibp
advisory-4-32-9.npz --inputs $D/four.csv --eps 0.2 --property argmax_is:2 --method clbp --options no-upper
advisory-4-32-9.npz --inputs $D/four.csv --eps [0.1,0.3,0.1,0.1] --property argmax_is:2 --options no-upper
samples-2-8-3.npz --inputs $D/two.csv --eps 0.1 --options cells=1,no-upper --require 0.99
samples-2-8-3.npz --inputs $D/two.csv --eps 0.02 --options no-upper --require 0.97
samples-2-8-3.npz --inputs $D/two.csv --eps 0.05 --options no-upper
swag-2-8-3.npz --inputs $D/two.csv --eps 0.3 --options no-upper
swag-2-8-3.npz --inputs $D/two.csv --eps 0.1 --draws 20 --method clbp
dropout-2-8-3.npz --inputs $D/two.csv --eps 0.1
dropout-2-8-3.npz --inputs $D/two.csv --eps 0.3 --options no-upper
correlated-2-8-3.npz --inputs $D/two.csv --eps 0.3 --options no-upper
dropout-2-8-3.npz --inputs $D/two.csv --eps 0.15 --require 0.98
tiny-2-3-2-tanh.npz --inputs $D/two.csv --eps 0.2 --options no-upper
tiny-2-3-2-tanh.npz --inputs $D/two.csv --eps 0.5 --method clbp --options cells=1,no-upper
tiny-2-3-2-tanh.npz --inputs $D/two.csv --eps 0.1 --property margin:0.2
tiny-2-3-2-tanh.npz --inputs $D/two.csv --eps 0.1 --property margin:0.2 --draws 40 --options no-upper
one-weight.npz --inputs $D/one.csv --eps 0.5 --property output_box:[0,2]
one-weight.npz --inputs $D/one.csv --eps 0.1 --property output_box:[0,2] --draws 30 --method clbp
two-weights-product.npz --inputs $D/one.csv --eps 0.1 --property output_box:[-1.2,] --method clbp
two-weights.npz --inputs $D/one.csv --eps 0.1 --property output_box:[-1,] --method ibp --gamma 2 --draws 20
`

// writeUnknowns writes inputs and properties of them: wide cannot be shown by few cells, cover has 144 boxes.
func writeUnknowns(t *testing.T, dir string) {
	cover := &strings.Builder{}
	for i := range 144 {
		fmt.Fprintf(cover, ",[[%v,%v]]", -4+float64(i)/18, -4+float64(i+1)/18)
	}
	one := func(limit float64, boxes string) string {
		return fmt.Sprintf(`{"properties":[{"name":"p","kind":"output_box","output":[[%v,%v]],"boxes":[%s]}]}`, -limit, limit, boxes)
	}
	for name, text := range map[string]string{
		"wide.json": one(65, "[[-4,4]]"), "cover.json": one(64.6, cover.String()[1:]), "tight.json": one(63.8, "[[3.5,4]]"),
		"one.csv": "1\n", "two.csv": "0.2,0.9\n-0.8,-0.5\n0.6,0.3\n", "four.csv": "0.1,0,0,-0.05\n",
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	nextCommand = regexp.MustCompile(`note: .*unknown[^;]*; [^:]+: ([^:]+): (.*); next, ([^:]+): (psafe .*)\n`)
	provesWords = regexp.MustCompile(`^which proves (p_lower|p_upper) ([0-9.e-]+)$`)
)

// TestUnknowns: whoever reads unknown is told one cause and one command, and that does what the note says: it is run as
// it is printed.
func TestUnknowns(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	t.Setenv("PSAFE_DEVICE", "cpu")
	dir := t.TempDir()
	writeUnknowns(t, dir)
	names := strings.NewReplacer(" G ", " --inputs ../../testdata/glyphs-test-images-idx3-ubyte.gz ", " T/", " ../../testdata/", "$D", dir)
	causes := map[string]int{}
	all := strings.Split(strings.TrimSpace(unknowns), "\n")
	cases := testscale.Few(t, all, 4)
	for _, line := range cases {
		args := strings.Fields("certify --posterior ../../testdata/" + names.Replace(line))
		records, said := certified(t, args)
		unknown := slices.IndexFunc(records, func(r *record.Record) bool { return r.Verdict == record.Unknown && r.Method != "statistical" })
		next := nextCommand.FindStringSubmatch(said)
		if (unknown >= 0) != (next != nil) {
			t.Errorf("%s:\n%s", line, said)
		}
		if next == nil {
			t.Logf("%s: decided", line)
			continue
		}
		causes[next[1]+", "+regexp.MustCompile(`[0-9.]+$`).ReplaceAllString(next[3], "P")]++
		t.Logf("%s:\n%s", line, next[0])
		if err := keeps(t, next[3], next[4]); err != nil {
			t.Errorf("%s: %v:\n%s", line, err, said)
		}
	}
	t.Logf("%d cases: %v", len(cases), causes)
	if len(cases) == len(all) && (len(all) < 60 || len(causes) < 5) {
		t.Errorf("%d cases: %v", len(all), causes)
	}
}

// certified runs certify and returns its records and its notes.
func certified(t *testing.T, args []string) ([]*record.Record, string) {
	var stdout, stderr bytes.Buffer
	if status := program(args, &stdout, &stderr); status != exitDone {
		t.Fatalf("%q: status %d: %s", args, status, &stderr)
	}
	var records []*record.Record
	for line := range strings.Lines(stdout.String()) {
		r := new(record.Record)
		if err := json.Unmarshal([]byte(line), r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records, stderr.String()
}

// keeps runs a command and says in what it is not what a note says that it shows.
func keeps(t *testing.T, shows, command string) error {
	args := shellWords(command)[1:]
	if args[0] == "inspect" {
		var stdout, stderr bytes.Buffer
		if status := program(args, &stdout, &stderr); status != exitDone || !strings.Contains(stdout.String(), "layer") {
			return fmt.Errorf("status %d: %s", status, &stderr)
		}
		return nil
	}
	records, said := certified(t, args)
	proves := provesWords.FindStringSubmatch(shows)
	var first *record.Record
	for _, r := range records { // those of a property file are all there
		if first == nil || r.Verdict == record.Unknown {
			first = r
		}
	}
	switch {
	case proves != nil:
		p, err := strconv.ParseFloat(proves[2], 64)
		kept := func(r *record.Record) bool {
			return proves[1] == "p_lower" && float64(r.PLower) >= p || proves[1] == "p_upper" && float64(r.PUpper) <= p
		}
		if err != nil || !slices.ContainsFunc(records, func(r *record.Record) bool { return kept(r) && r.Verdict != record.Unknown }) {
			return fmt.Errorf("p_lower %v, p_upper %v, %s: %s", first.PLower, first.PUpper, first.Verdict, said)
		}
	case shows == "for a statistical interval":
		if first.Statistical == nil || first.Statistical.Samples < 100 {
			return fmt.Errorf("no interval: %+v", first)
		}
	case shows == "for more time":
		if !slices.Contains(args, "--time-limit") {
			return fmt.Errorf("%q", args)
		}
	default:
		return fmt.Errorf("what is %q?", shows)
	}
	return nil
}

// shellWords are those of a command line as a shell reads it, of letters and '...'.
func shellWords(command string) []string {
	var list []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			list[len(list)-1] += part
			continue
		}
		for k, word := range strings.Split(part, " ") {
			if k == 0 && len(list) > 0 {
				list[len(list)-1] += word
			} else {
				list = append(list, word)
			}
		}
	}
	return list
}
