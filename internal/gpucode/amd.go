package main

import (
	"bufio"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var amdFused = regexp.MustCompile(`^v_(pk_)?(fma|mac|fmac|mad|fmamk|fmaak|madmk|madak)(_mix\w*|_legacy)?_f(32|64)`)

// readAMD takes apart the assembly of an AMD GPU: the code itself, what the compiler
// remarks behind it (the waves that fit), and the metadata at the end.
func readAMD(text string, b build) (all []code, err error) {
	var c *code
	meta := map[string]map[string]int{}
	item := map[string]string{}
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line, note, _ := strings.Cut(s.Text(), ";")
		words := strings.Fields(line)
		switch {
		case strings.Contains(note, "@") && strings.HasSuffix(strings.TrimSpace(line), ":"):
			all = append(all, code{kernel: strings.TrimSuffix(words[0], ":"), build: b})
			c = &all[len(all)-1]
		case strings.HasPrefix(line, "  - .") || strings.HasPrefix(line, "    ."):
			if strings.HasPrefix(line, "  - ") {
				item, words = map[string]string{}, words[1:]
			}
			if len(words) == 2 {
				item[words[0]] = words[1]
			}
			if n := item[".name:"]; n != "" {
				meta[n] = map[string]int{}
				for k, v := range item {
					meta[n][k], _ = strconv.Atoi(v)
				}
			}
		case c == nil:
		case strings.HasPrefix(note, " Occupancy: "):
			c.waves, _ = strconv.Atoi(strings.TrimPrefix(note, " Occupancy: "))
		case len(words) == 0:
		case words[0] == ".amdhsa_float_denorm_mode_32" || words[0] == ".amdhsa_float_denorm_mode_16_64":
			if words[1] != "3" {
				c.flushes = line
			}
		case words[0][0] != '.' && line[0] == '\t':
			if c.size++; amdFused.MatchString(words[0]) {
				c.fused++
			}
		}
	}
	for i := range all {
		c := &all[i]
		m, ok := meta[c.kernel]
		if !ok || c.waves == 0 {
			return nil, fmt.Errorf("no metadata or occupancy of %s", c.kernel)
		}
		c.registers, c.private, c.spills = m[".vgpr_count:"], m[".private_segment_fixed_size:"], m[".vgpr_spill_count:"]
	}
	return all, s.Err()
}
