package main

import (
	"bufio"
	"regexp"
	"strconv"
	"strings"
)

var (
	ptxFused   = regexp.MustCompile(`^(fma|mad)\..*f(32|64)$`)
	ptxUnfixed = regexp.MustCompile(`^(add|sub|mul)\.f(32|64)$`)
	ptxEntry   = regexp.MustCompile(`\.entry (\w+)\(`)
	ptxLocal   = regexp.MustCompile(`^\.local .*\[(\d+)\];`)
)

// readPTX takes PTX apart. NVIDIA's assembler, which gives registers out, is not there.
func readPTX(text string, b build) (all []code, err error) {
	var c *code
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line, _, _ := strings.Cut(s.Text(), "//")
		words := strings.Fields(line)
		switch m := ptxEntry.FindStringSubmatch(line); {
		case m != nil:
			all = append(all, code{kernel: m[1], build: b})
			c = &all[len(all)-1]
		case c == nil || len(words) == 0:
		case line[0] == '}':
			c = nil
		case words[0][0] == '.':
			if m := ptxLocal.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				n, _ := strconv.Atoi(m[1])
				c.private += n
			}
		case line[0] == '\t':
			if words[0][0] == '@' { // a predicate
				words = words[1:]
			}
			name := words[0]
			if c.size++; ptxFused.MatchString(name) {
				c.fused++
			}
			if strings.Contains(name, ".ftz") || ptxUnfixed.MatchString(name) {
				c.flushes = name
			}
		}
	}
	return all, s.Err()
}
