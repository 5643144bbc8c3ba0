// Package property reads what is to be certified: input regions T and safe output sets S, and reads
// both from files and flags.
//
// The statement is "for all x in T: f^w(x) in S". T is a finite union of boxes.
// S is a formula of linear rows C y + d >= 0, by AND, OR and "at least so many". Decimal
// numbers of files and flags are real numbers here: each is enclosed in the
// two nearest float64, and rounding always shrinks S and enlarges T, so a
// certificate for what is stored here holds for what was written.
package property

// Box is the set of x with Lo[j] <= x[j] <= Hi[j] for every j.
type Box struct{ Lo, Hi []float64 }

// Row is one linear constraint sum_i C_i y_i + d >= 0 on the logits y. A number
// that is not a float64 is held as the interval around it: CLo <= C <= CHi and
// D <= d <= DHi. That the constraint holds is proved with D, that it fails with
// DHi (see Negated); where d is a float64, both are d.
type Row struct {
	CLo, CHi []float64
	D, DHi   float64
}

// Task is one question: is the network safe on all of the union of T?
type Task struct {
	// Index is the position in the input file or the property file.
	Index int
	// Name is a label for humans, for example "phi_1"; may be empty.
	Name string
	// Label is the class the property speaks of, -1 if none.
	Label int
	// ByMean reports whether Label is what the mean network says of the point, whatever its true class is.
	ByMean bool
	// T is the union of input boxes, each of which contains the real one that
	// was asked about.
	T []Box
	// Inner holds, for each box of T, points known to be in the real one, which
	// has at least one: see Region.Inside for what Lo[j] > Hi[j] and the zero Box
	// mean. No Inner at all counts as zero boxes.
	Inner []Box
	// Ball, if it is not nil, is what T is cut to: the real T is what the real box and the real
	// ball have in common. There is one box then.
	Ball *Ball
	// S is the safe set.
	S Safe
	// Gamma and Samples are what a property file proposes, 0 if it is silent.
	Gamma   float64
	Samples int
	// Eps is the radius of T around a data point as it was typed, EpsSHA256 the digest of the
	// file that it names; empty for other regions.
	Eps, EpsSHA256 string
	// TemplateSHA256 is the digest of the file of templates that the task was made of, empty if
	// of none; Template is which of them.
	Template       int
	TemplateSHA256 string
	// FileSHA256 is the lower-case hexadecimal digest of the property file that
	// the task was read from, empty if there was none.
	FileSHA256 string
	// Shape holds the shape of the input as the task's file says it; nil if it is silent.
	Shape []int
}

// ArgmaxIs is the set where y_c >= y_j for every j: one alternative with
// outputs-1 rows, in order of j.
func ArgmaxIs(c, outputs int) Safe {
	s := Safe{Any: [][]int{nil}}
	for j := range outputs {
		if j != c {
			s.Any[0] = append(s.Any[0], len(s.Rows))
			s.Rows = append(s.Rows, difference(c, j, outputs))
		}
	}
	return s
}

// ArgmaxIsNever is the set where y_j >= y_c for some j != c: a disjunction, one
// alternative per j. It contains the ties.
func ArgmaxIsNever(c, outputs int) Safe {
	var s Safe
	for j := range outputs {
		if j != c {
			s.Any = append(s.Any, []int{len(s.Rows)})
			s.Rows = append(s.Rows, difference(j, c, outputs))
		}
	}
	return s
}

// difference is the row y_a - y_b >= 0.
func difference(a, b, outputs int) Row {
	c := make([]float64, outputs)
	c[a], c[b] = 1, -1
	return Row{CLo: c, CHi: c}
}
