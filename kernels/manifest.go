package kernels

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// The program does not start with a kernel that is only half there.
func init() {
	names, err := fs.Glob(files, "*.cl")
	if err != nil {
		panic("kernels: " + err.Error())
	}
	if what := halfAdded(names, order, All); what != "" {
		panic("kernels: " + what)
	}
}

// halfAdded says which file or kernel lacks its place in the order of compilation, its
// file or its arguments, or is "".
func halfAdded(names, order []string, all []Kernel) string {
	for _, n := range names {
		if !slices.Contains(order, strings.TrimSuffix(n, ".cl")) {
			return fmt.Sprintf("kernels/%s has no place in the order of compilation: add it to order in kernels/kernels.go", n)
		}
	}
	for _, n := range order {
		if !slices.Contains(names, n+".cl") {
			return fmt.Sprintf("the order of compilation in kernels/kernels.go names %s: add kernels/%s.cl", n, n)
		}
	}
	for _, k := range all {
		if !slices.Contains(order, k.File) {
			return fmt.Sprintf("kernel %s of the manifest has no file: add kernels/%s.cl", k.Name, k.File)
		}
		if len(k.Args) == 0 {
			return fmt.Sprintf("kernel %s has no arguments: add them in kernels/manifest.go", k.Name)
		}
	}
	return ""
}

var affineArgs = []Arg{
	{"preLo", Out}, {"preHi", Out}, {"mag", Out}, {"wLo", In}, {"wHi", In}, {"bLo", In}, {"bHi", In},
	{"zLo", In}, {"zHi", In}, {"pushRel", Real}, {"pushAbs", Real}, {"magRel", Real}, {"magAbs", Real},
	{"nonNeg", Int}, {"items", Int}, {"perBox", Int}, {"inputs", Int}, {"in", Int}, {"out", Int},
}

var backArgs = []Arg{
	{"sLo", Out}, {"sHi", Out}, {"c", Out}, {"a", In}, {"cIn", In}, {"wLo", In}, {"wHi", In}, {"bLo", In}, {"bHi", In},
	{"wantHi", Int}, {"items", Int}, {"perBox", Int}, {"rows", Int}, {"in", Int}, {"out", Int},
}

