package main

import (
	"cmp"
	"fmt"
	"slices"
)

// block is a run of instructions that is left at its end only.
type block struct {
	instrs []instr
	next   []int
}

// kind names what an instruction is for: indices, moves, branches and waiting where it is none of
// these.
type kind int

const (
	// float: + - * min max, comparing and selecting floating-point numbers.
	float kind = iota + 1
	// memory: loads and stores.
	memory
)

// instr is an instruction: its name, what it is for, and where it may go on.
type instr struct {
	name string
	kind kind
	// branch is the label that it may go to, or ""; ends says that what follows is
	// not reached from here.
	branch string
	ends   bool
	// defs and uses are registers, for PTX only.
	defs, uses []string
}

// blocks cuts instructions, of which some have labels before them, into basic blocks.
func blocks(list []instr, labels map[int][]string) []block {
	var all []block
	at := map[string]int{}
	for i, in := range list {
		_, labelled := labels[i]
		if i == 0 || labelled || list[i-1].branch != "" || list[i-1].ends {
			all = append(all, block{})
		}
		for _, l := range labels[i] {
			at[l] = len(all) - 1
		}
		b := &all[len(all)-1]
		b.instrs = append(b.instrs, in)
	}
	for i := range all {
		last := all[i].instrs[len(all[i].instrs)-1]
		if j, ok := at[last.branch]; ok && last.branch != "" {
			all[i].next = append(all[i].next, j)
		}
		if !last.ends && i+1 < len(all) {
			all[i].next = append(all[i].next, i+1)
		}
	}
	return all
}

// loop counts the instructions of an innermost loop, all of its branches together.
type loop struct{ float, memory, other int }

func (l loop) String() string { return fmt.Sprintf("%d+%d+%d", l.float, l.memory, l.other) }
func (l loop) all() int       { return l.float + l.memory + l.other }

// innerLoops are the innermost natural loops that compute with floating-point numbers,
// those with the most of it first.
func innerLoops(all []block) (list []loop) {
	bodies := map[int]map[int]bool{} // by header
	dom := dominators(all)
	for i, b := range all {
		for _, h := range b.next {
			if dom[i][h] {
				if bodies[h] == nil {
					bodies[h] = map[int]bool{h: true}
				}
				reach(all, bodies[h], i)
			}
		}
	}
	for h, body := range bodies {
		inner := true
		for other := range bodies {
			inner = inner && (other == h || !body[other])
		}
		var l loop
		for i := range body {
			for _, in := range all[i].instrs {
				switch in.kind {
				case float:
					l.float++
				case memory:
					l.memory++
				default:
					l.other++
				}
			}
		}
		if inner && l.float > 0 {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b loop) int {
		return cmp.Or(-cmp.Compare(a.float, b.float), cmp.Compare(a.memory, b.memory), cmp.Compare(a.other, b.other))
	})
	return list
}

// reach adds to a loop's body what comes to block i without passing its header.
func reach(all []block, body map[int]bool, i int) {
	if body[i] {
		return
	}
	body[i] = true
	for k, b := range all {
		if slices.Contains(b.next, i) {
			reach(all, body, k)
		}
	}
}

// dominators returns for each block which blocks every way to it passes. Blocks that are not
// reached dominate nothing.
func dominators(all []block) []map[int]bool {
	before := make([][]int, len(all))
	for i, b := range all {
		for _, j := range b.next {
			before[j] = append(before[j], i)
		}
	}
	dom := make([]map[int]bool, len(all))
	if len(all) > 0 {
		dom[0] = map[int]bool{0: true}
	}
	for changed := true; changed; {
		changed = false
		for i := 1; i < len(all); i++ {
			var common map[int]bool
			for _, k := range before[i] {
				if dom[k] == nil {
					continue
				}
				if common == nil {
					common = map[int]bool{}
					for d := range dom[k] {
						common[d] = true
					}
					continue
				}
				for d := range common {
					if !dom[k][d] {
						delete(common, d)
					}
				}
			}
			if common == nil {
				continue
			}
			common[i] = true
			if dom[i] == nil || len(common) != len(dom[i]) {
				dom[i], changed = common, true
			}
		}
	}
	return dom
}
