package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// The advisory task: two aeroplanes meet; four numbers say how, and one of nine
// advisories says what our pilot is to do about it. It has the shape of an
// airborne collision advisory system and is none: the rule below was made up.
//
// The inputs, each from -0.6 to 0.6, are kept in thousandths:
//
//	height   of the intruder above us; below 0 it is under us
//	own      our climb rate
//	intruder the intruder's climb rate
//	time     to the closest approach; -600 is now, 600 is far off
//
// The classes from 1 on come in pairs, of which the odd one goes down. Turned
// upside down (height, own and intruder negated) an encounter gets the other
// advisory of the pair; clear of conflict stays what it is.
const (
	clearOfConflict   = iota
	descend           // at 1500 ft/min
	climb             // at 1500 ft/min
	doNotClimb        //
	doNotDescend      //
	strengthenDescend // to at least 1500 ft/min
	strengthenClimb   // to at least 1500 ft/min
	descendFast       // at 2500 ft/min
	climbFast         // at 2500 ft/min
)

// advisory is the rule. The miss is how far above us the intruder will be at the
// closest approach: its height, and half of the relative climb rate times the
// time left (0 to 1: time + 0.6 over 1.2). If it will pass above us, we are to go
// down; the first line that fits says how. Below us, the same upside down.
//
//	miss over 0.45, or over 0.3 at a time over 0.3   clear of conflict
//	miss over 0.3                                    do not climb
//	time over -0.36                                  descend
//	going down already                               strengthen the descent
//	not yet going down                               descend fast
func advisory(height, own, intruder, time int) int {
	miss := 2400*height + (intruder-own)*(time+600) // 1 is 2,400,000
	if miss < 0 || miss == 0 && height < 0 {
		return mirrored(advisoryDown(-miss, -own, time))
	}
	return advisoryDown(miss, own, time)
}

// advisoryDown is advisory for an intruder that will pass above us.
func advisoryDown(miss, own, time int) int {
	switch {
	case miss > 450*2400, miss > 300*2400 && time > 300:
		return clearOfConflict
	case miss > 300*2400:
		return doNotClimb
	case time > -360:
		return descend
	case own < 0:
		return strengthenDescend
	}
	return descendFast
}

// mirrored is the other advisory of the pair.
func mirrored(class int) int {
	switch {
	case class == clearOfConflict:
		return class
	case class%2 == 1:
		return class + 1
	}
	return class - 1
}

// writeAdvisory writes n random encounters and their advisories as CSV:
// height,own,intruder,time,class.
func writeAdvisory(dir, prefix string, n int, stream uint64) error {
	rng := rand.New(rand.NewPCG(20240302, stream))
	var b strings.Builder
	for range n {
		var x [4]int
		for k := range x {
			x[k] = rng.IntN(1201) - 600
			b.WriteString(thousandths(x[k]) + ",")
		}
		fmt.Fprintln(&b, advisory(x[0], x[1], x[2], x[3]))
	}
	return os.WriteFile(filepath.Join(dir, prefix+".csv"), []byte(b.String()), 0o644)
}

// thousandths is n/1000 as a decimal, for n between -999 and 999.
func thousandths(n int) string {
	if n < 0 {
		return fmt.Sprintf("-0.%03d", -n)
	}
	return fmt.Sprintf("0.%03d", n)
}
