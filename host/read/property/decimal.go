package property

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
)

const (
	// maxDecimalText is the longest decimal text read, in bytes; the exact
	// decimal expansion of any float64 is shorter.
	maxDecimalText = 1200
	// maxDecimalExp is the largest power of ten a text may name after "e". It
	// keeps "1e999999999" from being expanded, and reaches past every float64.
	maxDecimalExp = 400
)

// Decimal is a real number known to lie in [Lo, Hi]; both are finite, and they
// are equal if the number is a float64. It is how the decimal texts of flags
// and files travel, so that their users can round to either side.
type Decimal struct{ Lo, Hi float64 }

// NewDecimal reads a number as flags and property files write it: decimal text as
// ParseDecimal reads it, or a fraction of two, such as 8/255. A fraction is enclosed in the
// two float64 nearest to it, as a decimal is. Its
// denominator is above 0; anything else is an error, and so is a fraction beyond the range
// of float64.
func NewDecimal(text string) (Decimal, error) {
	if !isFraction(text) {
		lo, hi, err := ParseDecimal(text)
		return Decimal{lo, hi}, err
	}
	r, err := parseRat(text)
	if err != nil {
		return Decimal{}, err
	}
	return enclose(r, text)
}

// enclose is the Decimal of an exact number, which text writes.
func enclose(r *big.Rat, text string) (Decimal, error) {
	lo, hi, ok := roundRat(r)
	if !ok {
		return Decimal{}, fmt.Errorf("number %s is beyond the range of float64 (about 1.8e308); write a smaller one", quote(text))
	}
	return Decimal{lo, hi}, nil
}

// ParseDecimal returns the two float64 nearest to the real number that text
// writes in decimal: lo is the largest float64 not above it, hi the smallest
// not below it; they are equal exactly if the number is a float64.
//
// The text is an optional sign, digits with at most one point ("5", "5.", ".5")
// and an optional exponent ("e-3") of at most 400 in size. NaN, infinities,
// hexadecimal, underscores, spaces, more than 1200 bytes and numbers beyond the
// finite range of float64 are errors, of one line that quotes the text; so lo
// and hi are always finite. Zero is never negative zero.
func ParseDecimal(text string) (lo, hi float64, err error) {
	d, err := scanDecimal(text)
	if err != nil {
		return 0, 0, err
	}
	lo, hi, ok := d.small()
	if !ok {
		if lo, hi, ok = roundRat(d.rat()); !ok {
			return 0, 0, fmt.Errorf("number %s is beyond the range of float64 (about 1.8e308); write a smaller one", quote(text))
		}
		return lo, hi, nil
	}
	if d.negative {
		lo, hi = 0-hi, 0-lo // 0-x rather than -x: never negative zero
	}
	return lo, hi, nil
}

// scanned is a decimal text taken apart: the number is digits * 10^exp, with
// the sign of negative. digits has no point and at least one digit.
type scanned struct {
	negative bool
	digits   string
	exp      int
}

var errNotDecimal = errors.New("is not a decimal number; write digits such as -0.25 or 1e-3")

// scanDecimal takes text apart by the grammar of ParseDecimal.
func scanDecimal(text string) (scanned, error) {
	var d scanned
	fail := func(err error) (scanned, error) {
		return scanned{}, fmt.Errorf("%s %w", quote(text), err)
	}
	if len(text) > maxDecimalText {
		return fail(fmt.Errorf("has %d characters, the limit for a number is %d; round it", len(text), maxDecimalText))
	}
	rest := text
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		d.negative, rest = rest[0] == '-', rest[1:]
	}
	whole := leadingDigits(rest)
	rest = rest[len(whole):]
	frac := ""
	if rest != "" && rest[0] == '.' {
		frac = leadingDigits(rest[1:])
		rest = rest[1+len(frac):]
	}
	if whole == "" && frac == "" {
		return fail(errNotDecimal)
	}
	if rest != "" {
		exp, ok, inRange := scanExponent(rest)
		if !ok {
			return fail(errNotDecimal)
		}
		if !inRange {
			return fail(fmt.Errorf("has an exponent beyond %d; write a number of ordinary size", maxDecimalExp))
		}
		d.exp = exp
	}
	d.exp -= len(frac)
	d.digits = whole
	if frac != "" {
		d.digits = whole + frac
	}
	return d, nil
}

