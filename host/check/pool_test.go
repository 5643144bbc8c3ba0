package check

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// mixedLines are records of small posteriors of several kinds, the same of each kind side by side, and some that are
// refused.
func mixedLines(t *testing.T) (lines [][]byte) {
	for _, post := range []string{"swag-2-8-3.npz", "correlated-2-8-3.npz", "dropout-2-8-3.npz", "samples-2-8-3.npz", "tiny-2-3-2-tanh.npz"} {
		m := certify.Method{By: new(prove.CLBP), NoUpper: true, Cells: new(1)}
		if post == "samples-2-8-3.npz" {
			m = certify.Method{By: new(prove.Finite)}
		}
		j := file(post, "", m, bound.Float32)
		j.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "pairs.csv"), Eps: "0.05", Property: property.KeepsClass}}
		of := written(t, j)
		lines = append(lines, of...)
		lines = append(lines, []byte(strings.Replace(string(of[0]), `"p_lower":0`, `"p_lower":1`, 1)))
	}
	return lines
}

// TestOnCores: what is told of lines on all cores is what one checker says of them one by one, in their order; some
// are proved at the same time by checkers that share files.
func TestOnCores(t *testing.T) {
	defer func(n int) { runtime.GOMAXPROCS(n) }(runtime.GOMAXPROCS(4))
	lines := mixedLines(t)
	var c Checker
	var want, got []string
	say := func(v Verdict, err error) string { return fmt.Sprint(v.Task, v.Run, v.Claims, v.Refused, err) }
	for _, line := range lines {
		want = append(want, say(c.Check(t.Context(), line, false)))
	}
	err := OnCores(t.Context(), Files{}, func(put Put) error {
		line := make([]byte, 0, 1<<16)
		for i := range lines {
			line = append(line[:0], lines[i]...) // the line is the pool's no longer
			if err := put(line, false, func(v Verdict, err error) error { got = append(got, say(v, err)); return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	onCoresEnds(t, lines)
}

// onCoresEnds: the first error of told ends it, and nothing is told after that; when the context ends no line is told
// of that has no verdict.
func onCoresEnds(t *testing.T, lines [][]byte) {
	line := lines[slices.IndexFunc(lines, func(line []byte) bool { return strings.Contains(string(line), `"p_lower":0.`) })]
	enough, after := errors.New("enough"), 0
	err := OnCores(t.Context(), Files{}, func(put Put) error {
		for range 40 {
			err := put(line, true, func(Verdict, error) error {
				if after++; after == 3 {
					return enough
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != enough || after != 3 {
		t.Errorf("%v after %d", err, after)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	err = OnCores(ctx, Files{}, func(put Put) error {
		for i := range 40 {
			if i == 20 {
				cancel()
			}
			err := put(line, false, func(v Verdict, err error) error {
				if told++; err != nil || v.Refused != nil || !v.Claims {
					t.Errorf("told of %+v, %v", v, err)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || told > 20 {
		t.Errorf("%v, told of %d", err, told)
	}
}
