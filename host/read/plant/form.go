package plant

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"psafe/host/read/property"
	"psafe/internal/nearest"
)

// Limits of a text.
const (
	mostText  = 10_000
	mostDepth = 50
)

// functions are the words that are no names.
var functions = []string{"clip", "sin"}

// parser reads a text: sums of products of numbers and at most one factor that is no number. names
// are the variables that it may speak of.
type parser struct {
	names []string
	rest  string
	depth int
}

// parseForm reads a text with nothing behind it.
func parseForm(text string, names []string) (*Form, error) {
	p := &parser{names: names, rest: text}
	if len(text) > mostText {
		return nil, fmt.Errorf("has %d characters, the limit is %d: write less", len(text), mostText)
	}
	f, err := p.sum()
	if err == nil && p.next() != 0 {
		err = p.stuck("an operator")
	}
	if err == nil {
		err = f.enclose()
	}
	if err != nil {
		return nil, fmt.Errorf("%.60q %w", text, err)
	}
	return f, nil
}

// parseConstraint reads A <= B, A >= B, or A <= B <= C with any of these signs: forms that are at least 0.
func parseConstraint(text string, names []string) (Set, error) {
	var sides []*Form
	var signs []string
	for rest := text; ; {
		i := strings.IndexAny(rest, "<>")
		side := rest
		if i >= 0 {
			if !strings.HasPrefix(rest[i+1:], "=") {
				return nil, fmt.Errorf("%.60q: sets are closed: write <= or >=", text)
			}
			side = rest[:i]
		}
		f, err := parseForm(side, names)
		if err != nil {
			return nil, err
		}
		sides = append(sides, f)
		if i < 0 {
			break
		}
		signs, rest = append(signs, rest[i:i+1]), rest[i+2:]
	}
	if len(signs) < 1 || len(signs) > 2 {
		return nil, fmt.Errorf("%.60q is no constraint: write one such as -1 <= x <= 1", text)
	}
	var set Set
	for i, sign := range signs {
		less, more := sides[i], sides[i+1]
		if sign == ">" {
			less, more = more, less
		}
		f := added(more, less, big.NewRat(-1, 1))
		if err := f.enclose(); err != nil {
			return nil, fmt.Errorf("%.60q %w", text, err)
		}
		set = append(set, f)
	}
	return set, nil
}

// constant is the form of a number.
func constant(r *big.Rat) *Form { return &Form{Constant: Number{Exact: r}} }

// isConstant reports whether a form is a number.
func (f *Form) isConstant() bool { return len(f.Terms) == 0 }

// added is a + by b. A variable has one term.
func added(a, b *Form, by *big.Rat) *Form {
	sum := constant(new(big.Rat).Add(a.Constant.Exact, new(big.Rat).Mul(by, b.Constant.Exact)))
	sum.Terms = slices.Clone(a.Terms)
	for _, t := range b.Terms {
		t.By = Number{Exact: new(big.Rat).Mul(by, t.By.Exact)}
		i := slices.IndexFunc(sum.Terms, func(s Term) bool {
			return s.Of.Of == nil && t.Of.Of == nil && s.Of.Variable == t.Of.Variable
		})
		if i < 0 {
			sum.Terms = append(sum.Terms, t)
		} else {
			sum.Terms[i].By = Number{Exact: new(big.Rat).Add(sum.Terms[i].By.Exact, t.By.Exact)}
		}
	}
	sum.Terms = slices.DeleteFunc(sum.Terms, func(t Term) bool { return t.By.Exact.Sign() == 0 })
	return sum
}

// enclose encloses all numbers of a form.
func (f *Form) enclose() error {
	ok := true
	set := func(n *Number) {
		var in bool
		*n, in = number(n.Exact)
		ok = ok && in
	}
	set(&f.Constant)
	for i := range f.Terms {
		set(&f.Terms[i].By)
	}
	if !ok {
		return fmt.Errorf("has numbers beyond the range of float64: write smaller ones")
	}
	return nil
}

