// Package kernels holds the OpenCL source of every operation of bound.Device: a file for each, by
// its name, two more for the forms of affine and backsubstitute with tiles in local memory, what
// the sources say of each kernel's arguments, and the build options.
//
// The Go loops of package fallback are the definition; a kernel has the same bits
// (NaN payloads apart). round.cl, put before all others, is the only place where
// formats, rounding and the treatment of NaN are decided.
package kernels

import (
	"embed"
	"fmt"
	"regexp"
	"strings"

	"psafe/host/model/network"
)

//go:embed *.cl
var files embed.FS

// files in the order of compilation: what the others need comes first.
var order = []string{
	"round", "sigmoid", "convex",
	"drawbox", "mergerows", "affine", "activate", "relax", "relaxrows", "backsubstitute", "concretize", "intersect",
	"squarerows", "noiserows", "widen", "vary",
	"poolstar", "poollines",
	"gather", "gathersum", "convtranspose", "placerows",
	"pairnoise", "sharedvar", "sharebox", "sharerows", "splitrows",
	"tiles", "affinetiles", "backtiles",
	"digest", "poison", "selftest", "benchcopy", "benchfma",
}

// BaseOptions are the options every kernel is built with, on every device: the
// version of the language, and nothing else. Absent on purpose:
//
//   - -cl-fast-relaxed-math, -cl-unsafe-math-optimizations, -cl-mad-enable: other
//     bits, and no proof of any rounding.
//   - -cl-finite-math-only, -cl-no-signed-zeros: NaN and Inf are how overflow is
//     noticed.
//   - -cl-denorms-are-zero: the pushes count on gradual underflow.
//   - -cl-single-precision-constant: literals carry their type already.
//   - -cl-fp32-correctly-rounded-divide-sqrt: nothing divides.
const BaseOptions = "-cl-std=CL1.2"

// Shape is what a program is specialised to. Results do not depend on it.
type Shape struct {
	// Real64 computes in double instead of float.
	Real64 bool
	// Lanes is the width of vectors: 1 where work-items are the lanes (GPUs), 8 or
	// 16 where SIMD is (CPUs).
	Lanes int
	// Local is the number of work-items of a work-group, but for tiled kernels.
	Local int
	// Run is how many vectors a work-item of an elementwise kernel handles.
	Run int
}

// OnGPU is how programs for GPUs are cut: work-items are the lanes.
var OnGPU = Shape{Lanes: 1, Local: 64, Run: 1}

// Options are the build options for a shape: BaseOptions and the shape's values.
func (s Shape) Options() string {
	o := fmt.Sprintf("%s -DVW=%d -DLOCAL=%d -DEW=%d", BaseOptions, s.Lanes, s.Local, s.Run)
	if s.Real64 {
		o += " -DREAL64"
	}
	return o
}

// Sources returns the source texts by name, without ".cl".
func Sources() map[string]string {
	s := map[string]string{}
	for _, name := range order {
		text, err := files.ReadFile(name + ".cl")
		if err != nil {
			panic("kernels: " + err.Error())
		}
		s[name] = string(text)
	}
	return s
}

// Program joins source texts in the order of compilation, behind the numbers of the
// activations. Line numbers of compilers' messages are those of the files.
func Program(sources map[string]string) string {
	var b strings.Builder
	for k := range network.Kind(network.Kinds) {
		fmt.Fprintf(&b, "#define %s %d\n", kindName(k), k)
	}
	for _, name := range order {
		fmt.Fprintf(&b, "#line 1 \"%s.cl\"\n%s\n", name, sources[name])
	}
	return b.String()
}

// kindName is what the sources call an activation, such as KIND_RELU.
func kindName(k network.Kind) string { return "KIND_" + strings.ToUpper(k.String()) }

// A kind of activation that the kernels do not know must not wait for a network that has
// it.
func init() { checkKinds(Sources()) }

func checkKinds(sources map[string]string) {
	for _, file := range []string{"activate", "relax"} {
		for k := range network.Kind(network.Kinds) {
			if !regexp.MustCompile(`\bkind [!=]= ` + kindName(k) + `\b`).MatchString(sources[file]) {
				panic(fmt.Sprintf("kernels: %s.cl has no case for activation %v, %s", file, k, kindName(k)))
			}
		}
	}
}

