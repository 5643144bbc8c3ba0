package certify

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/internal/testscale"
)

// TestTimeLimitIsKept: on a large network, of which an operation or a preparation takes seconds, the
// time of an input is kept, whatever the method is at.
func TestTimeLimitIsKept(t *testing.T) {
	testscale.DeepOnly(t) // a gigabyte
	r := rand.New(rand.NewPCG(11, 11))
	sizes := []int{784, 2048, 2048, 10}
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	params := func(n int, size float64) posterior.Params {
		mean, sd := make([]float64, n), make([]float64, n)
		for i := range mean {
			mean[i], sd[i] = float64(float32(size*r.NormFloat64())), 0x1p-13
		}
		return posterior.NewParams(mean, sd, posterior.ScaleSD)
	}
	for k := range len(sizes) - 1 {
		a := network.Activation{Kind: network.ReLU}
		if k == len(sizes)-2 {
			a = network.Activation{}
		}
		in, out := sizes[k], sizes[k+1]
		post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(in, out, a), Weight: params(in*out, math.Sqrt(2/float64(in))), Bias: params(out, 0.01)})
	}
	var b bytes.Buffer
	if err := format.WriteNPZ(&b, post); err != nil {
		t.Fatal(err)
	}
	net := file(t, "large.npz", b.String())
	var point []string
	for range sizes[0] {
		point = append(point, fmt.Sprintf("%.3f", r.Float64()))
	}
	x := file(t, "x.csv", strings.Join(point, ",")+"\n")
	const late = 3 * time.Second // of a machine that does eight other things
	for what, m := range map[string]Method{
		"auto": {}, "clbp": {By: new(prove.CLBP)}, "drawn": {By: new(prove.CLBP), Draws: new(50)}, "statistical": {By: new(prove.Statistical), Draws: new(50)},
	} {
		for _, limit := range []time.Duration{100 * time.Millisecond, time.Second} {
			j := &Job{Posterior: Posterior{Path: net}, Tasks: around(x, "0.001"), Method: m, TimeLimit: &limit, Open: onCPU}
			records, err := j.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			took := time.Duration(*records[0].Seconds * float64(time.Second))
			t.Logf("%s: %v of %v, %q", what, took, limit, records[0].Stopped)
			if took > limit+late {
				t.Errorf("%s: took %v of %v", what, took, limit)
			}
		}
	}
}
