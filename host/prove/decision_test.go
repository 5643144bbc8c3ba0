package prove_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// softmaxOf is the softmax of one network at x.
func softmaxOf(pass *network.Pass, x []float64) []float64 {
	y := slices.Clone(pass.Forward(x))
	most, sum := slices.Max(y), 0.0
	for k := range y {
		y[k] = math.Exp(y[k] - most)
		sum += y[k]
	}
	for k := range y {
		y[k] /= sum
	}
	return y
}

// rivalOf is the class with the most of a predictive but for c.
func rivalOf(pi []float64, c int) int {
	best := -1
	for k := range pi {
		if k != c && (best < 0 || pi[k] > pi[best]) {
			best = k
		}
	}
	return best
}

// pointsOf are the corners of T, its centre and points in between, and the witness.
func pointsOf(r *rand.Rand, task *property.Task, d *claim.Decision) [][]float64 {
	points := gridOf(2, task.T...)
	for _, b := range task.T {
		for range 4 {
			x := make([]float64, len(b.Lo))
			for j := range x {
				x[j] = b.Lo[j] + r.Float64()*(b.Hi[j]-b.Lo[j])
			}
			points = append(points, x)
		}
	}
	if w := d.Proof.Witness; w != nil {
		x, err := task.T[w.Box].DecodePoint(w.At)
		if err != nil {
			panic(err)
		}
		points = append(points, x)
	}
	return points
}

// onBall draws points that are outside of the ball of a task to its face. The last one is the witness where
// there is one, which is where the proof has it.
func onBall(points [][]float64, task *property.Task, d *claim.Decision) [][]float64 {
	b := task.Ball
	for i, x := range points {
		if length := b.LengthApprox(x); length > 1 && length < 1e9 {
			for j, c := range b.CentreLo {
				x[j] = c + (x[j]-c)/length
			}
		}
		if i == len(points)-1 && d.Proof.Witness != nil {
			at, err := task.T[0].DecodePoint(d.Proof.Witness.At)
			if err != nil {
				panic(err)
			}
			points[i] = task.Witness(0, at).Lo
		}
	}
	return points
}

// TestDecisionOnBalls: of many inputs the decision on a ball is more than that on the box around it, and a
// network that is refuted is so at a point of the ball.
func TestDecisionOnBalls(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 41))
	better, refuted := 0, 0
	const cases = 12
	for n := range cases {
		post := provetest.Noisy(r, 0.02, false, 12, 8, 3)
		x := make([]float64, 12)
		for j := range x {
			x[j] = r.NormFloat64()
		}
		y := post.LogitsApprox(x)
		ball := around(x, []float64{0.05, 0.15, 1.5}[n%3], 1+n%2, -99, 99, property.ArgmaxIs(slices.Index(y, slices.Max(y)), 3))
		ball.Label = slices.Index(y, slices.Max(y))
		box := ball
		box.Ball = nil
		cfg := prove.Config{Method: prove.CLBP, Decision: true, NoUpper: true}
		results := run(t, bound.Float64, post, cfg, ball, box)
		on, around := results[0].Decision, results[1].Decision
		if on.Gap > around.Gap+0.01 {
			better++
		}
		if on.Gap < around.Gap-1e-3 {
			t.Errorf("%d: gap %v on the ball, %v on the box around it", n, on.Gap, around.Gap)
		}
		if w := on.Proof.Witness; w != nil {
			refuted++
			if at, err := ball.T[0].DecodePoint(w.At); err != nil || ball.Witness(0, at).Lo == nil {
				t.Errorf("%d: the witness is no point of the ball", n)
			}
		}
	}
	if t.Logf("%d better, %d refuted", better, refuted); better < 3 || refuted == 0 {
		t.Errorf("of %d only %d are better than on boxes, %d refuted", cases, better, refuted)
	}
}