// scanExponent reads "e12", "E-3": ok is false if text is anything else,
// inRange false if the exponent exceeds maxDecimalExp in size.
func scanExponent(text string) (exp int, ok, inRange bool) {
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false, false
	}
	text = text[1:]
	negative := false
	if text != "" && (text[0] == '+' || text[0] == '-') {
		negative, text = text[0] == '-', text[1:]
	}
	if text == "" || leadingDigits(text) != text {
		return 0, false, false
	}
	for _, c := range []byte(text) {
		exp = min(10*exp+int(c-'0'), maxDecimalExp+1)
	}
	inRange = exp <= maxDecimalExp
	if negative {
		exp = -exp
	}
	return exp, true, inRange
}

// leadingDigits is the longest prefix of s made of the digits 0 to 9.
func leadingDigits(s string) string {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return s[:n]
}

// pow10 holds the powers of ten that are float64.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
	1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// small rounds |d| both ways without big numbers, if its digits are below 2^53
// and its power of ten is a float64: the case of data files, where speed
// counts. Both operands of the one operation are then exact, and so is the
// residual by a fused multiply-add: of a product always, of a quotient q to
// nearest because num - q*den is a float64 (no underflow: num is 0 or >= 1 and
// den <= 1e22). The sign of the residual says on which side the result lies.
func (d scanned) small() (lo, hi float64, ok bool) {
	if len(d.digits) > 15 || d.exp < -22 || d.exp > 22 {
		return 0, 0, false
	}
	var n int64
	for _, c := range []byte(d.digits) {
		n = 10*n + int64(c-'0')
	}
	num := float64(n)
	var v, residual float64
	if d.exp >= 0 {
		v = num * pow10[d.exp]
		residual = math.FMA(num, pow10[d.exp], -v)
	} else {
		v = num / pow10[-d.exp]
		residual = math.FMA(-v, pow10[-d.exp], num)
	}
	lo, hi = v, v
	if residual < 0 {
		lo = down(v)
	} else if residual > 0 {
		hi = up(v)
	}
	return lo, hi, true
}

// rat is the exact value of d.
func (d scanned) rat() *big.Rat {
	n, ok := new(big.Int).SetString(d.digits, 10)
	if !ok {
		panic("property: rat: not digits: " + d.digits)
	}
	if d.negative {
		n.Neg(n)
	}
	r := new(big.Rat).SetInt(n)
	p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(d.exp, -d.exp))), nil))
	if d.exp < 0 {
		return r.Quo(r, p)
	}
	return r.Mul(r, p)
}

// roundRat returns the largest float64 <= r and the smallest >= r; ok is false
// if one of them is infinite.
func roundRat(r *big.Rat) (lo, hi float64, ok bool) {
	v, exact := r.Float64()
	if math.IsInf(v, 0) {
		return 0, 0, false
	}
	lo, hi = v+0, v+0
	if !exact {
		if new(big.Rat).SetFloat64(v).Cmp(r) < 0 {
			hi = up(v)
		} else {
			lo = down(v)
		}
	}
	// A negative number between 0 and the smallest subnormal has hi = -0.
	lo, hi = 0+lo, 0+hi
	return lo, hi, !math.IsInf(lo, 0) && !math.IsInf(hi, 0)
}

// isFraction reports whether text is a fraction, not decimal text.
func isFraction(text string) bool { return strings.Contains(text, "/") }

// parseRat reads decimal text, or two separated by "/", the second above 0, such as
// 0.00390625 or 1/255. The result is exact.
func parseRat(text string) (*big.Rat, error) {
	num, den, fraction := strings.Cut(text, "/")
	d, err := scanDecimal(num)
	if err != nil {
		return nil, err
	}
	r := d.rat()
	if !fraction {
		return r, nil
	}
	if d, err = scanDecimal(den); err != nil {
		return nil, err
	}
	switch q := d.rat(); q.Sign() {
	case 0:
		return nil, fmt.Errorf("%s divides by zero; write a fraction such as 1/255", quote(text))
	case -1:
		return nil, fmt.Errorf("%s has a sign behind the stroke; write it in front, as in -1/255", quote(text))
	default:
		return r.Quo(r, q), nil
	}
}

// parseRatio reads a positive factor by the grammar of parseRat.
func parseRatio(text string) (*big.Rat, error) {
	r, err := parseRat(text)
	if err != nil {
		return nil, err
	}
	if r.Sign() <= 0 {
		return nil, fmt.Errorf("%s is not positive; write a factor such as 1/255", quote(text))
	}
	if _, _, ok := roundRat(r); !ok {
		return nil, fmt.Errorf("%s is beyond the range of float64; write a smaller factor", quote(text))
	}
	return r, nil
}

// down is the next float64 below v, up the next above.
func down(v float64) float64 { return math.Nextafter(v, math.Inf(-1)) }
func up(v float64) float64   { return math.Nextafter(v, math.Inf(1)) }

// quote quotes text for an error message: on one line, and cut to a readable
// length.
func quote(text string) string {
	const most = 48
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