// next is the next character that is no space, 0 at the end.
func (p *parser) next() byte {
	p.rest = strings.TrimLeft(p.rest, " \t\n")
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

// took reports whether the next character is c, and takes it.
func (p *parser) took(c byte) bool {
	if p.next() != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// stuck says what should stand where the parser is.
func (p *parser) stuck(want string) error {
	if p.next() == 0 {
		return fmt.Errorf("ends where %s should be", want)
	}
	return fmt.Errorf("has %.20q where %s should be", p.rest, want)
}

func (p *parser) sum() (*Form, error) {
	if p.depth++; p.depth > mostDepth {
		return nil, fmt.Errorf("nests deeper than %d: write it flatter", mostDepth)
	}
	defer func() { p.depth-- }()
	sum, err := p.product()
	for err == nil {
		sign := int64(1)
		if p.took('-') {
			sign = -1
		} else if !p.took('+') {
			break
		}
		var f *Form
		if f, err = p.product(); err == nil {
			sum = added(sum, f, big.NewRat(sign, 1))
		}
	}
	return sum, err
}

func (p *parser) product() (*Form, error) {
	product, err := p.factor()
	for err == nil {
		over := p.took('/')
		if !over && !p.took('*') {
			break
		}
		var f *Form
		if f, err = p.factor(); err != nil {
			break
		}
		if !over && product.isConstant() {
			product, f = f, product
		}
		by := f.Constant.Exact
		switch {
		case !f.isConstant():
			return nil, fmt.Errorf("has a product or quotient of two variables: one of them must be a number")
		case over && by.Sign() == 0:
			return nil, fmt.Errorf("divides by zero")
		case over:
			by = new(big.Rat).Inv(by)
		}
		product = added(constant(new(big.Rat)), product, by)
	}
	return product, err
}

func (p *parser) factor() (*Form, error) {
	switch c := p.next(); {
	case p.took('-'):
		if p.depth++; p.depth > mostDepth {
			return nil, fmt.Errorf("nests deeper than %d: write it flatter", mostDepth)
		}
		defer func() { p.depth-- }()
		f, err := p.factor()
		if err == nil {
			f = added(constant(new(big.Rat)), f, big.NewRat(-1, 1))
		}
		return f, err
	case p.took('('):
		f, err := p.sum()
		if err == nil && !p.took(')') {
			err = p.stuck(")")
		}
		return f, err
	case c >= '0' && c <= '9' || c == '.':
		return p.number()
	case letter(c):
		return p.name()
	}
	return nil, p.stuck("a number, a name or a bracket")
}

// letter reports whether a name may begin so.
func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

func (p *parser) number() (*Form, error) {
	i := 0
	for i < len(p.rest) && (digit(p.rest[i]) || p.rest[i] == '.') {
		i++
	}
	if i < len(p.rest) && (p.rest[i] == 'e' || p.rest[i] == 'E') {
		j := i + 1
		if j < len(p.rest) && (p.rest[j] == '+' || p.rest[j] == '-') {
			j++
		}
		for k := j; k < len(p.rest) && digit(p.rest[k]); k++ {
			i = k + 1
		}
	}
	e, err := property.NewExact(p.rest[:i])
	if err != nil {
		return nil, fmt.Errorf("has a number that is none: %w", err)
	}
	p.rest = p.rest[i:]
	return constant(e.Rat()), nil
}

func (p *parser) name() (*Form, error) {
	i := 1
	for i < len(p.rest) && (letter(p.rest[i]) || digit(p.rest[i])) {
		i++
	}
	word := p.rest[:i]
	p.rest = p.rest[i:]
	if slices.Contains(functions, word) {
		return p.function(word)
	}
	k := slices.Index(p.names, word)
	if k < 0 {
		return nil, fmt.Errorf("speaks of %.40q, which is none of %s%s", word, strings.Join(p.names, ", "), nearest.Hint(word, p.names))
	}
	return of(Atom{Variable: k}), nil
}

// of is the form that is an atom.
func of(a Atom) *Form {
	f := constant(new(big.Rat))
	f.Terms = []Term{{By: Number{Exact: big.NewRat(1, 1)}, Of: a}}
	return f
}

// function reads what stands in brackets behind a word.
func (p *parser) function(word string) (*Form, error) {
	if !p.took('(') {
		return nil, p.stuck("( behind " + word)
	}
	var args []*Form
	for len(args) == 0 || p.took(',') {
		f, err := p.sum()
		if err == nil {
			err = f.enclose()
		}
		if err != nil {
			return nil, err
		}
		args = append(args, f)
	}
	if !p.took(')') {
		return nil, p.stuck(") behind " + word)
	}
	if word == "sin" {
		if len(args) != 1 {
			return nil, fmt.Errorf("has sin of %d arguments: write sin(FORM)", len(args))
		}
		return of(Atom{Sine: true, Of: args[0]}), nil
	}
	if len(args) != 3 || !args[1].isConstant() || !args[2].isConstant() || args[1].Constant.Exact.Cmp(args[2].Constant.Exact) > 0 {
		return nil, fmt.Errorf("has a clip that is none: write clip(FORM, LO, HI) with two numbers in order")
	}
	return of(Atom{Of: args[0], Lo: args[1].Constant, Hi: args[2].Constant}), nil
}