// against compares a decision with the predictive at a point, each of whose probabilities may err by
// slack.
func against(t *testing.T, name string, task *property.Task, d *claim.Decision, pi, slack []float64, vote, voteSlack float64) {
	t.Helper()
	c := task.Label
	if d.Lower > pi[c]+slack[c] || d.Vote > vote+voteSlack {
		t.Errorf("%s: lower %v and vote %v, they are %v and %v", name, d.Lower, d.Vote, pi[c], vote)
	}
	for k, p := range pi {
		if k == c && d.ClassUpper[k] != 1 || d.ClassUpper[k] < p-slack[k] || d.RivalUpper < d.ClassUpper[k] && k != c {
			t.Errorf("%s: class %d: class_upper %v of rival_upper %v, it is %v", name, k, d.ClassUpper, d.RivalUpper, p)
		}
		if k != c && (d.RivalUpper < p-slack[k] || d.Action == nil && d.Gap > pi[c]-p+slack[c]+slack[k]) {
			t.Errorf("%s: class %d: rival_upper %v and gap %v, they are %v and %v", name, k, d.RivalUpper, d.Gap, p, pi[c]-p)
		}
	}
}

// againstCosts compares a decision about an action with the expected costs at a point, and its rival's gap
// too if that is the witness.
func againstCosts(t *testing.T, name string, costs *property.Costs, d *claim.Decision, pi, slack []float64, witness bool) {
	t.Helper()
	over := func(b, a int) (sum, err float64) {
		for k, u := range costs.Over(b, a) {
			x, _ := u.Float64()
			sum, err = sum+x*pi[k], err+math.Abs(x)*slack[k]
		}
		return sum, err
	}
	for b := range costs.Actions() {
		if b == *d.Action {
			continue
		}
		if is, err := over(b, *d.Action); d.Gap > is+err {
			t.Errorf("%s: gap %v, action %d costs %v more than %d", name, d.Gap, b, is, *d.Action)
		}
	}
	if !witness || d.Proof.Rival == nil {
		return
	}
	if is, err := over(*d.Action, *d.Proof.Rival); d.RivalGap > is+err {
		t.Errorf("%s: rival_gap %v, action %d costs %v more than %d", name, d.RivalGap, *d.Action, is, *d.Proof.Rival)
	}
}

// ruleOf returns how case n decides: by the largest probability, by one that is large enough, or by costs.
func ruleOf(r *rand.Rand, n, classes int) (rule decide.Rule) {
	var err error
	switch n % 3 {
	case 1:
		rule.Costs, err = property.RejectBelow([]string{"0.6", "0.9"}[r.IntN(2)], classes)
	case 2:
		var rows []string
		for range 2 + r.IntN(3) {
			row := make([]string, classes)
			for k := range row {
				row[k] = fmt.Sprint(r.IntN(60))
			}
			rows = append(rows, strings.Join(row, ","))
		}
		rule.Costs, err = property.ParseCosts(strings.Join(rows, ";"), classes)
	}
	if err != nil {
		panic(err)
	}
	if rule.Costs != nil && n%2 == 0 {
		rule.ByLabel = true
		for k := range classes {
			rule.ByLabel = rule.ByLabel && rule.Costs.BestFor(k) >= 0
		}
	}
	return rule
}

// noisyOf is a posterior of one of the kinds of noise.
func noisyOf(r *rand.Rand, kind int, sd float64, sizes ...int) *posterior.Posterior {
	relu := network.Activation{Kind: network.ReLU}
	switch kind {
	case 0: // the last layer alone, with any covariance
		return sumtest.RandomOnTop(r, relu, sd, sizes...)
	case 1:
		return sumtest.RandomMasked(r, relu, r.IntN(len(sizes)-1), sizes...)
	case 2:
		return sumtest.RandomCorrelated(r, relu, sd, sizes...)
	case 3:
		return sumtest.RandomSWAG(r, relu, sd, sizes...)
	}
	return provetest.Noisy(r, sd, r.IntN(3) == 0, sizes...)
}

