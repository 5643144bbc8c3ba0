package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// draw keeps n mutants of those in files that changed since a commit, and n of the others: the
// same ones all day, others on another day. Without a commit nothing counts as changed. Of a group of n
// or fewer it keeps all.
func draw(ctx context.Context, all []mutant, n int, day, since string) ([]mutant, error) {
	changed := map[string]bool{}
	if since != "" {
		out, err := exec.CommandContext(ctx, "git", "diff", "--name-only", "--relative", since).Output()
		if err != nil {
			return nil, fmt.Errorf("-since %s: %w", since, err)
		}
		for _, name := range strings.Fields(string(out)) {
			changed[filepath.Clean(name)] = true
		}
	}
	sources := map[string]places{}
	var groups [2][]mutant
	for _, m := range all {
		p := sources[m.dir]
		if p == nil {
			var err error
			if p, err = readPlaces(m.dir); err != nil {
				return nil, err
			}
			sources[m.dir] = p
		}
		at, err := p.find(m.name, m.old)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.where(), err)
		}
		i := 0
		if changed[filepath.Clean(at.file)] {
			i = 1
		}
		groups[i] = append(groups[i], m)
	}
	var kept []mutant
	for _, g := range groups {
		sort.SliceStable(g, func(i, j int) bool { return g[i].lot(day) < g[j].lot(day) })
		kept = append(kept, g[:min(n, len(g))]...)
	}
	return kept, nil
}

// lot is the number by which a mutant is drawn on a day.
func (m *mutant) lot(day string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s\x00%s", day, m.dir, m.name, m.old, m.new)
	return h.Sum64()
}
