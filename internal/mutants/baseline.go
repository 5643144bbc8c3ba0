package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// baseline is the program as it is: the tests that mutants name must pass on it, as
// one that fails anyway catches nothing, and take some time, by which it is known
// when a mutant never ends.
type baseline struct {
	binaries map[string]string // of packages
	mu       sync.Mutex
	took     map[string]*sync.Once
	limits   map[string]time.Duration
}

// patience is how many times longer than without it the tests of a mutant may take,
// and leastPatience how long in any case: a machine may get busy.
const (
	patience      = 50
	leastPatience = 5 * time.Minute
	// endless is how long tests may take that have not been timed.
	endless = 6 * time.Hour
)

// newBaseline builds the tests of each package and runs all that mutants name, with
// few cases.
func newBaseline(ctx context.Context, all []mutant, dir string, jobs int) (*baseline, error) {
	b := &baseline{binaries: map[string]string{}, took: map[string]*sync.Once{}, limits: map[string]time.Duration{}}
	named := map[string]*mutant{}
	for i := range all {
		m := &all[i]
		named[m.pkg+" "+m.test] = m
		if b.binaries[m.pkg] != "" {
			continue
		}
		b.binaries[m.pkg] = filepath.Join(dir, fmt.Sprintf("%d.test", len(b.binaries)))
		if err := buildTests(ctx, m.pkg, "", b.binaries[m.pkg]); err != nil {
			return nil, err
		}
	}
	var list []*mutant
	for _, m := range named {
		list = append(list, m)
	}
	errs := make([]error, len(list))
	each(len(list), jobs, func(i int) {
		if b.limit(ctx, list[i], false) == 0 {
			r := runTests(ctx, b.binaries[list[i].pkg], list[i], false, endless)
			errs[i] = fmt.Errorf("go test -run '%s' %s must pass without a mutant:\n%s", list[i].test, list[i].pkg, r.output)
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// limit returns how long the tests of a mutant may take, and 0 if they fail without it.
func (b *baseline) limit(ctx context.Context, m *mutant, deep bool) time.Duration {
	key := fmt.Sprint(m.pkg, " ", m.test, " ", deep)
	b.mu.Lock()
	once := b.took[key]
	if once == nil {
		once = new(sync.Once)
		b.took[key] = once
	}
	b.mu.Unlock()
	once.Do(func() {
		start := time.Now()
		limit := time.Duration(0)
		if runTests(ctx, b.binaries[m.pkg], m, deep, endless).verdict == survived {
			limit = max(leastPatience, patience*time.Since(start))
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.limits[key] = limit
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limits[key]
}
