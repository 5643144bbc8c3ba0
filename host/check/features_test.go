package check

import (
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testkit/checktest"
)

// TestFeatures: a record about features of a network says so, and one that does not, or names another
// network, does not pass.
func TestFeatures(t *testing.T) {
	post := checktest.RandomAbout(rand.New(rand.NewPCG(46, 6)), 0, 0.1, 2, 4, 2)
	post.Input.FeaturesOf = "ResNet-18 up to avgpool"
	line := written(t, jobOf(t, post, "0.5,0.25\n", bound.Float32))[0]
	if !strings.Contains(string(line), `"features_of":"ResNet-18 up to avgpool",`) {
		t.Fatalf("nothing of features: %s", line)
	}
	if err := passes(t, line); err != nil {
		t.Errorf("%v: %s", err, line)
	}
	for _, with := range []string{``, `"features_of":"ResNet-18",`} {
		if err := passes(t, changed(t, line, `"features_of":"[^"]*",`, with)); err == nil || !strings.Contains(err.Error(), "features_of") {
			t.Errorf("with %q: %v", with, err)
		}
	}
	post.Input.FeaturesOf = ""
	line = written(t, jobOf(t, post, "0.5,0.25\n", bound.Float32))[0]
	if err := passes(t, changed(t, line, `"activations"`, `"features_of":"ResNet-18","activations"`)); err == nil {
		t.Errorf("features of a file that has none pass: %s", line)
	}
}