// Arg is one argument of a kernel, Type as written in the source.
type Arg struct{ Name, Type string }

// Types of arguments.
const (
	Out  = "__global real *"       // an array that is written
	In   = "const __global real *" // an array that is read
	Real = "const real"
	Int  = "const int"
	Uint = "const uint"
	Long = "const ulong"
)

// Kernel is a kernel's name, the file it is in, and its arguments but the last
// three, which are the same for all: the number of tasks (Uint), the ring of
// receipts, and the number that this launch puts there (Uint). See TASK in round.cl.
type Kernel struct {
	Name, File string
	Args       []Arg
	// Tiled says that a task of the kernel is a work-group of Group work-items that share local
	// memory, TILED_KERNEL in the sources, and not a work-item.
	Tiled bool
}

// staged are the kernels of which one leaves parts of sums that another adds up. Only programs of
// one lane have them and tiled ones; only those of vectors have streaming ones, whose sums wait in a cache.
var (
	staged = map[string]bool{
		"affineblocks": true, "affinesums": true, "mergeblocks": true, "mergesums": true, "relaxblocks": true, "relaxsums": true,
		"splitblocks": true, "backblocks": true, "backsums": true, "concretizeblocks": true, "concretizesums": true,
		"noiseblocks": true, "noisesums": true, "pairblocks": true, "pairsums": true,
		"sharemost": true, "shareparts": true, "sharedtaps": true, "sharedchannels": true, "sharedsums": true,
		"boxtaps": true, "boxchannels": true, "boxsums": true,
	}
	streaming = map[string]bool{"affinewide": true, "backlive": true, "backends": true, "convlive": true, "convplaces": true}
)

// Kernels lists the kernels that a program of the shape has.
func (s Shape) Kernels() []Kernel {
	var list []Kernel
	for _, k := range All {
		if gpu := s.Lanes == 1; gpu && !streaming[k.Name] || !gpu && !k.Tiled && !staged[k.Name] {
			list = append(list, k)
		}
	}
	return list
}

// Receipts is the length of the ring of receipts, RECEIPTS in round.cl.
const Receipts = 1024

// Digests is how many places for digests there are behind the ring: 8 arrays a launch. See digest.cl.
const Digests = 8 * Receipts

// Padding is how many numbers an array must have beyond its length, PAD in
// round.cl: vectors are loaded whole.
const Padding = 16

// Tile says how many outputs (To vectors), items (Ti), rows (Tr vectors) and
// inputs (Tj) one task of a kernel owns; the sources define the same numbers.
type Tile struct{ To, Ti, Tr, Tj int }

// AffineWide, AffineShared, BackTile and MergeTile are the tiles of the kernels
// of these names for a width of vectors.
func AffineWide(int) Tile { return Tile{To: 32, Ti: 1} }

// AffineShared is the tile of affineshared.
func AffineShared(lanes int) Tile {
	if lanes == 1 {
		return Tile{To: 1, Ti: 4}
	}
	return Tile{To: 2, Ti: 5}
}

// BackTile is the tile of backsubstitute.
func BackTile(lanes int) Tile {
	if lanes == 1 {
		return Tile{Tr: 1, Tj: 4}
	}
	return Tile{Tr: 2, Tj: 6}
}

// Group is the number of work-items of a tiled kernel's work-group, GROUP; Side how
// many items and outputs, or columns and inputs, it owns, SIDE.
const (
	Group = 128
	Side  = 32
)

// MergeInputs is how many inputs a task of mergerows owns, MJ.
const MergeInputs = 4

// SharePositions and ShareTaps are how many positions and taps a task of sharerows owns, SP and SK.
const (
	SharePositions = 2
	ShareTaps      = 4
)

// DrawRun is how many weights a task of drawbox owns: 4 DW DT.
func DrawRun(lanes int) int {
	if lanes == 1 {
		return 4
	}
	return 4 * 16 * 8
}

// CopyRun is how many numbers a task of benchcopy moves, CW VW; FMAChains is
// FMA_CHAINS of benchfma.
func CopyRun(lanes int) int {
	if lanes == 1 {
		return 1
	}
	return 64 * lanes
}

// FMAChains is the number of independent chains of benchfma.
const FMAChains = 16
