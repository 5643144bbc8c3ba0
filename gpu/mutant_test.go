package gpu

import (
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testscale"
	"psafe/kernels"
)

// mutants are mistakes that could be made in the kernels, of every operation at least
// one. The self-test must notice each.
var mutants = []struct{ what, file, old, new string }{
	{noMistake, "round", "", ""},
	{"sign of eta", "round", "x - (PHI * fabs(x) + ETA)", "x - (PHI * fabs(x) - ETA)"},
	{"half the push", "round", "x + (PHI * fabs(x) + ETA)", "x + (R(0.5) * PHI * fabs(x) + ETA)"},
	{"no down after the sum", "affine", "storeUpTo(lower(down(lo - push)), preLo, n);", "storeUpTo(lower(lo - push), preLo, n);"},
	{"push inwards", "affine", "upper(up(hi + push))", "upper(up(hi - push))"},
	{"end-points swapped", "affine", "(b >= R(0.0) ? VEC(zh) : VEC(zl))", "(b >= R(0.0) ? VEC(zl) : VEC(zh))"},
	{"one Newton step less", "round", "k < NEWTON_STEPS", "k < NEWTON_STEPS - 2"},
	{"bias forgotten", "affine", "hi += h;", ""},
	{"blocks of 33", "round", "#define BLOCK 32", "#define BLOCK 33"},
	{"index of the box", "drawbox", "const size_t b = quotient(t, runs), at = b * n;", "const size_t b = quotient(t, runs), at = b * (n - 1);"},
	{"a round of Philox less", "drawbox", "round < 10", "round < 9"},
	{"wrong half of 64 bits", "drawbox", "(uintD)((uint)(number >> 32))", "(uintD)((uint)number)"},
	{"tail of the normal", "drawbox", "4.66594357491947f", "4.66594457491947f"},
	{"row of another item", "mergerows", "x = modulo(p, inputs);", "x = 0;"},
	{"slope of the wrong line", "relaxrows", "coefficient >= R(0.0) ? VEC(aLo[i]) : VEC(aHi[i])", "coefficient >= R(0.0) ? VEC(aHi[i]) : VEC(aLo[i])"},
	{"mirrored rows not negated", "relaxrows", "negated ? -VLOAD(sHi + at)", "negated ? VLOAD(sHi + at)"},
	{"chord not rounded", "relaxrows", "down(down(sLo - *a) * zHi)", "((sLo - *a) * zHi)"},
	{"charge left out", "relaxrows", "charge += fabs(coefficient) * err[i] + fabs(icpt) * chordRel;", "charge += fabs(coefficient) * err[i];"},
	{"weights exchanged", "backsubstitute", "v[u] * (v[u] >= R(0.0) ? wl : wh)", "v[u] * (v[u] >= R(0.0) ? wh : wl)"},
	{"ends of weights exchanged, of both ends", "backsubstitute", "l1 += v1 * (v1 >= R(0.0) ? l : h);", "l1 += v1 * (v1 >= R(0.0) ? h : l);"},
	{"a vector's rows by the one before", "backsubstitute", "(live0[word] | live1[word]) &", "live0[word] &"},
	{"weights that are 0 at the first input", "backsubstitute", "met = bits + (box * in + j) *", "met = bits + (box * in) *"},
	{"weights of the first box", "backsubstitute", "lower = wLo + (box * in + j) * out", "lower = wLo + j * out"},
	{"rows of zeros of the first item", "backsubstitute", "live0 = bits + (weights + p * rowTiles + tile)", "live0 = bits + (weights + tile)"},
	{"a weight's other end", "backsubstitute", "((lo[i] != R(0.0)) | (hi[i] != R(0.0)))", "(lo[i] != R(0.0))"},
	{"blocks of both ends", "backsubstitute", "            lo0 += l0;", "            lo0 = l0;"},
	{"second vector's constant", "backsubstitute", "if (n1 > 0) {\n            backBias", "if (0) {\n            backBias"},
	{"rows of zeros of another output", "backsubstitute", "? LIVE(i - i0) : 0", "? LIVE((i - i0) / 2) : 0"},
	{"runs of inputs", "backsubstitute", "first = (int)modulo(t, runs) * run;", "first = 0;"},
	{"sign of the mirrored bound", "intersect", "-VLOAD(b + n)", "VLOAD(b + n)"},
	{"input of another item", "concretize", "x = modulo(p, inputs) * in", "x = 0"},
	{"lower line of sigmoid", "relax", "sigmoidUpper(aLo, &b, -u, -l);", "sigmoidUpper(aLo, &b, -l, -u);"},
	{"error of sigmoid", "sigmoid", "#define SIGMOID_ERR R(16.0)", "#define SIGMOID_ERR R(15.0)"},
	{"square rounded to nearest", "squarerows", "up(x * x)", "x * x"},
	{"variance for its root", "noiserows", "rootUp(sj) * radius[x + j]", "sj * radius[x + j]"},
	{"inputs that are not 0 left out", "noiserows", "radius[x + j] == R(0.0) && maxSq", "maxSq"},
	{"noise of another input", "noiserows", "x = modulo(p, inputs) * in,", "x = 0,"},
	{"noise from above left out", "noiserows", "noisier(vIn, ", "noisier(R(0.0), "},
	{"widened one way only", "widen", "upper(up(loadUpTo(hi + i, n - i) + by))", "loadUpTo(hi + i, n - i)"},
	{"magnitude without noise", "widen", "upper(up(loadUpTo(mag + i, n - i) + by))", "loadUpTo(mag + i, n - i)"},
	{"quantile of the first item", "round", "v = VEC(quantiles[first]);", "v = VEC(quantiles[0]);"},
	{"quantile of a vector's first number", "round", "k < n ? quantiles[(i + k) / each]", "k < n ? quantiles[first]"},
	{"quantile below 0", "round", "return v >= R(0.0) ? v : VEC(INFINITE);", "return v;"},
	{"radius without its cap", "vary", "upper(leastNaN(up(lipschitz * by), up(h - l)))", "upper(up(lipschitz * by))"},
	{"multiplier of the wrong sign", "splitrows", "f > zero ? -by : (f < zero ? by : given)", "f > zero ? by : (f < zero ? by : given)"},
	{"slope above 1", "splitrows", "(l <= VEC(R(1.0)) ? v * l : zero)", "v * l"},
	{"negative multiplier", "splitrows", "given >= zero ? given : zero", "given"},
	{"charge without the multiplier", "splitrows", "(fabs(x) + fabs(term)) * coefErr", "fabs(x) * coefErr"},
	{"difference of equal ends", "pairnoise", "mostNaN1(iHi - jLo, jHi - iLo)", "mostNaN1(iHi - jHi, jLo - iLo)"},
	{"difference not squared", "pairnoise", "(squared ? up1(m * m) : m)", "m"},
	{"pairs of another box", "pairnoise", "v + quotient(p, perBox) * size * channels +", "v +"},
	{"factor not widened", "sharedvar", "VLOAD(gHi + at + k * step)) + width;", "VLOAD(gHi + at + k * step));"},
	{"width of a sum that cancels", "sharedvar", "mag += fabs(v);", "mag += v;"},
	{"variance of shared biases left out", "sharedvar", "return channel + biasVar(a0, share, vb[o]);", "return channel;"},
	{"end of the interval exchanged", "sharebox", "(gHi > -gLo ? VEC(l) : VEC(h))", "(gHi > -gLo ? VEC(h) : VEC(l))"},
	{"chord mirrored", "sharebox", "-gLo * recipApprox(gHi - gLo)", "gHi * recipApprox(gHi - gLo)"},
	{"cost at one end", "sharebox", "mostNaN((w - l) * gHi, (h - w) * -gLo)", "(w - l) * gHi"},
	{"coefficients of biases not widened", "sharebox", "down(a0 - share), up(a0 + share)", "a0, a0"},
	{"cost added", "sharebox", "down(c - cost)", "down(c + cost)"},
	{"matrix of another tap", "sharerows", "sum[i * SK + j] += v * weight[j];", "sum[i * SK + j] += v * weight[0];"},
	{"root not proved", "round", "const vec c = x * y * (R(1.0) + R(16.0) * UNIT);", "const vec c = x * y;"},
	{"error of softplus", "convex", "(ln + *err)", "ln"},
	{"logarithm without its first term", "convex", "n < ATANH_TERMS", "n < ATANH_TERMS - 1"},
	{"ELU's other slope", "convex", "alphaHi * (below - wrong)", "alphaLo * (below - wrong)"},
	{"chord over the left end", "convex", "mostNaN(up(left - down(s * l)), up(right - down(s * u)))", "up(left - down(s * l))"},
	{"tangent without its error", "convex", "down(down(at - up(s * touch)) - lost)", "down(at - up(s * touch))"},
	{"upper line where the lower one holds", "relax", "upL = VLOAD(upLo + i)", "upL = VLOAD(lo + i)"},
	{"another star", "poolstar", "larger = middle > greatest", "larger = middle >= greatest"},
	{"stars of another item", "poolstar", "memberPlace(at, members, first, s, p * n);", "memberPlace(at, members, first, s, 0);"},
	{"chord over one end", "poollines", "mostNaN(up(c - down(a * l)), up(u - down(a * u)))", "up(c - down(a * l))"},
	{"star among the others", "poollines", "other = member & (star != (real)s)", "other = member"},
	{"leads of another unit", "poollines", "at[k] = own[k] * window + s;", "at[k] = own[0] * window + s;"},
	{"chord although the difference is nearer", "poollines", "b = nearer ? delta : b;", "b = b;"},
	{"pool's upper end by its star", "poollines", "goMin(goMax(u, c), upper(up(u + delta)))", "goMin(u, upper(up(u + delta)))"},
	{"greatest lower end left out", "poollines", "greatest ? floor_ : l", "l"},
	{"a place without its number", "gather", "at < 0, count", "at <= 0, count"},
	{"places from the first on", "gather", "p * total + first + place", "p * total + place"},
	{"copies of the first item", "gather", "in + (p * n + max(at, 0)) * rows", "in + (size_t)max(at, 0) * rows"},
	{"sums of the first item", "gathersum", "*items = in + p * n * rows", "*items = in"},
	{"sums of what is not selected", "gathersum", "!hasSelect || selected[at] == slot[e]", "1"},
	{"selected by the first item", "gathersum", "hasSelect ? selected + p * n : selected", "selected"},
	{"blocks of sums", "gathersum", "total[k] += block[k]", "total[k] = block[k]"},
	{"what was there forgotten", "gathersum", "if (hasOld) {", "if (0) {"},
	{"matrices of the first box", "convtranspose", "const size_t w = quotient(p, perBox) * size;", "const size_t w = 0;"},
	{"ends of weights exchanged", "convtranspose", "c >= R(0.0) ?", "c < R(0.0) ?"},
	{"coefficients there forgotten", "convtranspose", "if (hasOld) {", "if (0) {"},
	{"what the first item needs", "convtranspose", "needed[tile] !=", "needed[j] !="},
	{"what is not needed", "convtranspose", "!hasNeeded || ", "1 || "},
	{"rows of the first item", "convtranspose", "rowsOf = a + p * positions * channels * rows + r;\n    const size_t w", "rowsOf = a + r;\n    const size_t w"},
	{"first channels of the first place", "convtranspose", "a + ((p * positions + modulo(t, positions))", "a + ((modulo(t, positions))"},
	{"channels of the first vector", "convtranspose", "live + item * positions * words", "live + p * positions * words"},
	{"rows of the first item, by places", "convtranspose", "rowsOf = a + p * positions * channels * rows + r;\n    const __global uint", "rowsOf = a + r;\n    const __global uint"},
	{"taps of the first place", "convtranspose", "(int)entry[at[k] + e]", "(int)entry[at[0] + e]"},
	{"places of other positions together", "convtranspose", "return other == 0;", "return true;"},
	{"places that the first item needs", "convtranspose", "needed[p * places + j] ==", "needed[j] =="},
	{"places that are not needed", "convtranspose", "if (!hasOld) {", "if (0) {"},
	{"coefficients there forgotten, by places", "convtranspose", "hasOld ? loadUpTo(to, rows - r) + total[k] :", "0 ? total[k] :"},
	{"runs of places", "convtranspose", "((int)modulo(t, runs) + 1) * run, places", "((int)modulo(t, runs) + 1) * run - 1, places"},
	{"places not rounded", "placerows", "upper1(up1(s)) : lower1(down1(s))", "s : s"},
	{"what meets nothing rounded", "placerows", "if (sum == R(0.0)) {", "if (0) {"},
	{"second place added", "placerows", "(upward ? -lo : -hi)", "(upward ? hi : lo)"},
	{"weights that do not cancel", "placerows", "cancels && tap[k] == other[k]", "0"},
	{"variances subtracted", "placerows", "return squares ? hi :", "return 0 ? hi :"},
	{"units of the first item", "placerows", "unit[each ? c : r]", "unit[r]"},
	{"weights of the first box", "placerows", "w = box * taps * channels,", "w = 0,"},
	{"ReLU of the wrong end", "activate", "h = relu(h);", "h = relu(l);"},
}

