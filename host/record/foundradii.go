package record

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"psafe/host/read/property"
)

// FoundRadii sums up the records of radii that were looked for (RadiusEnd), which are about different
// inputs with one question. Its zero value is ready. Shares and means are exact: bounds of those of the
// inputs' own radii, where a radius counts as 0 if nothing is certified.
type FoundRadii struct{ certified, refuted foundEnds }

// foundEnds are records of one end: n of them, and how many have which radius.
type foundEnds struct {
	n, found int
	at       map[string]int
}

func (f *foundEnds) add(eps string, found bool) {
	f.n++
	if !found {
		return
	}
	if f.at == nil {
		f.at = map[string]int{}
	}
	f.found++
	f.at[eps]++
}

// Add takes in a record; those of another kind count for nothing.
func (f *FoundRadii) Add(r *Record) {
	switch r.RadiusEnd {
	case RadiusEndWords[0]:
		f.certified.add(r.Eps, r.Wanted() > 0)
	case RadiusEndWords[1]:
		f.refuted.add(r.Eps, r.Wanted() < 0)
	}
}

// Inputs returns how many inputs there are, RefutedOf of how many of them it was looked for refuted radii.
func (f *FoundRadii) Inputs() int    { return f.certified.n }
func (f *FoundRadii) RefutedOf() int { return f.refuted.n }

// Certified and Refuted count the inputs with such a radius.
func (f *FoundRadii) Certified() int { return f.certified.found }
func (f *FoundRadii) Refuted() int   { return f.refuted.found }

// MeanCertified is the mean over all inputs, MeanRefuted that over those that have a refuted radius.
func (f *FoundRadii) MeanCertified() *big.Rat { return f.certified.mean(f.certified.n) }
func (f *FoundRadii) MeanRefuted() *big.Rat   { return f.refuted.mean(f.refuted.found) }

// mean is the sum, divided by n.
func (f *foundEnds) mean(n int) *big.Rat {
	sum := new(big.Rat)
	for eps, k := range f.at {
		sum.Add(sum, new(big.Rat).Mul(property.MustExact(eps).Rat(), big.NewRat(int64(k), 1)))
	}
	return sum.Quo(sum, big.NewRat(int64(max(1, n)), 1))
}

// MedianCertified is the lower median of the certified radii: that of the inputs' own radii is not below.
func (f *FoundRadii) MedianCertified() *big.Rat {
	if r := f.certified.median(f.certified.n - f.certified.found); r != nil {
		return r
	}
	return new(big.Rat)
}

// MedianRefuted is the lower median of the refuted radii, nil if too few are refuted: that of the inputs'
// own radii is not above.
func (f *FoundRadii) MedianRefuted() *big.Rat { return f.refuted.median(0) }

// median is the lower one of n radii, of which so many that were not found come before the others and
// the rest of them behind; nil if it is one of those.
func (f *foundEnds) median(before int) *big.Rat {
	number := (f.n+1)/2 - before
	if number < 1 {
		return nil
	}
	for _, eps := range f.sorted() {
		if number -= f.at[eps]; number <= 0 {
			return property.MustExact(eps).Rat()
		}
	}
	return nil
}

// sorted are the radii that were found.
func (f *foundEnds) sorted() []string {
	var list []string
	for eps := range f.at {
		list = append(list, eps)
	}
	slices.SortFunc(list, func(a, b string) int { return property.MustExact(a).Cmp(property.MustExact(b)) })
	return list
}

// RadiusCount is a radius, and how many inputs have it.
type RadiusCount struct {
	Eps    string
	Inputs int
}

// CertifiedAt and RefutedAt are the radii that were found, in ascending order.
func (f *FoundRadii) CertifiedAt() []RadiusCount { return f.certified.counts() }
func (f *FoundRadii) RefutedAt() []RadiusCount   { return f.refuted.counts() }

func (f *foundEnds) counts() (list []RadiusCount) {
	for _, eps := range f.sorted() {
		list = append(list, RadiusCount{eps, f.at[eps]})
	}
	return list
}

// ShareAt bounds the share of the inputs for which what is wanted is true at a radius: those that are
// certified there, and those that are not refuted.
func (f *FoundRadii) ShareAt(eps property.Exact) (lower, upper *big.Rat) {
	count := func(of *foundEnds, counts func(cmp int) bool) *big.Rat {
		n := 0
		for text, k := range of.at {
			if counts(property.MustExact(text).Cmp(eps)) {
				n += k
			}
		}
		return big.NewRat(int64(n), int64(max(1, of.n)))
	}
	lower = count(&f.certified, func(cmp int) bool { return cmp >= 0 })
	upper = count(&f.refuted, func(cmp int) bool { return cmp <= 0 })
	return lower, upper.Sub(big.NewRat(1, 1), upper)
}

// DecimalDown is a number as a decimal of so many digits behind the point, rounded down; DecimalUp, of a
// number not below 0, is rounded up.
func DecimalDown(r *big.Rat, digits int) string {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(scale))
	whole := new(big.Int).Div(scaled.Num(), scaled.Denom()) // Euclid's: down also below 0
	return new(big.Rat).SetFrac(whole, scale).FloatString(digits)
}

func DecimalUp(r *big.Rat, digits int) string {
	return strings.TrimPrefix(DecimalDown(new(big.Rat).Neg(r), digits), "-")
}

// ratDown is a number, rounded down.
func ratDown(exact *big.Rat) Down {
	f, _ := exact.Float64()
	if new(big.Rat).SetFloat64(f).Cmp(exact) > 0 {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return Down(f)
}
