package main

import (
	"bufio"
	"regexp"
	"strconv"
	"strings"
)

var (
	ptxFloat    = regexp.MustCompile(`^(add|sub|mul|fma|mad|min|max|neg|abs|setp|selp|div)\..*f(32|64)$`)
	ptxFused    = regexp.MustCompile(`^(fma|mad)\..*f(32|64)$`)
	ptxUnfixed  = regexp.MustCompile(`^(add|sub|mul)\.f(32|64)$`)
	ptxRegister = regexp.MustCompile(`%[a-z]+[0-9]+\b`)
	ptxEntry    = regexp.MustCompile(`\.entry (\w+)\(`)
	ptxArray    = regexp.MustCompile(`^\s*\.(local|shared) .*\[(\d+)\];`)
)

// ptxRegisters is the file of registers of a quarter of a multiprocessor, and
// ptxMost what a work-item can have.
const (
	ptxRegisters = 16384
	ptxMost      = 255
)

// readPTX takes PTX apart. NVIDIA's assembler, which gives the registers out, is not
// there; instead registers counts those that are live at the same time where the most
// are, in this order of instructions, and waves what follows. Arguments and constants
// do not count: instructions read them where they are.
func readPTX(text string, b build) (all []code, err error) {
	var c *code
	var list []instr
	var labels map[int][]string
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line, _, _ := strings.Cut(s.Text(), "//")
		trimmed := strings.TrimSpace(line)
		switch m := ptxEntry.FindStringSubmatch(line); {
		case m != nil:
			all = append(all, code{kernel: m[1], build: b})
			c, list, labels = &all[len(all)-1], nil, map[int][]string{}
		case c == nil || trimmed == "":
		case line[0] == '}':
			basic := blocks(list, labels)
			c.size, c.loops = len(list), innerLoops(basic)
			c.registers = liveMost(basic)
			c.waves = min(ptxRegisters/(32*max(up(c.registers, 8)*8, 32)), 16)
			c = nil
		case strings.HasPrefix(trimmed, "."):
			if m := ptxArray.FindStringSubmatch(line); m != nil {
				n, _ := strconv.Atoi(m[2])
				if m[1] == "local" {
					c.private += n
				} else {
					c.local += n
				}
			}
		case strings.HasPrefix(trimmed, "$") && strings.HasSuffix(trimmed, ":"):
			labels[len(list)] = append(labels[len(list)], strings.TrimSuffix(trimmed, ":"))
		case line[0] == '\t':
			in := ptxInstr(trimmed)
			if ptxFused.MatchString(in.name) {
				c.fused++
			}
			if strings.Contains(in.name, ".ftz") || ptxUnfixed.MatchString(in.name) {
				c.flushes = in.name
			}
			list = append(list, in)
		}
	}
	return all, s.Err()
}

func up(a, b int) int { return (a + b - 1) / b }

func ptxInstr(text string) instr {
	text = strings.TrimSuffix(text, ";")
	var in instr
	if strings.HasPrefix(text, "@") {
		guard, rest, _ := strings.Cut(text, " ")
		in.uses, text = ptxRegister.FindAllString(guard, -1), strings.TrimSpace(rest)
	}
	name, operands, _ := strings.Cut(text, "\t")
	name = strings.TrimSpace(name)
	if n, rest, ok := strings.Cut(name, " "); ok {
		name, operands = n, rest+operands
	}
	in.name = name
	operation, _, _ := strings.Cut(name, ".")
	switch operation {
	case "bra":
		in.branch, in.ends = strings.TrimSpace(operands), len(in.uses) == 0
		return in
	case "ret", "exit":
		in.ends = len(in.uses) == 0
		return in
	case "ld", "st":
		if !strings.HasPrefix(name, "ld.param") {
			in.kind = memory
		}
	default:
		if ptxFloat.MatchString(name) {
			in.kind = float
		}
	}
	to, from, _ := strings.Cut(operands, ",")
	if strings.HasPrefix(strings.TrimSpace(operands), "{") { // a vector
		to, from, _ = strings.Cut(operands, "}")
	}
	if operation == "st" || operation == "bar" {
		from = operands
	} else {
		in.defs = ptxRegister.FindAllString(to, -1)
	}
	in.uses = append(in.uses, ptxRegister.FindAllString(from, -1)...)
	return in
}

// width is the number of 32-bit registers that one of PTX takes. Predicates have a
// file of their own.
func width(register string) int {
	switch {
	case strings.HasPrefix(register, "%p"):
		return 0
	case strings.HasPrefix(register, "%rd"), strings.HasPrefix(register, "%fd"):
		return 2
	}
	return 1
}

// free are the registers that hold an argument or a constant and nothing else.
func free(all []block) map[string]bool {
	is := map[string]bool{}
	for _, b := range all {
		for _, in := range b.instrs {
			for _, r := range in.defs {
				_, again := is[r]
				constant := strings.HasPrefix(in.name, "ld.param") || strings.HasPrefix(in.name, "mov.") && len(in.uses) == 0
				is[r] = constant && !again
			}
		}
	}
	return is
}

// liveMost is the largest number of 32-bit registers whose values are needed later.
func liveMost(all []block) int {
	free := free(all)
	in := make([]map[string]bool, len(all)) // live where a block begins
	most := 0
	for changed := true; changed; {
		changed, most = false, 0
		for i := len(all) - 1; i >= 0; i-- {
			live, size := map[string]bool{}, 0
			add := func(r string) {
				if !live[r] && !free[r] {
					live[r] = true
					size += width(r)
				}
			}
			for _, j := range all[i].next {
				for r := range in[j] {
					add(r)
				}
			}
			for k := len(all[i].instrs) - 1; k >= 0; k-- {
				most = max(most, size)
				for _, r := range all[i].instrs[k].defs {
					if live[r] {
						delete(live, r)
						size -= width(r)
					}
				}
				for _, r := range all[i].instrs[k].uses {
					add(r)
				}
			}
			most = max(most, size)
			if len(live) != len(in[i]) {
				in[i], changed = live, true
			}
		}
	}
	return most
}