// All lists every kernel. A test compares it with the sources.
var All = []Kernel{
	{"drawbox", "drawbox", []Arg{
		{"lo", Out}, {"hi", Out}, {"cLo", In}, {"cHi", In}, {"unit", In}, {"gamma", In},
		{"n", Int}, {"sampled", Int}, {"seed", Long}, {"first", Long}, {"stream", Uint},
	}},
	{"mergetranspose", "mergerows", []Arg{
		{"ctLo", Out}, {"ctHi", Out}, {"cLo", In}, {"cHi", In}, {"rows", Int}, {"out", Int},
	}},
	{"mergerows", "mergerows", []Arg{
		{"wLo", Out}, {"wHi", Out}, {"bLo", Out}, {"bHi", Out}, {"weightLo", In}, {"weightHi", In},
		{"biasLo", In}, {"biasHi", In}, {"ctLo", In}, {"ctHi", In}, {"dLo", In}, {"dHi", In},
		{"round_", In}, {"abs_", Real}, {"perBox", Int}, {"inputs", Int}, {"in", Int}, {"out", Int}, {"rows", Int},
	}},
	{"mergeblocks", "mergerows", []Arg{
		{"sumLo", Out}, {"sumHi", Out}, {"sumMag", Out}, {"weightLo", In}, {"weightHi", In}, {"biasLo", In},
		{"biasHi", In}, {"ctLo", In}, {"ctHi", In}, {"perBox", Int}, {"inputs", Int}, {"in", Int}, {"out", Int},
		{"rows", Int}, {"blocks", Int},
	}},
	{"mergesums", "mergerows", []Arg{
		{"wLo", Out}, {"wHi", Out}, {"bLo", Out}, {"bHi", Out}, {"sumLo", In}, {"sumHi", In}, {"sumMag", In},
		{"dLo", In}, {"dHi", In}, {"round_", In}, {"abs_", Real}, {"inputs", Int}, {"in", Int}, {"rows", Int},
		{"blocks", Int},
	}},
	{"affine", "affine", affineArgs},
	{"affinewide", "affine", affineArgs},
	{"affineshared", "affine", affineArgs},
	{"affinetiles", "affinetiles", affineArgs},
	{"affineblocks", "affine", []Arg{
		{"sumLo", Out}, {"sumHi", Out}, {"sumMag", Out}, {"wLo", In}, {"wHi", In}, {"zLo", In}, {"zHi", In},
		{"nonNeg", Int}, {"perBox", Int}, {"inputs", Int}, {"in", Int}, {"out", Int}, {"blocks", Int},
	}},
	{"affinesums", "affine", []Arg{
		{"preLo", Out}, {"preHi", Out}, {"mag", Out}, {"sumLo", In}, {"sumHi", In}, {"sumMag", In}, {"bLo", In},
		{"bHi", In}, {"pushRel", Real}, {"pushAbs", Real}, {"magRel", Real}, {"magAbs", Real}, {"perBox", Int},
		{"out", Int}, {"blocks", Int},
	}},
	{"activate", "activate", []Arg{
		{"zLo", Out}, {"zHi", Out}, {"lo", In}, {"hi", In}, {"kind", Int}, {"slopeLo", Real}, {"slopeHi", Real}, {"n", Int},
	}},
	{"relax", "relax", []Arg{
		{"aLo", Out}, {"bLo", Out}, {"aHi", Out}, {"bHi", Out}, {"err", Out}, {"lo", In}, {"hi", In},
		{"upLo", In}, {"upHi", In}, {"mag", In},
		{"kind", Int}, {"slopeLo", Real}, {"slopeHi", Real}, {"g1", Real}, {"g2", Real}, {"n", Int},
	}},
	{"relaxrows", "relaxrows", []Arg{
		{"outA", Out}, {"outC", Out}, {"sLo", In}, {"sHi", In}, {"cLo", In}, {"cHi", In}, {"zLo", In}, {"zHi", In},
		{"aLo", In}, {"bLo", In}, {"aHi", In}, {"bHi", In}, {"err", In}, {"mag", In},
		{"rel", Real}, {"chordRel", Real}, {"under", Real}, {"abs_", Real},
		{"mirrored", Int}, {"sure", Int}, {"perBox", Int}, {"cols", Int}, {"neurons", Int},
	}},
	{"relaxblocks", "relaxrows", []Arg{
		{"outA", Out}, {"sumC", Out}, {"sumCharge", Out}, {"size", Out}, {"sLo", In}, {"sHi", In}, {"zLo", In}, {"zHi", In},
		{"aLo", In}, {"bLo", In}, {"aHi", In}, {"bHi", In}, {"err", In}, {"mag", In}, {"chordRel", Real},
		{"mirrored", Int}, {"sure", Int}, {"perBox", Int}, {"cols", Int}, {"neurons", Int}, {"blocks", Int},
	}},
	{"relaxsums", "relaxrows", []Arg{
		{"outC", Out}, {"sumC", In}, {"sumCharge", In}, {"size", In}, {"cLo", In}, {"cHi", In},
		{"rel", Real}, {"under", Real}, {"abs_", Real}, {"mirrored", Int}, {"perBox", Int}, {"cols", Int}, {"blocks", Int},
	}},
	{"backsubstitute", "backsubstitute", backArgs},
	{"backtiles", "backtiles", backArgs},
	{"backblocks", "backsubstitute", []Arg{
		{"sumLo", Out}, {"sumHi", Out}, {"a", In}, {"wLo", In}, {"wHi", In}, {"bLo", In}, {"bHi", In}, {"wantHi", Int},
		{"perBox", Int}, {"rows", Int}, {"in", Int}, {"out", Int}, {"blocks", Int},
	}},
	{"backsums", "backsubstitute", []Arg{
		{"sLo", Out}, {"sHi", Out}, {"c", Out}, {"sumLo", In}, {"sumHi", In}, {"cIn", In}, {"wantHi", Int},
		{"rows", Int}, {"in", Int}, {"blocks", Int},
	}},
	{"concretize", "concretize", []Arg{
		{"bound", Out}, {"sLo", In}, {"sHi", In}, {"c", In}, {"xLo", In}, {"xHi", In},
		{"rel", Real}, {"under", Real}, {"abs_", Real}, {"nonNeg", Int}, {"rows", Int}, {"in", Int}, {"inputs", Int},
	}},
	{"concretizeblocks", "concretize", []Arg{
		{"sums", Out}, {"magnitudes", Out}, {"size", Out}, {"sLo", In}, {"sHi", In}, {"xLo", In}, {"xHi", In},
		{"nonNeg", Int}, {"rows", Int}, {"in", Int}, {"inputs", Int}, {"blocks", Int},
	}},
	{"concretizesums", "concretize", []Arg{
		{"bound", Out}, {"sums", In}, {"magnitudes", In}, {"size", In}, {"c", In},
		{"rel", Real}, {"under", Real}, {"abs_", Real}, {"rows", Int}, {"blocks", Int},
	}},
	{"intersect", "intersect", []Arg{{"lo", Out}, {"hi", Out}, {"bound", In}, {"n", Int}}},
	{"squarerows", "squarerows", []Arg{{"square", Out}, {"a", In}, {"n", Int}}},
	{"noiserows", "noiserows", []Arg{
		{"mean", Out}, {"var", Out}, {"meanIn", In}, {"varIn", In}, {"s", In}, {"c", In}, {"radius", In}, {"maxSq", In},
		{"hasIn", Int}, {"delta", Real}, {"meanRel", Real}, {"varRel", Real}, {"abs_", Real},
		{"rows", Int}, {"cols", Int}, {"in", Int}, {"inputs", Int},
	}},
	{"noiseblocks", "noiserows", []Arg{
		{"means", Out}, {"variances", Out}, {"s", In}, {"radius", In}, {"maxSq", In}, {"delta", Real},
		{"rows", Int}, {"in", Int}, {"inputs", Int}, {"blocks", Int},
	}},
	{"noisesums", "noiserows", []Arg{
		{"mean", Out}, {"var", Out}, {"means", In}, {"variances", In}, {"meanIn", In}, {"varIn", In}, {"c", In},
		{"hasIn", Int}, {"meanRel", Real}, {"varRel", Real}, {"abs_", Real}, {"rows", Int}, {"cols", Int}, {"blocks", Int},
	}},
	{"widen", "widen", []Arg{
		{"lo", Out}, {"hi", Out}, {"mag", Out}, {"mean", In}, {"var", In}, {"quantile", Real},
		{"hasHi", Int}, {"hasMag", Int}, {"n", Int},
	}},
	{"vary", "vary", []Arg{
		{"radius", Out}, {"radiusSq", Out}, {"maxSq", Out}, {"zLo", In}, {"zHi", In}, {"mean", In}, {"var", In},
		{"quantile", Real}, {"lipschitz", Real}, {"n", Int},
	}},
	{"poolstar", "poolstar", []Arg{
		{"slot", Out}, {"unit", Out}, {"lo", In}, {"hi", In}, {"members", In}, {"n", Int}, {"units", Int}, {"window", Int},
	}},
	{"poollines", "poollines", []Arg{
		{"aLo", Out}, {"bLo", Out}, {"aHi", Out}, {"bHi", Out}, {"err", Out}, {"vLo", Out}, {"vHi", Out},
		{"aboveLo", Out}, {"aboveHi", Out}, {"starLo", Out}, {"starHi", Out}, {"magOut", Out}, {"radiusOut", Out},
		{"lo", In}, {"hi", In}, {"mag", In}, {"radius", In}, {"members", In}, {"slot", In}, {"lead", In},
		{"greatest", Int}, {"hasRadius", Int}, {"hasLead", Int}, {"g1", Real}, {"g2", Real},
		{"n", Int}, {"units", Int}, {"window", Int},
	}},
	{"gather", "gather", []Arg{
		{"out", Out}, {"in", In}, {"index", In}, {"n", Int}, {"first", Int}, {"total", Int}, {"rows", Int}, {"numbers", Int},
	}},
	{"gathersum", "gathersum", []Arg{
		{"out", Out}, {"in", In}, {"start", In}, {"entry", In}, {"slot", In}, {"selected", In},
		{"hasSelect", Int}, {"hasOld", Int}, {"n", Int}, {"places", Int}, {"rows", Int}, {"numbers", Int},
	}},
	{"placerows", "placerows", []Arg{
		{"sLo", Out}, {"sHi", Out}, {"cLo", Out}, {"cHi", Out}, {"wLo", In}, {"wHi", In}, {"bLo", In}, {"bHi", In},
		{"tap", In}, {"unit", In}, {"other", In}, {"hasHi", Int}, {"hasCHi", Int}, {"hasOther", Int}, {"squares", Int},
		{"perBox", Int}, {"rows", Int}, {"in", Int}, {"taps", Int}, {"channels", Int}, {"span", Int},
	}},
	{"pairnoise", "pairnoise", []Arg{
		{"sum", Out}, {"sumIn", In}, {"v", In}, {"zLo", In}, {"zHi", In}, {"taps", In}, {"unit", In}, {"other", In},
		{"hasIn", Int}, {"squared", Int}, {"rel", Real}, {"abs_", Real},
		{"perBox", Int}, {"inputs", Int}, {"rows", Int}, {"in", Int}, {"size", Int}, {"channels", Int},
	}},
	{"pairblocks", "pairnoise", []Arg{
		{"sums", Out}, {"v", In}, {"zLo", In}, {"zHi", In}, {"taps", In}, {"unit", In}, {"other", In}, {"squared", Int},
		{"perBox", Int}, {"inputs", Int}, {"rows", Int}, {"in", Int}, {"size", Int}, {"channels", Int}, {"blocks", Int},
	}},
	{"pairsums", "pairnoise", []Arg{
		{"sum", Out}, {"sumIn", In}, {"sums", In}, {"hasIn", Int}, {"rel", Real}, {"abs_", Real}, {"rows", Int},
		{"blocks", Int},
	}},
	{"sharedvar", "sharedvar", []Arg{
		{"var", Out}, {"varIn", In}, {"gLo", In}, {"gHi", In}, {"a", In}, {"v", In}, {"vb", In}, {"maxSq", In},
		{"hasIn", Int}, {"slack", Real}, {"under", Real}, {"rel", Real}, {"abs_", Real},
		{"rows", Int}, {"cols", Int}, {"in", Int}, {"inputs", Int}, {"positions", Int}, {"size", Int}, {"channels", Int},
	}},
	{"sharemost", "sharedvar", []Arg{
		{"greatest", Out}, {"squares", In}, {"in", Int}, {"blocks", Int},
	}},
	{"shareparts", "sharedvar", []Arg{
		{"sums", Out}, {"magnitudes", Out}, {"a", In}, {"rows", Int}, {"positions", Int}, {"channels", Int},
		{"qBlocks", Int},
	}},
	{"sharedtaps", "sharedvar", []Arg{
		{"sums", Out}, {"gLo", In}, {"gHi", In}, {"partSums", In}, {"partMags", In}, {"v", In}, {"greatest", In},
		{"slack", Real}, {"under", Real}, {"rows", Int}, {"in", Int}, {"inputs", Int}, {"size", Int}, {"channels", Int},
		{"qBlocks", Int}, {"blocks", Int},
	}},
	{"sharedchannels", "sharedvar", []Arg{
		{"sums", Out}, {"taps", In}, {"partSums", In}, {"partMags", In}, {"vb", In}, {"slack", Real}, {"rows", Int},
		{"channels", Int}, {"qBlocks", Int}, {"blocks", Int},
	}},
	{"sharedsums", "sharedvar", []Arg{
		{"var", Out}, {"varIn", In}, {"sums", In}, {"hasIn", Int}, {"rel", Real}, {"abs_", Real},
		{"rows", Int}, {"cols", Int}, {"channels", Int},
	}},
	{"sharebox", "sharebox", []Arg{
		{"w", Out}, {"c", Out}, {"cIn", In}, {"gLo", In}, {"gHi", In}, {"a", In}, {"weightLo", In}, {"weightHi", In},
		{"biasLo", In}, {"biasHi", In}, {"maxSq", In}, {"slack", Real}, {"under", Real}, {"rel", Real}, {"abs_", Real},
		{"perBox", Int}, {"rows", Int}, {"in", Int}, {"inputs", Int}, {"positions", Int}, {"size", Int}, {"channels", Int},
	}},
	{"boxtaps", "sharebox", []Arg{
		{"w", Out}, {"costs", Out}, {"gLo", In}, {"gHi", In}, {"partSums", In}, {"partMags", In}, {"weightLo", In},
		{"weightHi", In}, {"greatest", In}, {"slack", Real}, {"under", Real}, {"perBox", Int}, {"rows", Int},
		{"in", Int}, {"inputs", Int}, {"size", Int}, {"channels", Int}, {"qBlocks", Int}, {"blocks", Int},
	}},
	{"boxchannels", "sharebox", []Arg{
		{"channelCosts", Out}, {"biases", Out}, {"costs", In}, {"partSums", In}, {"partMags", In}, {"biasLo", In},
		{"biasHi", In}, {"slack", Real}, {"perBox", Int}, {"rows", Int}, {"channels", Int}, {"qBlocks", Int},
		{"blocks", Int},
	}},
	{"boxsums", "sharebox", []Arg{
		{"c", Out}, {"cIn", In}, {"channelCosts", In}, {"biases", In}, {"rel", Real}, {"abs_", Real}, {"rows", Int},
		{"channels", Int},
	}},
	{"sharerows", "sharerows", []Arg{
		{"s", Out}, {"a", In}, {"w", In}, {"rows", Int}, {"positions", Int}, {"size", Int}, {"channels", Int},
	}},
	{"splitrows", "splitrows", []Arg{
		{"outA", Out}, {"outC", Out}, {"s", In}, {"cIn", In}, {"slope", In}, {"phase", In}, {"beta", In},
		{"zLo", In}, {"zHi", In}, {"aHi", In}, {"bHi", In}, {"mag", In},
		{"g1", Real}, {"g2", Real}, {"rel", Real}, {"under", Real}, {"abs_", Real}, {"neurons", Int}, {"rows", Int},
	}},
	{"splitblocks", "splitrows", []Arg{
		{"outA", Out}, {"sumC", Out}, {"sumCharge", Out}, {"size", Out}, {"s", In}, {"slope", In}, {"phase", In}, {"beta", In},
		{"zLo", In}, {"zHi", In}, {"aHi", In}, {"bHi", In}, {"mag", In},
		{"g1", Real}, {"g2", Real}, {"neurons", Int}, {"rows", Int}, {"blocks", Int},
	}},
	{"digest", "digest", []Arg{{"a", In}, {"n", Long}, {"run", Long}, {"at", Uint}}},
	{"poison", "poison", []Arg{
		{"a0", Out}, {"a1", Out}, {"a2", Out}, {"a3", Out}, {"a4", Out}, {"a5", Out}, {"a6", Out}, {"a7", Out},
		{"n0", Int}, {"n1", Int}, {"n2", Int}, {"n3", Int}, {"n4", Int}, {"n5", Int}, {"n6", Int}, {"n7", Int}, {"runs", Int},
	}},
	{"selftest", "selftest", []Arg{
		{"sum", Out}, {"difference", Out}, {"product", Out}, {"twice", Out}, {"below", Out},
		{"smaller", Out}, {"larger", Out},
		{"a", In}, {"b", In}, {"c", In}, {"n", Int},
	}},
	{"benchcopy", "benchcopy", []Arg{{"to", Out}, {"from", In}}},
	{"benchfma", "benchfma", []Arg{{"to", Out}, {"a", Real}, {"b", Real}, {"rounds", Int}}},
}