// TestDecisionOfNoise: no bound is beyond what draws show at corners, other points and the witness; of
// small noise all is decided one way or the other, and the probability is found.
func TestDecisionOfNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 3))
	safe, unsafe, balls := 0, 0, 0
	const draws = 2000
	for n := range testscale.Cases(t, 300) {
		sd, sizes := []float64{0, 0.02, 0.1, 0.4}[n%4], [][]int{{2, 5, 3}, {1, 4, 4, 2}, {3, 4}}[n%3]
		post := provetest.Noisy(r, sd, n%3 == 0, sizes...)
		if n%2 == 1 && (len(sizes) > 2 || n%5 < 2) {
			post = noisyOf(r, n%5, sd, sizes...)
		}
		x := make([]float64, post.Inputs())
		for j := range x {
			x[j] = r.NormFloat64()
		}
		y := post.LogitsApprox(x)
		task := property.Task{Index: n, Label: slices.Index(y, slices.Max(y)), T: []property.Box{provetest.BoxAround(x, []float64{0, 0.02, 0.3}[n/4%3])}}
		if n%5 == 0 { // perhaps not the class of any network
			task.Label = r.IntN(post.Outputs())
		}
		task.S, task.Inner = property.ArgmaxIs(task.Label, post.Outputs()), task.T
		cfg := prove.Config{Method: prove.CLBP, Decision: true, Cells: 1 + n%4, Rule: ruleOf(r, n/2, post.Outputs())}
		if post.Networks() != nil {
			cfg.Method = prove.Finite
		}
		if n%4 == 1 && post.Independent() {
			task.Ball = around(x, (task.T[0].Hi[0]-task.T[0].Lo[0])/2, 1+n/4%2, -99, 99, task.S).Ball
			cfg.Cells = 0
		}
		result := run(t, []bound.Precision{bound.Float32, bound.Float64}[n%2], post, cfg, task)[0]
		d := result.Decision
		switch d.Verdict() {
		case claim.DecisionSafe:
			safe++
		case claim.DecisionUnsafe:
			unsafe++
		}
		points := pointsOf(r, &task, d)
		if task.Ball != nil {
			points = onBall(points, &task, d)
			balls++
		}
		drawn := againstDraws(t, fmt.Sprintf("%d, %s", n, post.Describe()), post, &task, cfg.Rule, d, points, draws)
		if b := task.T[0]; post.Dropout() == nil && sd <= 0.02 && slices.Equal(b.Lo, b.Hi) {
			if loss := drawn[task.Label] - d.Lower; loss > 0.05 {
				t.Errorf("%d: sd %v, a point: pi is %v, lower %v", n, sd, drawn[task.Label], d.Lower)
			}
		}
	}
	if t.Logf("%d safe, %d unsafe, %d on balls", safe, unsafe, balls); !testing.Short() && (safe < 3 || unsafe < 2) {
		t.Errorf("only %d are safe and %d unsafe", safe, unsafe)
	}
}

// againstDraws compares a decision with the predictive of drawn networks at points, the last of which is the
// witness if there is one. It returns the predictive at the first.
func againstDraws(t *testing.T, name string, post *posterior.Posterior, task *property.Task, rule decide.Rule, d *claim.Decision, points [][]float64, draws int) []float64 {
	t.Helper()
	pi, square, vote := make([][]float64, len(points)), make([][]float64, len(points)), make([]float64, len(points))
	for p := range points {
		pi[p], square[p] = make([]float64, post.Outputs()), make([]float64, post.Outputs())
	}
	net, w, each := post.Network(), post.NewWeights(), 1/float64(draws)
	pass := net.NewPass(w)
	for i := range draws {
		post.Draw(uint64(task.Index), i, w)
		for p, x := range points {
			s := softmaxOf(pass, x)
			for k, v := range s {
				pi[p][k] += v * each
				square[p][k] += v * v * each
			}
			if s[task.Label] == slices.Max(s) {
				vote[p] += each
			}
		}
	}
	for p := range points {
		slack := make([]float64, post.Outputs())
		for k := range slack {
			slack[k] = 5*math.Sqrt(max(0, square[p][k]-pi[p][k]*pi[p][k])*each) + 1e-6
		}
		against(t, name, task, d, pi[p], slack, vote[p], 5*math.Sqrt(vote[p]*(1-vote[p])*each)+1e-6)
		if rule.Costs != nil {
			againstCosts(t, name, rule.Costs, d, pi[p], slack, p == len(points)-1)
		} else if w := d.Proof.Witness; w != nil && p == len(points)-1 {
			if k := *d.Proof.Rival; d.RivalGap > pi[p][k]-pi[p][task.Label]+slack[k]+slack[task.Label] {
				t.Errorf("%s: rival_gap %v, it is %v", name, d.RivalGap, pi[p][k]-pi[p][task.Label])
			}
		}
	}
	return pi[0]
}

