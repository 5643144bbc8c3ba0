package bound

import "psafe/host/network"

// Array is memory of one Device: a list of numbers in its precision.
type Array interface {
	// Len is the number of entries.
	Len() int
}

// Interval is a pair of equally long arrays with Lo <= Hi entry by entry.
type Interval struct{ Lo, Hi Array }

// Device performs the operations of bound propagation on arrays it owns.
//
// Package fallback is the definition: each operation there is one plain loop,
// and every other device returns the same bits, whatever its work-group size and
// however a job is cut into batches. All operations use + - * min max, integer
// operations and comparisons only, rounded to nearest, never contracted.
//
// What is common to the operations:
//
//   - Shapes are written [a x b x c], the last index contiguous. P, In, Out, N and
//     R stand for items, inputs, outputs, neurons and rows.
//   - Outputs never alias inputs unless the operation says so.
//   - A lower bound that is not finite comes back as -Inf, an upper one as +Inf;
//     a NaN never survives as a bound. So overflow means "unknown".
//   - A shape that does not match panics: that is a mistake in this program.
//     An error is what the device or its driver did.
type Device interface {
	// Name identifies the device in results, for example "cpu fallback".
	Name() string
	Precision() Precision
	// MemoryLimit is how many bytes of arrays a batch may use.
	MemoryLimit() int64

	// NewArray returns memory for n numbers with unspecified content.
	NewArray(n int) (Array, error)
	// Release gives an array back; nil is allowed.
	Release(Array)
	// Write copies src to dst. Every number of src must be one of the device's
	// precision: rounding is decided by the caller.
	Write(dst Array, src []float64) error
	// Read copies src to dst and waits for all operations before it.
	Read(dst []float64, src Array) error

	DrawBox(DrawBox) error
	MergeRows(MergeRows) error
	Affine(Affine) error
	Activate(Activate) error
	Relax(Relax) error
	RelaxRows(RelaxRows) error
	BackSubstitute(BackSubstitute) error
	Concretize(Concretize) error
	Intersect(Intersect) error

	// The noise of concentration LBP, noise.go.
	SquareRows(SquareRows) error
	NoiseRows(NoiseRows) error
	Widen(Widen) error
	Vary(Vary) error
}

// Batch says which weight box and which input box each of Items items pairs:
// item p uses weight box p/PerBox and input box p%Inputs.
//
//	many boxes x one input   PerBox 1,     Inputs 1
//	one box x many inputs    PerBox Items, Inputs Items
//	the grid of both         PerBox m,     Inputs m
//	pairs                    PerBox 1,     Inputs Items
type Batch struct{ Items, PerBox, Inputs int }

// Boxes is the number of weight boxes of a batch.
func (b Batch) Boxes() int { return (b.Items + b.PerBox - 1) / b.PerBox }

// DrawBox writes the end-points of weight boxes, for one array of weights:
//
//	n  = Sampled ? Normal(Seed, First+b, Stream, w) : 0
//	Lo[b][w], Hi[b][w] = BoxEnds(CentreLo[w], CentreHi[w], Unit[w], Gamma[b], n)
//
// A box is what is written; no rounding is proved because none is needed.
type DrawBox struct {
	Box Interval // out [Boxes x N]
	// CentreLo, CentreHi [N] and Unit [N] as in BoxEnds; Gamma [Boxes].
	Centre      Interval
	Unit, Gamma Array
	Boxes, N    int
	Sampled     bool
	Seed, First uint64
	Stream      uint32
}

// MergeRows multiplies property rows into the last affine layer (theory
// section 2, last paragraph), giving a layer whose outputs are the margins:
//
//	W[p][j][r] = [down, up] of sum_i C[x][r][i] Weight[b][j][i]
//	B[p][r]    = [down, up] of sum_i C[x][r][i] Bias[b][i] + D[x][r]
//
// with intervals multiplied exactly (the least and the largest of the four
// products) and b, x the item's weight box and input box. Sums over i in blocks.
// The push is the sum of magnitudes times Round[x][r] plus Abs: Round is smaller
// the fewer coefficients of a row are not zero (MergeRounding).
type MergeRows struct {
	W, B         Interval // out [P x In x R], [P x R]
	Weight, Bias Interval // [Boxes x In x Out], [Boxes x Out]
	C, D         Interval // [Inputs x R x Out], [Inputs x R]
	Round        Array    // [Inputs x R]
	Abs          float64
	Batch
	In, Out, Rows int
}

// Affine bounds the pre-activations of a layer, theory (2), rounded outward:
//
//	Lo[p][i]  = down( sum_j min of the products W[b][j][i] Z[x][j] + Bias.Lo[b][i] )
//	Hi[p][i]  = up( the same with max and Bias.Hi )
//	Mag[p][i] >= sum_j max|W| max|Z| + max|Bias|
//
// In a block of inputs the magnitude is taken as (sum of max|W|) (max of max|Z|):
// one multiplication a block.
//
// NonNeg promises Z.Lo >= 0: then two of the four products suffice.
type Affine struct {
	Pre            Interval // out [P x Out]
	Mag            Array    // out [P x Out]
	W              Interval // [Boxes x In x Out]
	B              Interval // [Boxes x Out]
	Z              Interval // [Inputs x In]
	NonNeg         bool
	Push, MagRound Rounding
	Batch
	In, Out int
}

// Activate maps pre-activation intervals through a monotone activation:
// Z.Lo <= sigma(Pre.Lo) and sigma(Pre.Hi) <= Z.Hi, entry by entry.
type Activate struct {
	Z, Pre     Interval // out, in [N]
	N          int
	Activation Activation
}

