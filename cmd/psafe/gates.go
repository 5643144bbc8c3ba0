package main

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record"
)

// gate is one --fail-unless: what share of the inputs must have a verdict, or how large every p_lower
// must be. Shares are whole numbers over a whole number, limits and p_lower are decimals, and all are
// compared exactly.
type gate struct {
	text              string // as typed
	verdict, relation string
	limit             *big.Rat
	// n records were added, of which found have the verdict.
	n, found int64
	// against were added that the gate would rather not have, the worst of which is worst.
	against int64
	worst   worstInput
}

// worstInput is the input with the lowest bounds of those added.
type worstInput struct {
	r *record.Record
}

func (w *worstInput) add(r *record.Record) {
	if w.r == nil || r.PLower < w.r.PLower || r.PLower == w.r.PLower && r.PUpper < w.r.PUpper {
		w.r = &record.Record{Index: r.Index, Name: r.Name, Eps: r.Eps, PLower: r.PLower, PUpper: r.PUpper}
	}
}

// String names the input and its bounds.
func (w worstInput) String() string { return nameOf(w.r) + ", " + boundsOf(w.r) }

// nameOf names an input.
func nameOf(r *record.Record) string {
	eps := ""
	if r.Eps != "" {
		eps = fmt.Sprintf(", eps %.24s", r.Eps)
	}
	name := fmt.Sprintf("index %d", r.Index)
	if r.Name != "" {
		name = fmt.Sprintf("%.40s", r.Name)
	}
	return name + eps
}

// boundsOf are the bounds of a record, rounded outward.
func boundsOf(r *record.Record) string {
	return fmt.Sprintf("p_lower %s, p_upper %s", record.FormatDown(r.PLower, 4), record.FormatUp(r.PUpper, 4))
}

var gateForm = regexp.MustCompile(`^ *(safe|unsafe|unknown|p_lower) *(>=|<=|>|<) *([0-9]{0,40}\.?[0-9]{0,40}(?:/[0-9]{1,40})?) *$`)

// parseGate reads a --fail-unless such as safe>=0.95.
func parseGate(text string) (*gate, error) {
	parts := gateForm.FindStringSubmatch(text)
	if parts == nil {
		return nil, fmt.Errorf("--fail-unless %.60q: write safe, unsafe, unknown or p_lower, then >=, <=, > or <, then a decimal such as 0.95", text)
	}
	limit, err := property.NewExact(parts[3])
	if err != nil || limit.Cmp(property.MustExact("1")) > 0 {
		return nil, fmt.Errorf("--fail-unless %.60q: %q is no share or probability: write a decimal from 0 to 1", text, parts[3])
	}
	return &gate{text: strings.TrimSpace(text), verdict: parts[1], relation: parts[2], limit: limit.Rat()}, nil
}

// parseGates reads all of them.
func parseGates(texts []string) ([]*gate, error) {
	var gates []*gate
	for _, text := range texts {
		g, err := parseGate(text)
		if err != nil {
			return nil, err
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// add counts a record.
func (g *gate) add(r *record.Record) {
	g.n++
	if r.Verdict == g.verdict {
		g.found++
	}
	if g.refuses(r) {
		g.against++
		g.worst.add(r)
	}
}

// refuses reports whether the gate would rather not have a record.
func (g *gate) refuses(r *record.Record) bool {
	switch {
	case g.verdict == "safe":
		return g.relation[0] == '>' && r.Verdict != "safe"
	case g.verdict != "p_lower":
		return g.relation[0] == '<' && r.Verdict == g.verdict
	}
	return !g.holds(r.PLower.Exact().Rat().Cmp(g.limit))
}

// holds reports whether the relation has what is in that order with the limit.
func (g *gate) holds(order int) bool {
	return order == 0 && len(g.relation) == 2 || order > 0 && g.relation[0] == '>' || order < 0 && g.relation[0] == '<'
}

// refusal tells what was found, if it is not what the gate asks for; else "".
func (g *gate) refusal() string {
	if g.verdict == "p_lower" {
		if g.against == 0 {
			return ""
		}
		return fmt.Sprintf("%d of %d inputs do not keep it, the worst is %v: --fail-unless %s", g.against, g.n, g.worst, g.text)
	}
	share := big.NewRat(g.found, g.n)
	if g.holds(share.Cmp(g.limit)) {
		return ""
	}
	worst := ""
	if g.against > 0 {
		worst = fmt.Sprintf("; the worst is %v", g.worst)
	}
	return fmt.Sprintf("%d of %d inputs are %s, a share of %s: --fail-unless %s%s", g.found, g.n, g.verdict, sixDigits(share, g.relation[0] == '<'), g.text, worst)
}

// checkGates is the error of exit status 10 if a gate refuses the records that were added.
func checkGates(gates []*gate) error {
	var refusals []string
	for _, g := range gates {
		if text := g.refusal(); text != "" {
			refusals = append(refusals, text)
		}
	}
	if refusals == nil {
		return nil
	}
	return &statusError{exitUnder, errors.New(strings.Join(refusals, "; "))}
}

// sixDigits prints a share in [0, 1], rounded away from the limit that it missed.
func sixDigits(share *big.Rat, up bool) string {
	scaled := new(big.Rat).Mul(share, big.NewRat(1_000_000, 1))
	num := scaled.Num()
	if up {
		num = new(big.Int).Add(num, new(big.Int).Sub(scaled.Denom(), big.NewInt(1)))
	}
	whole := new(big.Int).Quo(num, scaled.Denom())
	text := new(big.Rat).SetFrac(whole, big.NewInt(1_000_000)).FloatString(6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
