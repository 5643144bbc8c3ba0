package check

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// pick is one of some values.
func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// anyPosterior is a small posterior of any kind, and a word for it.
func anyPosterior(rng *rand.Rand) (*posterior.Posterior, string) {
	act, sd := pick(rng, checktest.Activations...), pick(rng, 0.003, 0.03, 0.1, 0.3, 1)
	if rng.IntN(2) == 0 {
		act = checktest.Activations[1]
	}
	sizes := pick(rng, []int{2, 1}, []int{3, 2}, []int{2, 4, 3}, []int{1, 6, 2}, []int{2, 5, 2}, []int{2, 5, 4, 3}, []int{1, 3, 8, 2}, []int{2, 4, 4, 4, 2})
	switch rng.IntN(16) {
	case 0, 1, 14:
		return sumtest.RandomNoisy(rng, act, sd, sizes...), "gaussian"
	case 2:
		return sumtest.AnyShallow(rng, act, 1+rng.IntN(3), 1+rng.IntN(8), 1+rng.IntN(3)), "shallow"
	case 3:
		return sumtest.RandomOnTop(rng, act, sd, sizes...), "on top"
	case 4, 15:
		if len(sizes) > 2 {
			return sumtest.RandomCorrelated(rng, act, sd, sizes...), "correlated"
		}
		return sumtest.RandomOnTop(rng, act, sd, sizes...), "on top"
	case 5:
		return sumtest.RandomSWAG(rng, act, sd, sizes...), "swag"
	case 6, 7:
		return sumtest.RandomJoint(rng, act, sd, sizes...), "joint"
	case 8:
		if len(sizes) > 2 && rng.IntN(3) > 0 {
			return sumtest.RandomMasked(rng, act, rng.IntN(len(sizes)-1), sizes...), "dropout"
		}
		return sumtest.RandomDropConnect(rng, act), "dropconnect"
	case 9:
		return sumtest.RandomMaskedGraph(rng, act, checktest.Activations[1]), "dropout graph"
	case 10:
		return convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(3), Spread: sd / 8, Outputs: 1 + rng.IntN(3)}), "convolutions"
	case 11:
		return convtest.Kronecker(rng, convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(2), Spread: sd / 8, Outputs: 1 + rng.IntN(3)}), sd/8), "kron convolutions"
	case 12:
		return anySamples(rng, sumtest.RandomNoisy(rng, act, sd, sizes...)), "samples"
	}
	return anySamples(rng, convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(2), Outputs: 2})), "samples of convolutions"
}

// anySamples is a finite set of networks around the means of a posterior.
func anySamples(rng *rand.Rand, of *posterior.Posterior) *posterior.Posterior {
	s, n := &posterior.Finite{}, 1+rng.IntN(5)
	for _, g := range of.Params() {
		var stack []float64
		for range n {
			for _, mean := range g.Mean {
				stack = append(stack, mean+0.2*rng.NormFloat64())
			}
		}
		s.Stack = append(s.Stack, stack)
	}
	for range n {
		s.Counts = append(s.Counts, 1+rng.Int64N(3))
	}
	post, err := posterior.FromFinite(of.Layers, s)
	if err != nil {
		panic(err)
	}
	return post
}

// extreme changes numbers of a posterior into some that are next to nothing, huge or 0, or all of a kind by a
// power of ten.
func extreme(rng *rand.Rand, p *posterior.Posterior) {
	var lists [][]float64
	for _, g := range p.Params() {
		lists = append(lists, g.Mean, g.Spread)
	}
	for _, c := range append(p.Covariances(), p.Joint()...) {
		if c != nil {
			lists = append(lists, c.Factor, c.QG, c.QA, c.Sd)
		}
	}
	if s := p.SWAG(); s != nil {
		lists = append(append(lists, s.Spread...), s.Deviation...)
	}
	change := func(list []float64, by float64) {
		for e := range list {
			list[e] *= by
		}
	}
	if rng.IntN(4) == 0 { // all
		by := math.Pow(10, float64(rng.IntN(80)-60))
		for _, list := range lists {
			change(list, by)
		}
	} else {
		for range 1 + rng.IntN(2) {
			list := pick(rng, lists...)
			if rng.IntN(2) == 0 {
				change(list, math.Pow(10, float64(rng.IntN(100)-80)))
				continue
			}
			x := pick(rng, 0, 1, 1e-200, 1e-61, 1e-30, 5e-324, 1e-310, 1e-8, 1e8, 1e30, 1e150)
			for e := range list {
				if rng.IntN(3) == 0 {
					list[e] = x
				}
			}
		}
	}
	if p.Kind == posterior.KindGaussian {
		for k := range p.Layers {
			for _, g := range []*posterior.Params{&p.Layers[k].Weight, &p.Layers[k].Bias} {
				*g = posterior.NewParams(g.Mean, g.Spread, p.Scale)
			}
		}
	}
}

