package property

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// DecimalDown is the shortest decimal text of a real number that is not above x and that
// a reader who rounds to nearest takes for x itself: the text of a lower bound is one too.
// It is a JSON number. x must be finite (it panics otherwise).
func DecimalDown(x float64) string { return directed(x, false) }

// DecimalUp is DecimalDown for upper bounds: the text is not below x.
func DecimalUp(x float64) string { return directed(x, true) }

// directed cuts the digits of |x| after as few as will do, and counts the last one up
// where that is the direction.
func directed(x float64, up bool) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		panic(fmt.Sprintf("property: %v has no decimal text", x))
	}
	shortest := strconv.FormatFloat(x, 'e', -1, 64)
	exact := new(big.Rat).SetFloat64(x)
	fits := func(text string) bool {
		r, ok := new(big.Rat).SetString(text)
		if order := r.Cmp(exact); !ok || up && order < 0 || !up && order > 0 {
			return false
		}
		back, err := strconv.ParseFloat(text, 64)
		return err == nil && back == x
	}
	if fits(shortest) {
		return jsonNumber(shortest)
	}
	// 40 digits are never cut wrongly below; whatever is made of them, fits decides.
	long := strconv.FormatFloat(math.Abs(x), 'e', 40, 64)
	digits, exp, _ := strings.Cut(strings.Replace(long, ".", "", 1), "e")
	for n := len(strings.TrimLeft(mantissa(shortest), "-")); n < len(digits); n++ {
		whole, _ := new(big.Int).SetString(digits[:n], 10)
		if up != (x < 0) { // away from 0
			whole.Add(whole, big.NewInt(1))
		}
		power, _ := strconv.Atoi(exp)
		text := fmt.Sprintf("%ve%d", whole, power-n+1)
		if x < 0 {
			text = "-" + text
		}
		if fits(text) {
			return jsonNumber(text)
		}
	}
	return jsonNumber(strconv.FormatFloat(x, 'e', 800, 64)) // all digits of x
}

// mantissa is the digits of a number in scientific notation, with its sign.
func mantissa(text string) string {
	text, _, _ = strings.Cut(text, "e")
	return strings.Replace(text, ".", "", 1)
}

// jsonNumber writes decimal text as encoding/json writes numbers: without zeros that say
// nothing, and with an exponent only where the number is below 1e-6 or from 1e21 on.
func jsonNumber(text string) string {
	d, err := scanDecimal(text)
	if err != nil {
		panic("property: jsonNumber: " + err.Error())
	}
	return d.json()
}

func (d scanned) json() string {
	digits := strings.TrimLeft(d.digits, "0")
	exp := d.exp + len(digits) - 1 // of the first digit
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	n := len(digits)
	switch {
	case exp < -6 || exp >= 21:
		if n > 1 {
			digits = digits[:1] + "." + digits[1:]
		}
		return sign + digits + "e" + fmt.Sprintf("%+d", exp)
	case exp < 0:
		return sign + "0." + strings.Repeat("0", -exp-1) + digits
	case exp < n-1:
		return sign + digits[:exp+1] + "." + digits[exp+1:]
	}
	return sign + digits + strings.Repeat("0", exp-n+1)
}

// Exact is a rational number, as flags write it; its zero value is 0.
type Exact struct {
	text string
	rat  *big.Rat
}

// NewExact reads a number by the grammar of NewDecimal. Numbers beyond the range of
// float64 are read too, up to the limit of the exponent.
func NewExact(text string) (Exact, error) {
	if isFraction(text) {
		r, err := parseRat(text)
		if err != nil {
			return Exact{}, err
		}
		return Exact{fractionText(r), r}, nil
	}
	d, err := scanDecimal(text)
	if err != nil {
		return Exact{}, err
	}
	return Exact{d.json(), d.rat()}, nil
}

// fractionText is the text of a number that was written as a fraction: its decimal if it
// has one, and the fraction in lowest terms otherwise.
func fractionText(r *big.Rat) string {
	places, finite := r.FloatPrec()
	if !finite {
		return r.RatString()
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	digits := new(big.Rat).Mul(r, new(big.Rat).SetInt(ten)).Num()
	return scanned{digits.Sign() < 0, new(big.Int).Abs(digits).String(), -places}.json()
}

// MustExact is NewExact for texts that are known to be numbers; it panics at others.
func MustExact(text string) Exact {
	e, err := NewExact(text)
	if err != nil {
		panic("property: MustExact: " + err.Error())
	}
	return e
}

// Cmp compares two numbers: -1, 0 or +1.
func (e Exact) Cmp(f Exact) int { return e.Rat().Cmp(f.Rat()) }

// Rat is the number itself, a copy.
func (e Exact) Rat() *big.Rat {
	if e.rat == nil {
		return new(big.Rat)
	}
	return new(big.Rat).Set(e.rat)
}

// Approx is about the number.
func (e Exact) Approx() float64 {
	v, _ := e.Rat().Float64()
	return v
}

// String is the number's text, the same for equal numbers: a JSON number, or a fraction in
// lowest terms if no decimal writes the number.
func (e Exact) String() string {
	if e.rat == nil {
		return "0"
	}
	return e.text
}

// MarshalJSON writes the number as it is, a fraction as text.
func (e Exact) MarshalJSON() ([]byte, error) {
	if text := e.String(); isFraction(text) {
		return []byte(`"` + text + `"`), nil
	}
	return []byte(e.String()), nil
}

// UnmarshalJSON reads a number as MarshalJSON writes it.
func (e *Exact) UnmarshalJSON(text []byte) (err error) {
	*e, err = NewExact(FractionOfJSON(string(text)))
	return err
}

// FractionOfJSON is the fraction in JSON text that holds one, such as "2/3" with its quotes;
// any other text is returned as it is, so that quotes around a decimal are none.
func FractionOfJSON(text string) string {
	if n := len(text); n > 2 && text[0] == '"' && text[n-1] == '"' && isFraction(text) {
		return text[1 : n-1]
	}
	return text
}
