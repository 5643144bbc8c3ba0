package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"

	"psafe/host/job/certify"
	"psafe/host/prove/verify"
	"psafe/host/read/property"
	"psafe/host/record"
)

// ofPosterior answers about P_safe, by what certify proves of the query's boxes.
func (v *verifyFlags) ofPosterior(ctx context.Context, path string, stdout, stderr io.Writer) (say func() error, err error) {
	post, err := v.post.of(v.posterior)
	if err != nil {
		return nil, err
	}
	precision, err := v.device.number()
	if err != nil {
		return nil, err
	}
	require, err := probabilityOf("require", v.require)
	if err != nil {
		return nil, err
	}
	job := certify.Job{Posterior: post, Tasks: certify.Tasks{File: path, Joined: true}, Precision: &precision, Version: version(), Strict: v.strict, Open: v.device.opener(stderr)}
	if !v.quiet {
		job.Note = func(n certify.Note) { note(stderr, n) }
	}
	records, err := job.Run(ctx)
	if _, ended := errors.AsType[*certify.Interrupted](err); ended && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return func() error {
			_, err := fmt.Fprintln(stdout, verify.TimedOut)
			return err
		}, nil
	}
	if err != nil {
		return nil, err
	}
	lower, upper := together(records)
	answer := verify.Unknown
	switch {
	case lower.Cmp(require.Rat()) >= 0:
		answer = verify.Unsat
	case upper.Cmp(require.Rat()) < 0:
		answer = verify.Sat
	}
	return func() error {
		if _, err := fmt.Fprintln(stdout, answer); err != nil || v.quiet {
			return err
		}
		fmt.Fprintf(stderr, "psafe: %s: P_safe is at least %s and at most %s, --require is %s\n", answer, property.DecimalDown(nearestDown(lower)), property.DecimalUp(nearestUp(upper)), require)
		return nil
	}, nil
}

// together bounds the probability that a network is safe on all tasks, of which each has its
// record: it fails at most as often as all of them together, and is safe at most as often as
// on the one where that is least likely. Both are exact sums of the printed decimals.
func together(records []*record.Record) (lower, upper *big.Rat) {
	lower, upper = big.NewRat(1, 1), big.NewRat(1, 1)
	for _, r := range records {
		lower.Sub(lower, new(big.Rat).Sub(big.NewRat(1, 1), r.PLower.Exact().Rat()))
		if u := r.PUpper.Exact().Rat(); u.Cmp(upper) < 0 {
			upper = u
		}
	}
	if lower.Sign() < 0 {
		lower.SetInt64(0)
	}
	return lower, upper
}

// nearestDown is the largest float64 that is not above a probability.
func nearestDown(p *big.Rat) float64 {
	x, exact := p.Float64()
	if !exact && new(big.Rat).SetFloat64(x).Cmp(p) > 0 {
		x = math.Nextafter(x, 0)
	}
	return x
}

// nearestUp is the least float64 that is not below a probability.
func nearestUp(p *big.Rat) float64 {
	x, exact := p.Float64()
	if !exact && new(big.Rat).SetFloat64(x).Cmp(p) < 0 {
		x = math.Nextafter(x, 2)
	}
	return x
}
