package bound

// Memory describes a device, and moves numbers to and from it.
type Memory interface {
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
	// Read copies src to dst and waits for all operations before it. After an error dst has any
	// numbers: ReadAll gives none then.
	Read(dst []float64, src Array) error
}

// ReadAll returns all numbers of an array, or none and what Read failed with.
func ReadAll(dev Memory, a Array) ([]float64, error) {
	v := make([]float64, a.Len())
	if err := dev.Read(v, a); err != nil {
		return nil, err
	}
	return v, nil
}

// severalReader is a Memory of which several arrays are read in less time than one after another.
type severalReader interface {
	ReadSeveral(dst [][]float64, src []Array) error
}

// ReadSeveral is Read of several arrays, with one wait if the device can do that.
func ReadSeveral(dev Memory, dst [][]float64, src []Array) error {
	if d, can := dev.(severalReader); can {
		return d.ReadSeveral(dst, src)
	}
	for i, a := range src {
		if err := dev.Read(dst[i], a); err != nil {
			return err
		}
	}
	return nil
}

// ReadEach is ReadAll of several arrays, for which a device may have the host wait once.
func ReadEach(dev Memory, arrays ...Array) ([][]float64, error) {
	all := make([][]float64, len(arrays))
	for i, a := range arrays {
		all[i] = make([]float64, a.Len())
	}
	if err := ReadSeveral(dev, all, arrays); err != nil {
		return nil, err
	}
	return all, nil
}

// Device performs the operations of bound propagation on arrays it owns.
//
// Package fallback is the definition: each operation there is one plain loop,
// and every other device returns the same bits, whatever its work-group size and
// however a query is cut into batches. All operations use + - * min max, integer
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
	Memory

	// Do performs the operation. One that a device does not know panics.
	Do(Operation) error
	// TestForGraphs comes before the first network that is no chain of dense layers: a device may have put off
	// until then what its self-test does for such.
	TestForGraphs() error
}

// Batch holds which weight box and which input box each of Items items pairs: item p uses weight
// box p/PerBox and input box p%Inputs.
//
//	many boxes x one input   PerBox 1,     Inputs 1
//	one box x many inputs    PerBox Items, Inputs Items
//	the grid of both         PerBox m,     Inputs m
//	pairs                    PerBox 1,     Inputs Items
type Batch struct{ Items, PerBox, Inputs int }

// Boxes is the number of weight boxes of a batch.
func (b Batch) Boxes() int { return boxesOf(b.Items, b.PerBox) }

// boxesOf is how many weight boxes items have of which perBox share one.
func boxesOf(items, perBox int) int { return (items + perBox - 1) / perBox }
