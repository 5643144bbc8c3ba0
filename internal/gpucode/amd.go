package main

import (
	"bufio"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	amdFloat  = regexp.MustCompile(`^v_(pk_)?(add|sub|subrev|mul|max3?|min3?|fma|mac|fmac|mad)(_legacy)?_f(32|64)|^v_(cmpx?_\w+_f(32|64)|cndmask_b32)`)
	amdFused  = regexp.MustCompile(`^v_(pk_)?(fma|mac|fmac|mad|fmamk|fmaak|madmk|madak)(_mix\w*|_legacy)?_f(32|64)`)
	amdMemory = regexp.MustCompile(`^(global|flat|buffer|scratch|ds|s_load|s_buffer)_`)
)

// readAMD takes apart the assembly of an AMD GPU: the code itself, what the compiler
// remarks behind it (the waves that fit), and the metadata at the end.
func readAMD(text string, b build) (all []code, err error) {
	var c *code
	var list []instr
	var labels map[int][]string
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
			c, list, labels = &all[len(all)-1], nil, map[int][]string{}
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
			basic := blocks(list, labels)
			c.size, c.loops = len(list), innerLoops(basic)
		case len(words) == 0:
		case strings.HasSuffix(words[0], ":"):
			labels[len(list)] = append(labels[len(list)], strings.TrimSuffix(words[0], ":"))
		case words[0] == ".amdhsa_float_denorm_mode_32" || words[0] == ".amdhsa_float_denorm_mode_16_64":
			if words[1] != "3" {
				c.flushes = line
			}
		case words[0][0] != '.' && line[0] == '\t':
			in := amdInstr(words)
			if amdFused.MatchString(in.name) {
				c.fused++
			}
			list = append(list, in)
		}
	}
	for i := range all {
		c := &all[i]
		m, ok := meta[c.kernel]
		if !ok || c.waves == 0 {
			return nil, fmt.Errorf("no metadata or occupancy of %s", c.kernel)
		}
		c.registers, c.scalar = m[".vgpr_count:"], m[".sgpr_count:"]
		c.local, c.private = m[".group_segment_fixed_size:"], m[".private_segment_fixed_size:"]
		c.spills = m[".vgpr_spill_count:"]
	}
	return all, s.Err()
}

func amdInstr(words []string) instr {
	in := instr{name: words[0]}
	switch {
	case amdFloat.MatchString(in.name):
		in.kind = float
	case amdMemory.MatchString(in.name):
		in.kind = memory
	case strings.HasPrefix(in.name, "s_cbranch"):
		in.branch = words[1]
	case in.name == "s_branch":
		in.branch, in.ends = words[1], true
	case in.name == "s_endpgm" || in.name == "s_setpc_b64":
		in.ends = true
	}
	return in
}
