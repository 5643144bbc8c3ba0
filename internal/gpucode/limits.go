package main

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// limitsFile is the file that -update writes, in the module's folder.
const limitsFile = "internal/gpucode/limits.txt"

//go:embed limits.txt
var limitsText string

const limitsHead = `# What kernels may take on GPUs, as clang 15.0.6 compiles them: registers at most and waves at
# least (0 where NVIDIA's assembler gives them out), instructions at most.
# "go run ./internal/gpucode -update" writes this file: have a reason.
# kernel build registers waves size
`

// limit is a row of limits.txt.
type limit struct{ registers, waves, size int }

func (c *code) limit() limit { return limit{c.registers, c.waves, c.size} }

func (c *code) name() string { return c.kernel + " " + c.build.String() }

func writeLimits(all []code) string {
	var b strings.Builder
	b.WriteString(limitsHead)
	for _, c := range all {
		l := c.limit()
		fmt.Fprintf(&b, "%s %d %d %d\n", c.name(), l.registers, l.waves, l.size)
	}
	return b.String()
}

func readLimits(text string) (map[string]limit, error) {
	limits := map[string]limit{}
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if len(words) != 5 {
			return nil, fmt.Errorf("line %d has %d words, not 5", i+1, len(words))
		}
		var n [3]int
		for k, w := range words[2:] {
			var err error
			if n[k], err = strconv.Atoi(w); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		limits[words[0]+" "+words[1]] = limit{n[0], n[1], n[2]}
	}
	return limits, nil
}

// faults returns what is wrong, a line each.
func faults(all []code, limits map[string]limit) (found []string) {
	for _, c := range all {
		bad := func(format string, args ...any) { found = append(found, c.name()+": "+fmt.Sprintf(format, args...)) }
		if c.fused > 0 && c.kernel != "benchfma" {
			bad("%d fused multiply-adds", c.fused)
		}
		if c.flushes != "" {
			bad("flushes subnormal numbers, or leaves contraction to the assembler: %s", strings.TrimSpace(c.flushes))
		}
		if c.private > 0 {
			bad("%d bytes of private memory", c.private)
		}
		if c.spills > 0 {
			bad("%d registers spilled", c.spills)
		}
		if least := leastWaves(c.build); c.waves < least {
			bad("%d registers: %d waves, below %d", c.registers, c.waves, least)
		}
		want, ok := limits[c.name()]
		if !ok {
			bad("has no limits: -update")
			continue
		}
		got := c.limit()
		if got.registers > want.registers || got.waves < want.waves || got.size > want.size {
			bad("%+v is beyond its limits %+v", got, want)
		}
	}
	return found
}

// leastWaves is the budget of registers: so many waves must find room, so that one
// computes while another waits for memory. In double gfx900 takes 16 times as long for
// arithmetic as in float, which one wave keeps busy. Of PTX they are not known.
func leastWaves(b build) int {
	switch {
	case strings.HasPrefix(b.target, "sm_"):
		return 0
	case b == build{"gfx900", true}:
		return 1
	}
	return 2
}
