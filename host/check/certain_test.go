package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/verify"
	"psafe/host/read/format"
	"psafe/host/read/vnnlib"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestCheckCertain: a posterior without deviations is one network. auto proves that it is safe, or
// not, with probability exactly 1 or 0, as verify decides; check proves it again, and no other
// ruling.
func TestCheckCertain(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 4))
	counts := map[verify.Answer]int{}
	for range testscale.Cases(t, 60) {
		post := sumtest.RandomNoisy(rng, net.Activation{Kind: net.ReLU}, 0, 2, 6, 6, 2)
		x := []float64{rng.NormFloat64(), rng.NormFloat64()}
		y := post.LogitsApprox(x)
		var q strings.Builder
		for j, v := range x {
			fmt.Fprintf(&q, "(declare-const X_%d Real)(assert (>= X_%d %.4f))(assert (<= X_%d %.4f))\n", j, j, v-0.4, j, v+0.4)
		}
		// Unsafe where the first output is below the second, or beyond a limit near its value.
		fmt.Fprintf(&q, "(declare-const Y_0 Real)(declare-const Y_1 Real)(assert (or (<= Y_0 %.4f) (and (>= Y_1 %.4f) (<= Y_0 Y_1))))\n",
			y[0]-1.5*rng.ExpFloat64(), y[1]+2*rng.Float64())
		dir := t.TempDir()
		query, network := filepath.Join(dir, "q.vnnlib"), filepath.Join(dir, "net.npz")
		f, err := os.Create(network)
		if err == nil {
			err = format.WriteNPZ(f, post)
		}
		if err == nil {
			err = f.Close()
		}
		if err == nil {
			err = os.WriteFile(query, []byte(q.String()), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := vnnlib.Read([]byte(q.String()))
		if err != nil {
			t.Fatal(err)
		}
		question := verify.Question{Query: parsed, Networks: []*posterior.Posterior{post}, Cells: 1 << 14}
		tasks, err := question.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		says, err := question.Ask(t.Context(), tasks, fallback.New(bound.Float32), nil)
		if err != nil {
			t.Fatal(err)
		}
		counts[says.Answer]++
		j := &certify.Job{Posterior: certify.Posterior{Path: network}, Tasks: certify.Tasks{File: query}, Version: "test"}
		line := string(written(t, j)[0])
		want := map[verify.Answer]string{verify.Unsat: `"p_lower":1,"log10_p_lower":0,"p_upper":1,`, verify.Sat: `"p_lower":0,"log10_p_lower":null,"p_upper":0,`,
			verify.Unknown: `"p_lower":0,"log10_p_lower":null,"p_upper":1,`}[says.Answer]
		if !strings.Contains(line, want) || !strings.Contains(line, `"method":"samples","samples":1,`) {
			t.Errorf("verify says %s: %s\n%s", says.Answer, line, q.String())
			continue
		}
		var c Checker
		if v, err := c.Check(t.Context(), []byte(line), false); err != nil || v.Refused != nil {
			t.Errorf("%v %v\n%s", err, v.Refused, line)
		}
		for _, forge := range [][2]string{
			{`"safe_samples":0,"unsafe_samples":1,"p_lower":0,"log10_p_lower":null,"p_upper":0,`, `"safe_samples":1,"unsafe_samples":0,"p_lower":1,"log10_p_lower":0,"p_upper":1,`},
			{`"safe_samples":1,"unsafe_samples":0,"p_lower":1,"log10_p_lower":0,"p_upper":1,`, `"safe_samples":0,"unsafe_samples":1,"p_lower":0,"log10_p_lower":null,"p_upper":0,`},
		} {
			forged := strings.NewReplacer(forge[0], forge[1], `"verdict":"safe"`, `"verdict":"unsafe"`, `"verdict":"unsafe"`, `"verdict":"safe"`).Replace(line)
			if !strings.Contains(line, forge[0]) {
				continue
			}
			if v, err := c.Check(t.Context(), resealed([]byte(forged)), false); err != nil || v.Refused == nil {
				t.Errorf("a forged ruling passes: %v\n%s", err, forged)
			}
		}
	}
	t.Logf("%v", counts)
	if counts[verify.Sat] == 0 || counts[verify.Unsat] == 0 {
		t.Errorf("answers %v: the test misses its cases", counts)
	}
}