// quick is the option that mutants are built with: PoCL takes ten times as long to optimise. The
// tests build kernels without a mistake that way too, which must have the right bits.
const quick = "-cl-opt-disable"

// builds are build options of kernels that take long to build: PoCL optimises them in
// deep only. What every certificate is made with is always optimised.
func builds(t testing.TB) string {
	if testscale.Deep(t) {
		return ""
	}
	return quick
}

// noMistake is a mutant that is none.
const noMistake = "no mistake"

// TestMutantsApply: every text that a mistake replaces is there.
func TestMutantsApply(t *testing.T) {
	for _, m := range slices.Concat(mutants, tileMutants, raceMutants, branchMutants) {
		if n := strings.Count(kernels.Sources()[m.file], m.old); n < 1 || m.old == m.new && m.what != noMistake {
			t.Errorf("%s: %s.cl has %q %d times", m.what, m.file, m.old, n)
		}
	}
}

// TestMutants builds the kernels with each mistake and demands that the self-test
// refuses them.
func TestMutants(t *testing.T) {
	info := devices(t)[0]
	for _, m := range testscale.Few(t, mutants, 2) {
		d, err := OpenInfo(info, bound.Float32, Options{sources: mutate(t, m.file, m.old, m.new), build: quick})
		if refused := err != nil; refused != (m.what != noMistake) {
			t.Errorf("%s: a kernel with %q in place of %q: refused %v (%v)", m.what, m.new, m.old, refused, err)
		}
		if err == nil {
			check(t, d.Close())
		} else {
			t.Logf("%s: %v", m.what, err)
		}
	}
}