// anyNumber is a decimal of about a size.
func anyNumber(rng *rand.Rand, size float64) string {
	return strconv.FormatFloat(size*rng.NormFloat64(), 'g', 1+rng.IntN(6), 64)
}

// anyExpression is a safe set of rows that hold for the outputs y, mostly.
func anyExpression(rng *rand.Rand, y []float64, deep int) string {
	if deep > 0 && rng.IntN(2) == 0 {
		var list []string
		for range 1 + rng.IntN(3) {
			list = append(list, anyExpression(rng, y, deep-1))
		}
		return fmt.Sprintf(`{"%s": [%s]}`, pick(rng, "and", "or"), strings.Join(list, ", "))
	}
	var row []string
	at, size := 0.0, 0.0
	for _, v := range y {
		c := pick(rng, -1, 0, 1, rng.NormFloat64())
		at, size = at+c*v, size+math.Abs(c*v)
		row = append(row, strconv.FormatFloat(c, 'g', -1, 64))
	}
	offset := size*pick(rng, 0, 0.1, 1)*rng.Float64() - at
	if !(math.Abs(offset) < 1e300) {
		offset = 1
	}
	return fmt.Sprintf(`{"row": [%s], "offset": %s}`, strings.Join(row, ", "), strconv.FormatFloat(offset, 'g', 4+rng.IntN(13), 64))
}

// anyTasks writes the inputs of a job.
func anyTasks(rng *rand.Rand, dir string, post *posterior.Posterior, target string) certify.Tasks {
	n, write := post.Inputs(), func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			panic(err)
		}
		return path
	}
	size := pick(rng, 0.3, 1, 1, 1, 3)
	if rng.IntN(3) == 0 && target == "" {
		var list []string
		for i := range 1 + rng.IntN(2) {
			var boxes []string
			x := make([]float64, n)
			for range pick(rng, 1, 1, 2) {
				var box []string
				for j := range n {
					x[j] = size * rng.NormFloat64()
					r := pick(rng, 0, 0, 0.01, 0.1) * rng.Float64()
					box = append(box, fmt.Sprintf("[%v, %v]", x[j]-r, x[j]+r))
				}
				boxes = append(boxes, "["+strings.Join(box, ", ")+"]")
			}
			list = append(list, fmt.Sprintf(`{"name": "p%d", "kind": "rows", "safe": %s, "boxes": [%s]}`, i, anyExpression(rng, post.LogitsApprox(x), 2), strings.Join(boxes, ", ")))
		}
		return certify.Tasks{File: write("p.json", `{"properties": [`+strings.Join(list, ", ")+`]}`)}
	}
	var csv strings.Builder
	x := make([]float64, n)
	for range 1 + rng.IntN(2) {
		var line []string
		for j := range n {
			line = append(line, anyNumber(rng, size))
			x[j], _ = strconv.ParseFloat(line[j], 64)
		}
		csv.WriteString(strings.Join(line, ",") + "\n")
	}
	p := certify.Points{Inputs: write("x.csv", csv.String()), Eps: pick(rng, "0", "0", "0.001", "0.02", "0.1", "0,0.05"), Property: "keeps_class"}
	if rng.IntN(5) == 0 {
		p.Norm = pick(rng, "2", "1")
	}
	if rng.IntN(8) == 0 {
		p.Clip = []string{"-1", "2"}
	}
	if target == "" && rng.IntN(16) == 0 {
		p.Eps, p.Most, p.Step = "", "0.1", "0.02"
	}
	out := post.Outputs()
	box := func() string {
		var sides []string
		for _, v := range post.LogitsApprox(x) {
			r := (1 + math.Abs(v)) * pick(rng, 0.01, 0.3, 2)
			sides = append(sides, fmt.Sprintf("[%.4g,%s]", v-r*rng.Float64(), pick(rng, "", fmt.Sprintf("%.4g", v+r))))
		}
		return "output_box:" + strings.Join(sides, ",")
	}
	switch {
	case target == "mean" || out == 1:
		p.Property = box()
	case target == "":
		p.Property = pick(rng, "keeps_class", "keeps_class", "top_k:1", "margin:0.1", "argmax_is_never:0", "argmax_in:0,1", "argmax_is:1", box())
	}
	return certify.Tasks{Points: p}
}