// Activation is what the device needs of an activation: the kind, and the slope
// of the negative side as an interval of the device's numbers (0 for ReLU, 1 for
// identity, unused for tanh and sigmoid).
type Activation struct {
	Kind             network.Kind
	SlopeLo, SlopeHi float64
}

// Relax gives two lines for each activation on its pre-activation interval
// (theory section 3):
//
//	ALo t + BLo <= sigma(t) <= AHi t + BHi   for all t in [Pre.Lo, Pre.Hi]
//
// exactly, for the stored numbers, and Err, by which RelaxRows and the
// BackSubstitute after it charge their own rounding: for a coefficient A of z,
// all of it costs at most |A| Err. With g = Charge.G1, k = Charge.G2:
//
//	Err = up( g max(|BLo|,|BHi|) + (u + k) max(|ALo|,|AHi|) Mag )
//
// Slopes below 2^-30 in magnitude are made 0, so that a product with a slope
// does not underflow unless the other factor is tiny.
type Relax struct {
	Lo, Hi Line  // out [N] each
	Err    Array // out [N]
	Pre    Interval
	Mag    Array // [N] from Affine
	N      int
	Activation
	Charge Charge
}

// Line is the line A t + B for each of a list of neurons.
type Line struct{ A, B Array }

// Charge holds the constants of Relax: G1 bounds the relative rounding of the
// intercepts' sum, G2 that of a slope and of the next BackSubstitute.
type Charge struct{ G1, G2 float64 }

// RelaxRows takes rows of coefficients over the activated neurons z of a layer to
// rows over its pre-activations zeta, as lower bounds (theory section 3).
//
// The coefficient of row r at z_j is any number between S.Lo and S.Hi, whichever
// is worse. For z_j >= 0 that is S.Lo, for z_j <= 0 it is S.Hi; for an interval of
// both signs the lower bound of min(S.Lo z, S.Hi z), which is concave in z, is its
// chord over [Z.Lo, Z.Hi]: it lies above both McCormick planes of theory (4)
// after their minimum over the weight. Then
//
//	A[p][j][r] = coefficient * slope,   slope and intercept of Lo if coefficient >= 0, else of Hi
//	C[p][r]    = down( CIn + sum_j (coefficient * intercept + chord's intercept) - charges )
//
// Source of S: with Cols == R it is [Boxes' x N x R], item p at p/PerBox. With
// Mirrored, R = 2 Cols, and rows Cols.. are the rows 0..Cols-1 negated: their S is
// [-S.Hi, -S.Lo] and their constant -CIn.Hi, as is needed when S is a weight box
// and both bounds of every neuron are wanted. Otherwise the constant is CIn.Lo.
//
// NonNeg promises Z.Lo >= 0; then S.Hi is not read and may be nil.
type RelaxRows struct {
	A, C     Array    // out [P x N x R], [P x R]
	S, CIn   Interval // [(P/PerBox) x N x Cols], [(P/PerBox) x Cols]
	PerBox   int
	Cols     int
	Mirrored bool
	NonNeg   bool
	Z        Interval // [P x N]
	Lo, Hi   Line     // [P x N]
	Err, Mag Array    // [P x N]
	P, N     int
	Round    RowsRounding
}

// Rows is the number of rows R.
func (a *RelaxRows) Rows() int {
	if a.Mirrored {
		return 2 * a.Cols
	}
	return a.Cols
}

// RowsRounding holds the constants of RelaxRows and Concretize.
type RowsRounding struct {
	// Rel multiplies the computed sum of charges: in RelaxRows (charges are
	// |A| Err) it makes it an upper bound, in Concretize (charges are magnitudes)
	// it is also the relative rounding of the sum itself.
	Rel float64
	// Chord is the relative rounding of the sum of chord intercepts.
	Chord float64
	// Under times the sum of max|z| (and Mag) covers products that underflow.
	Under float64
	// Abs covers what is left of underflow.
	Abs float64
}

// BackSubstitute takes rows over the pre-activations of a layer to rows over its
// inputs, theory (3):
//
//	S.Lo[p][j][r] = sum_i (A[i][r] >= 0 ? A[i][r] W.Lo[b][j][i] : A[i][r] W.Hi[b][j][i])
//	S.Hi[p][j][r] = the same with W.Lo and W.Hi exchanged
//	C[p][r]       = down( CIn[p][r] + sum_i (A[i][r] >= 0 ? A B.Lo : A B.Hi) )
//
// S is rounded to nearest: what it is wrong by has been charged through
// Relax.Err. Sums over i in blocks. S.Hi is not computed if it is nil.
type BackSubstitute struct {
	S       Interval // out [P x In x R]
	C       Array    // out [P x R]
	A, CIn  Array    // [P x Out x R], [P x R]
	W, B    Interval // [Boxes x In x Out], [Boxes x Out]
	PerBox  int
	P, R    int
	In, Out int
}

// Concretize minimises rows over the input box:
//
//	Bound[p][r] = down( C[p][r] + sum_j min of the products S[p][j][r] X[x][j] - charges )
//
// NonNeg promises X.Lo >= 0; then S.Hi is not read and may be nil.
type Concretize struct {
	Bound    Array    // out [P x R]
	S        Interval // [P x In x R]
	C        Array    // [P x R]
	X        Interval // [Inputs x In]
	NonNeg   bool
	P, R, In int
	Inputs   int
	Round    RowsRounding
}

// Intersect tightens pre-activation intervals in place by the bounds of mirrored
// rows:
//
//	Lo[p][i] = max(Lo[p][i], Bound[p][i]),   Hi[p][i] = min(Hi[p][i], -Bound[p][N+i])
//
// Both intervals contain the true values, so an empty intersection means that
// one of them was wrong: it becomes everything.
type Intersect struct {
	Pre   Interval // in and out [P x N]
	Bound Array    // [P x 2N]
	P, N  int
}
