package check

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestCheckMean: records of means pass, and none does with a better end, another verdict, a larger
// region or another witness.
func TestCheckMean(t *testing.T) {
	verdicts := map[string]int{}
	for _, of := range []struct{ net, points, box string }{
		{"cubic-128.npz", "points.csv", "output_box:[-3,3]"}, {"cubic-128.npz", "points.csv", "output_box:[0.5,9]"},
		{"glyphs-64-24-24-10.npz", "", "output_box:[-99,99]" + strings.Repeat(",[,]", 9)},
		{"samples-2-8-3.npz", "pairs.csv", "output_box:[-9,9],[-9,9],[-9,9]"}, {"samples-2-8-3.npz", "pairs.csv", "output_box:[3,9],[,],[,]"},
		{"dropout-2-8-3.npz", "pairs.csv", "output_box:[-9,9],[-9,9],[-9,9]"},
	} {
		m := certify.Method{By: new(prove.CLBP), Mean: true, NoUpper: true, Cells: new(20 / testscale.By(t, 2))}
		if strings.HasPrefix(of.net, "samples") {
			m.By = new(prove.Finite)
		}
		m.Noise = "0.3"
		j := file(of.net, "", m, bound.Float32)
		j.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", of.points), Eps: "0.1", Property: of.box}}
		if of.points == "" {
			j = images(of.net, 1, "0.1", m, bound.Float32)
			j.Tasks.Points.Property = of.box
		}
		var c Checker
		for i, line := range written(t, j) {
			v, err := c.Check(t.Context(), line, false)
			if err != nil || v.Refused != nil {
				t.Errorf("%+v: line %d: %v %v\n%s", of, i, err, v.Refused, line)
				continue
			}
			verdict := string(regexp.MustCompile(`"output_mean":\{"verdict":"([a-z_]*)"`).FindSubmatch(line)[1])
			verdicts[verdict]++
			var lo, hi float64
			ends := regexp.MustCompile(`"output_mean":.*?"lower":\[([^,\]]*).*?"upper":\[([^,\]]*)`).FindSubmatch(line)
			if _, err := fmt.Sscan(string(ends[1])+" "+string(ends[2]), &lo, &hi); err != nil {
				t.Fatal(err)
			}
			for re, to := range map[string]string{ // ends that are still an interval, and verdicts that may be one
				`("output_mean":.*?"lower":\[)[^,\]]*`: "${1}" + property.DecimalDown(lo+0.9*(hi-lo)),
				`("output_mean":.*?"upper":\[)[^,\]]*`: "${1}" + property.DecimalUp(hi-0.9*(hi-lo)),
				`("sd_lower":\[)[^,\]]*`:               "${1}" + property.DecimalDown(ofNumber(t, line, "sd_upper")), // which is more than the least
				`("sd_upper":\[)[^,\]]*`:               "${1}" + property.DecimalUp(ofNumber(t, line, "sd_lower")),
				`("total_sd_lower":\[)[^,\]]*`:         "${1}" + property.DecimalDown(1.01*ofNumber(t, line, "total_sd_lower")),
				`("total_sd_upper":\[)[^,\]]*`:         "${1}" + property.DecimalUp(0.99*ofNumber(t, line, "total_sd_upper")),
				` --noise 0.3`:                         "",
				`("output_mean":\{"verdict":")[a-z_]*`: "${1}" + map[bool]string{true: "unknown", false: "mean_safe"}[verdict == "mean_safe"],
				`("eps":")0.1`:                         "${1}9", ` --target mean`: "", `("witness":\{"box":)0`: "${1}1",
			} {
				bad := resealed(regexp.MustCompile(re).ReplaceAll(line, []byte(to)))
				if bytes.Equal(bad, line) || of.points == "" && !strings.Contains(re, "sd_") {
					continue
				}
				if v, err := c.Check(t.Context(), bad, false); err == nil && v.Refused == nil {
					t.Errorf("%+v: line %d passes with %s: %s", of, i, to, bad)
				}
			}
			if verdict == "mean_safe" && of.points != "" {
				wide := regexp.MustCompile(`("output_mean":.*?"upper":\[)[^,\]]*`).ReplaceAll(line, []byte("${1}99"))
				c.refusesWitness(t, wide, of.net)
			}
		}
	}
	if t.Log(verdicts); verdicts["mean_safe"] < 2 || verdicts["mean_unsafe"] < 2 {
		t.Error(verdicts)
	}
}

// refusesWitness: a record whose means are known to be safe, but say to lie in so wide an interval that
// it shows nothing, passes as unknown; as unsafe, with a witness that is a point of the region, it
// fails, at nothing but the means of the witness.
func (c *Checker) refusesWitness(t *testing.T, wide []byte, net string) {
	t.Helper()
	as := func(verdict, witness string) error {
		line := bytes.Replace(wide, []byte(`{"verdict":"mean_safe"`), []byte(`{"verdict":"`+verdict+`"`), 1)
		line = regexp.MustCompile(`("mean":\{"cells":[^\]]*\])`).ReplaceAll(line, []byte("${1}"+witness))
		v, err := c.Check(t.Context(), resealed(line), false)
		if err != nil {
			t.Fatal(err)
		}
		return v.Refused
	}
	at := map[bool]string{true: "AAAAAA==", false: "AAA="}[strings.Contains(net, "-2-8-3")] // the middle
	if err := as("unknown", ""); err != nil {
		t.Errorf("%s: a wider interval: %v", net, err)
	}
	if err := as("mean_unsafe", `,"witness":{"box":0,"at":"`+at+`"}`); err == nil || !strings.Contains(err.Error(), "at the witness") {
		t.Errorf("%s: a mean that is safe is said to be unsafe: %v", net, err)
	}
}

// ofNumber is the first number of a list.
func ofNumber(t *testing.T, line []byte, field string) (x float64) {
	t.Helper()
	if _, err := fmt.Sscan(string(regexp.MustCompile(`"` + field + `":\[([^,\]]*)`).FindSubmatch(line)[1]), &x); err != nil {
		t.Fatal(err)
	}
	return x
}