// anyJob is a job about files that it writes. It may be one that certify refuses.
func anyJob(rng *rand.Rand, dir string) (*certify.Job, string) {
	post, word := anyPosterior(rng)
	if rng.IntN(3) == 0 {
		word += ", extreme"
		extreme(rng, post)
	}
	var file bytes.Buffer
	if err := format.WriteNPZ(&file, post); err != nil {
		return nil, word
	}
	path := filepath.Join(dir, "net.npz")
	if err := os.WriteFile(path, file.Bytes(), 0o666); err != nil {
		panic(err)
	}
	j := &certify.Job{Posterior: certify.Posterior{Path: path}, Precision: pick(rng, nil, new(bound.Float32), new(bound.Float64)), Version: "test"}
	m := &j.Method
	target := pick(rng, "", "", "", "", "decision", "decision", "mean")
	j.Tasks = anyTasks(rng, dir, post, target)
	switch kind := post.Kind; {
	case rng.IntN(2) == 0:
	case kind == posterior.KindGaussian:
		m.By = new(pick(rng, prove.CLBP, prove.CLBP, prove.NeuronSum, prove.Chernoff, prove.Phases, prove.LBP, prove.IBP))
	case kind == posterior.KindFinite:
		m.By = new(prove.Finite)
	default:
		m.By = new(prove.CLBP)
	}
	method := prove.Auto
	if m.By != nil {
		method = *m.By
	}
	if method.OfBoxes() {
		m.Draws, m.Gamma = new(1+rng.IntN(8)), new(2*rng.Float64())
	} else {
		if rng.IntN(5) == 0 {
			m.Cells = new(1 + rng.IntN(8))
		}
		m.Decision, m.Mean = target == "decision", target == "mean"
		if m.Draws == nil && post.Kind != posterior.KindFinite && rng.IntN(16) == 0 {
			m.Draws, m.Seed = new(20), new(uint64(3))
		}
	}
	if m.Decision {
		switch rng.IntN(4) {
		case 0:
			m.Reject = pick(rng, "0.6", "0.9")
		case 1:
			m.Link = pick(rng, "probit", "")
		}
	}
	if m.Mean && rng.IntN(3) == 0 {
		m.Noise = "0.1"
	}
	if (method == prove.LBP || method == prove.CLBP) && rng.IntN(6) == 0 {
		m.Depth = new(1 + rng.IntN(2))
	}
	m.NoUpper, m.Derived = rng.IntN(8) == 0, post.Kind == posterior.KindGaussian && rng.IntN(8) == 0
	if linearisable := post.Kind == posterior.KindGaussian || post.Kind == posterior.KindCorrelated || post.Kind == posterior.KindJoint; linearisable && rng.IntN(2) == 0 && m.Draws == nil {
		if _, err := post.Linearised(); err == nil {
			word += ", linearised"
			j.Posterior.Predictive, m.By, m.Decision, m.Mean, m.Derived = certify.PredictiveLinearised, nil, false, false, false
			m.Link, m.Reject, m.Noise, j.Tasks.Points.Norm, m.Draws, m.Gamma = "", "", "", "", nil, nil
		}
	}
	switch {
	case rng.IntN(4) == 0:
		j.TimeLimit = new(time.Duration(math.Exp2(6+12*rng.Float64())) * time.Microsecond)
	case post.Kind == posterior.KindDropout, post.Kind != posterior.KindFinite && rng.IntN(2) == 0: // some of which take a minute
		j.TimeLimit = new(400 * time.Millisecond)
	}
	if rng.IntN(8) == 0 {
		j.Require = pick(rng, "0.01", "0.99")
	}
	return j, fmt.Sprintf("%s, %v %v", word, method, j.Precision != nil && *j.Precision == bound.Float64)
}

