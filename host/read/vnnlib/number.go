package vnnlib

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

const (
	// maxNumberText is the longest number read, in bytes, maxExponent the largest power of
	// ten that one may name: "1e999999999" is never expanded.
	maxNumberText = 1200
	maxExponent   = 400
	// maxBits bounds numerators and denominators of what is computed from numbers, and workPerByte,
	// for each byte of the query, the work of that: squares of their lengths in words. freeWork is
	// allowed in any case.
	maxBits     = 1 << 14
	workPerByte = 1 << 4
	freeWork    = 1 << 29
)

var (
	errNotNumber = errors.New("is no number; write digits such as -0.25 or 1e-3")
	errTooLong   = errors.New("is a number of too many digits or with an exponent beyond 400; round it")
)

// looksNumeric reports whether a symbol can only be meant as a number.
func looksNumeric(text string) bool {
	text = strings.TrimLeft(text, "+-")
	return text != "" && numeric(text[0])
}

// parseNumber reads a decimal number exactly: an optional sign, digits with at most one
// point, an optional exponent.
func parseNumber(text string) (*big.Rat, error) {
	if len(text) > maxNumberText {
		return nil, errTooLong
	}
	body := text
	if body != "" && (body[0] == '+' || body[0] == '-') {
		body = body[1:]
	}
	mantissa, exponent := body, ""
	if k := strings.IndexAny(body, "eE"); k >= 0 {
		mantissa, exponent = body[:k], body[k+1:]
		e, err := strconv.Atoi(exponent)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, errNotNumber
		}
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil, errTooLong
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return nil, errNotNumber
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errNotNumber
	}
	return r, nil
}

// worker does exact arithmetic within a budget.
type worker struct{ work, most int }

var errWork = errors.New("takes arithmetic with more digits than psafe is ready for; write simpler numbers")

func bits(r *big.Rat) int { return r.Num().BitLen() + r.Denom().BitLen() }

// spend accounts for an operation on a and b with the result r.
func (w *worker) spend(a, b, r *big.Rat) error {
	words := (bits(a)+bits(b)+bits(r))/64 + 1
	if w.work += words*words + 16; w.work > w.most || r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits {
		return errWork
	}
	return nil
}

func (w *worker) mul(a, b *big.Rat) (*big.Rat, error) {
	r := new(big.Rat).Mul(a, b)
	return r, w.spend(a, b, r)
}

func (w *worker) add(a, b *big.Rat) (*big.Rat, error) {
	r := new(big.Rat).Add(a, b)
	return r, w.spend(a, b, r)
}