// TestDecisionOfSets: the bounds of a finite set hold at all points of a fine grid of T, to the last
// digit, and with few inputs the set is decided.
func TestDecisionOfSets(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 4))
	decided := map[string]int{}
	for n := range testscale.Cases(t, 120) {
		post := setOf(t, r, 7, network.Activation{Kind: []network.Kind{network.ReLU, network.Tanh}[n%2]}, [][]int{{2, 4, 3}, {1, 5, 2}}[n/2%2]...)
		box := randomBox(r, post.Inputs())
		task := property.Task{Index: n, Label: r.IntN(post.Outputs()), T: []property.Box{box}}
		task.S, task.Inner = property.ArgmaxIs(task.Label, post.Outputs()), task.T
		rule := ruleOf(r, n/4, post.Outputs())
		d := run(t, []bound.Precision{bound.Float32, bound.Float64}[n%2], post, prove.Config{Method: prove.Finite, Decision: true, Cells: 100, Rule: rule}, task)[0].Decision
		decided[d.Verdict()]++
		points := append(gridOf(12, box), pointsOf(r, &task, d)...)
		s := post.Networks()
		for _, x := range points {
			pi, vote := make([]float64, post.Outputs()), 0.0
			for i, count := range s.Counts {
				share := float64(count) / float64(s.Total())
				softmax := softmaxOf(post.Network().NewPass(s.Weights(i)), x)
				for k, v := range softmax {
					pi[k] += share * v
				}
				if softmax[task.Label] == slices.Max(softmax) {
					vote += share
				}
			}
			slack := slices.Repeat([]float64{1e-12}, post.Outputs())
			atWitness := d.Proof.Witness != nil && slices.Equal(x, points[len(points)-1])
			if against(t, "set", &task, d, pi, slack, vote, 1e-12); rule.Costs != nil {
				againstCosts(t, "set", rule.Costs, d, pi, slack, atWitness)
				continue
			}
			if atWitness && d.RivalGap > pi[*d.Proof.Rival]-pi[task.Label]+1e-12 {
				t.Errorf("%d: rival_gap %v, it is %v", n, d.RivalGap, pi[*d.Proof.Rival]-pi[task.Label])
			}
			if rival := rivalOf(pi, task.Label); d.Verdict() == claim.DecisionSafe && pi[rival] >= pi[task.Label] {
				t.Errorf("%d: decision_safe, and class %d has %v at %v, the class %v", n, rival, pi[rival], x, pi[task.Label])
			}
		}
	}
	t.Log(decided)
	if decided[claim.DecisionSafe] < 1 || decided[claim.DecisionUnsafe] < 2 || 4*decided[claim.DecisionUnknown] > decided[claim.DecisionUnsafe] {
		t.Errorf("decided are %v", decided)
	}
}

// TestDecisionByPhases: where margins were proved for all networks whose noise is confined, no bound is beyond what
// draws show, and some decisions are known that were not.
func TestDecisionByPhases(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 70))
	gained := 0
	for n := range testscale.Cases(t, 100) {
		sizes := [][]int{{3, 12, 8, 3}, {4, 10, 8, 2}, {3, 8, 8, 3}}[n%3]
		post := provetest.Noisy(r, []float64{0.002, 0.005}[n%2], false, sizes...)
		x := make([]float64, post.Inputs())
		for j := range x {
			x[j] = r.NormFloat64()
		}
		y := post.LogitsApprox(x)
		task := property.Task{Index: n, Label: slices.Index(y, slices.Max(y))}
		task.S = property.ArgmaxIs(task.Label, post.Outputs())
		// At some radius it is phases that decide, if at any.
		var d *claim.Decision
		for eps := 0.05; d == nil || d.Proof.Phases == nil && d.Verdict() == claim.DecisionSafe; eps *= 1.2 {
			task.T = []property.Box{provetest.BoxAround(x, eps)}
			task.Inner = task.T
			d = run(t, []bound.Precision{bound.Float32, bound.Float64}[n%2], post, prove.Config{Method: prove.Phases, Decision: true, Cells: 1}, task)[0].Decision
		}
		if d.Proof.Phases == nil {
			continue
		}
		if gained++; d.Verdict() != claim.DecisionSafe || !(d.Vote > 0.99) {
			t.Errorf("%d: %s, vote %v, with margins of %v", n, d.Verdict(), d.Vote, d.Proof.Margin)
		}
		againstDraws(t, fmt.Sprintf("%d, phases", n), post, &task, decide.Rule{}, d, gridOf(4, task.T[0]), 200)
	}
	if t.Logf("%d decisions by phases", gained); !testing.Short() && gained == 0 {
		t.Error("phases decided nothing")
	}
}