// TestAnyRecord: whatever certify claims, of posteriors of every kind, by every method, of extreme numbers, stopped by
// a time limit or not, is proved again. PSAFE_TEST_SEED draws others, PSAFE_TEST_FACTOR=1 all, PSAFE_TEST_KIND takes those alone whose words have
// that in them, and PSAFE_TEST_KEEP is a folder for the files of what is refused.
func TestAnyRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("one process: nothing for the race detector")
	}
	seed := uint64(43)
	if text := os.Getenv("PSAFE_TEST_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	cases, all := testscale.Cases(t, 20000), testscale.Factor(t) > 0.1
	if !testscale.Night() && os.Getenv("PSAFE_TEST_FACTOR") == "" {
		cases /= 16
	}
	records, claims, refused, kinds := 0, 0, 0, map[string]int{}
	for i := 0; records < cases; i++ {
		rng, dir := rand.New(rand.NewPCG(seed, uint64(i))), t.TempDir()
		j, word := anyJob(rng, dir)
		if j == nil || !strings.Contains(word, os.Getenv("PSAFE_TEST_KIND")) || !all && strings.Contains(word, "dropout") { // which takes seconds
			os.RemoveAll(dir)
			continue
		}
		if !all { // the same records each time
			j.TimeLimit, j.Method.Cells = nil, new(1)
			if j.Method.By != nil && j.Method.By.OfBoxes() {
				j.Method.Cells = nil
			}
		}
		start := time.Now()
		lines, err := linesOf(t, j)
		if took := time.Since(start); took > 5*time.Second {
			t.Logf("seed %d case %d, %s: certify took %v", seed, i, word, took)
		}
		if err != nil {
			kinds["no record: "+strings.ReplaceAll(err.Error(), dir, "")]++
			continue
		}
		var c Checker
		for _, line := range lines {
			if records++; records%1000 == 0 {
				t.Logf("case %d: %d records", i, records)
			}
			start := time.Now()
			v, err := c.Check(t.Context(), line, false)
			if took := time.Since(start); took > 5*time.Second {
				t.Logf("seed %d case %d, %s: check took %v", seed, i, word, took)
			}
			if v.Claims {
				claims++
				kinds[word]++
			}
			if err != nil || v.Refused != nil {
				refused++
				t.Errorf("seed %d case %d, %s: %v %v\n%s", seed, i, word, err, v.Refused, line)
				keepCase(t, dir, fmt.Sprintf("%d-%d", seed, i), lines)
			}
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d records, %d claim something, %d refused", records, claims, refused)
	if claims < records/3 {
		t.Errorf("%d of %d records claim something", claims, records)
	}
	if all {
		for word, n := range kinds {
			t.Logf("%5d %s", n, word)
		}
	}
}

// TestRefusedBefore: records of TestAnyRecord whose claims were refused once: a neuron that is next
// to never active, weights of 1e150, linearised networks whose sums cancel, masks that change next to nothing,
// weights of 1e150 behind a covariance, and two laws that are next to equal.
func TestRefusedBefore(t *testing.T) {
	for _, at := range [][2]uint64{{501, 600}, {501, 1475}, {903, 39658}, {77, 3845}, {922, 1059}, {921, 7495}} {
		rng := rand.New(rand.NewPCG(at[0], at[1]))
		j, word := anyJob(rng, t.TempDir())
		if j.TimeLimit != nil {
			j.TimeLimit, j.Method.Cells = nil, new(1)
		}
		lines, err := linesOf(t, j)
		if err != nil {
			t.Fatal(err)
		}
		var c Checker
		for _, line := range lines {
			if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
				t.Errorf("%v, %s: %v %v", at, word, err, v.Refused)
			}
		}
	}
}

// keepCase keeps the files of a case in the folder PSAFE_TEST_KEEP, if there is one.
func keepCase(t *testing.T, dir, name string, lines [][]byte) {
	keep := os.Getenv("PSAFE_TEST_KEEP")
	if keep == "" {
		return
	}
	to := filepath.Join(keep, name)
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Log(err)
	}
	var b bytes.Buffer
	for _, line := range lines {
		b.Write(resealed(bytes.ReplaceAll(line, []byte(dir), []byte(to))))
		b.WriteByte('\n')
	}
	if err := os.WriteFile(filepath.Join(to, "r.jsonl"), b.Bytes(), 0o666); err != nil {
		t.Log(err)
	}
}
