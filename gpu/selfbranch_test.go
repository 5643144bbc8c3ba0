package gpu

import (
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testscale"
)

// branchMutants break one branch each.
var branchMutants = []struct{ what, file, old, new string }{
	{noMistake, "round", "", ""},
	{noMistake, "tiles", "", ""},
	{"chord's intercept", "relaxrows", "c += coefficient * b + icpt;", "c += coefficient * b - icpt;"},
	{"chord's charge", "relaxrows", " + fabs(icpt) * chordRel;", ";"},
	{"mixed signs", "relaxrows", "const int mixed = !sure &&", "const int mixed = sure &&"},
	{"shared rows", "relaxrows", "box = quotient(p, perBox);", "box = p;"},
	{"affine, non-negative", "affine", "*lo += a * (a >= R(0.0) ? VEC(zl) : VEC(zh));", "*lo += a * (a >= R(0.0) ? VEC(zh) : VEC(zl));"},
	{"affine, both signs", "affine", "*hi += max4(a, b, VEC(zl), VEC(zh));", "*hi += min4(a, b, VEC(zl), VEC(zh));"},
	{"affine in tiles, non-negative", "affine", "h[k][v] += b[v] * (b[v] >= R(0.0) ? zh : zl);", "h[k][v] += b[v] * (b[v] >= R(0.0) ? zl : zh);"},
	{"affine, second block", "affine", "sums[0][v] += block[0][v];", "sums[0][v] = block[0][v];"},
	{"concretize, non-negative", "concretize", "term = leastNaN(v * l, v * h);", "term = v * l;"},
	{"concretize, second block", "concretize", "sum += blockSum;", "sum = blockSum;"},
	{"back-substitution, shared box", "backsubstitute", "const size_t w = box * in * out;", "const size_t w = 0;"},
	{"rows of points", "mergerows", "*l += cl * (cl >= R(0.0) ? VEC(a) : VEC(b));", "*l += cl * VEC(a);"},
	{"leaky relu", "activate", "lower(down(slopeHi * l))", "lower(slopeHi * l)"},
	{"sigmoid", "activate", "l = sigmoidLo(sigmoidApprox(l));", "l = sigmoidHi(sigmoidApprox(l));"},
	{"overflow", "round", "INLINE vec lower(vec x) { return fabs(x) <= LARGEST ? x : VEC(-INFINITE); }", "INLINE vec lower(vec x) { return x; }"},
	{"Lipschitz constant squared", "vary", "up(lipschitz * by)", "up(lipschitz * lipschitz * by)"},
	{"Lipschitz constant left out", "vary", "up(lipschitz * by)", "up(by)"},
	{"empty intersections, lower", "intersect", "ok ? l : VEC(-INFINITE)", "l"},
	{"empty intersections, upper", "intersect", "ok ? h : VEC(INFINITE)", "h"},
	{"offsets, lower", "mergerows", "    lo += dLo;", "    lo += dHi;"},
	{"offsets, upper", "mergerows", "    hi += dHi;", "    hi += dLo;"},
	{"flat lines of the sigmoid", "sigmoid", "b = sloped ? b : uHi;", "b = b;"},
	{"centred boxes", "drawbox", "if (sampled) {", "if (1) {"},
	{"factors, second block", "sharedvar", "channel += tapsVar(", "channel = tapsVar("},
	{"factors, second block of channels", "sharedvar", "total += block;", "total = block;"},
	{"weights of rows, second block", "sharebox", "channel += tapsCost(", "channel = tapsCost("},
	{"shared rows, second block", "sharerows", "total[i] += sum[i];", "total[i] = sum[i];"},
	{"pairs, second block", "pairnoise", "total += pairBlock(", "total = pairBlock("},
	{"pairs without a tap", "pairnoise", "j >= 0 ? zLo[j] : R(0.0)", "j >= 0 ? zLo[j] : R(1.0)"},
	{"affine in local memory, non-negative", "affinetiles", "b[v] * (b[v] >= R(0.0) ? zh : zl);", "b[v] * (b[v] >= R(0.0) ? zl : zh);"},
	{"affine in local memory, both signs", "affinetiles", "+= max4(a[v], b[v], zl, zh);", "+= min4(a[v], b[v], zl, zh);"},
	{"affine in local memory, second block", "affinetiles", "lo[k] += l[k];", "lo[k] = l[k];"},
	{"affine in local memory, second tile of items", "affinetiles", "+ group * SIDE;", "+ 0;"},
	{"back-substitution in local memory", "backtiles", "a[u] * (a[u] >= R(0.0) ? lo : hi);", "a[u] * lo;"},
	{"back-substitution in local memory, upper ends", "backtiles", "a[u] * (a[u] >= R(0.0) ? hi : lo);", "a[u] * hi;"},
	{"back-substitution in local memory, bias", "backtiles", "total += sum;", "total = sum;"},
	{"rows in local memory", "tiles", "to[stagedRow(k) * PITCH +", "to[stagedRow(k) * STAGE +"},
}

// TestSelfTestBranches: the self-test alone refuses kernels with one branch broken,
// also the branches that only some jobs take.
func TestSelfTestBranches(t *testing.T) {
	if testing.Short() {
		t.Skip("builds many kernels")
	}
	info := devices(t)[0]
	for _, m := range testscale.Few(t, branchMutants, 2) {
		opts := Options{sources: mutate(t, m.file, m.old, m.new), build: quick, Chains: true}
		if strings.HasSuffix(m.file, "tiles") {
			opts.shape = onGPUs
		}
		d, err := OpenInfo(info, bound.Float32, opts)
		if passed := err == nil; passed != (m.what == noMistake) {
			t.Errorf("%s: the self-test passed: %v (%v)", m.what, passed, err)
		}
		if err == nil {
			check(t, d.Close())
		}
	}
}
