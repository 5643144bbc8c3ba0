//go:build !unix

package child

import (
	"os"
	"os/exec"
)

// CanWork reports whether a child may have outputs of its parent.
const CanWork = false

// wire has three descriptors only: the report is the standard output, the pipe that
// closes with the parent the standard input.
func wire(cmd *exec.Cmd, _ Options, report, chatter, life *os.File) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = life, report, chatter
}

func wired(bool) (*Inside, *os.File) { return &Inside{Report: os.Stdout}, os.Stdin }

func killGroup(p *os.Process) { _ = p.Kill() }

func killSelf() { os.Exit(1) }

// Suspend is for Unix.
func (c *Child) Suspend() {}

// Signals are none: nothing is passed on to a child that has no outputs.
func Signals() (pass []os.Signal, suspend os.Signal) { return nil, nil }
