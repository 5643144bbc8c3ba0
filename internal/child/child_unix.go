//go:build unix

package child

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// CanWork reports whether a child may have outputs of its parent.
const CanWork = true

// The descriptors of a child. What a library prints on 1 and 2 is chatter.
const (
	fdReport = 3 + iota
	fdLife
	fdStdout
	fdStderr
)

// wire connects the child: its report, what it prints, the pipe that closes with the
// parent.
func wire(cmd *exec.Cmd, o Options, report, chatter, life *os.File) {
	if o.Stdin != nil {
		cmd.Stdin = o.Stdin
	}
	cmd.Stdout, cmd.Stderr = chatter, chatter
	cmd.ExtraFiles = []*os.File{report, life}
	if o.Stdout != nil && o.Stderr != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, o.Stdout, o.Stderr)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// wired is the child's side of wire.
func wired(outputs bool) (inside *Inside, life *os.File) {
	for _, fd := range []int{fdReport, fdLife} {
		var stat syscall.Stat_t
		if err := syscall.Fstat(fd, &stat); err != nil || stat.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return nil, nil
		}
	}
	// A compiler that a driver starts must not hold the pipes open. A process in the
	// background may write to its terminal; reading from it is an error.
	signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN)
	open := func(fd int, name string) *os.File {
		syscall.CloseOnExec(fd)
		return os.NewFile(uintptr(fd), name)
	}
	inside = &Inside{Report: open(fdReport, "report")}
	if outputs {
		inside.Stdout, inside.Stderr = open(fdStdout, "/dev/stdout"), open(fdStderr, "/dev/stderr")
	}
	return inside, open(fdLife, "lifeline")
}

// killGroup kills a child's process group; without one, as after its end, it does nothing.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// killSelf ends this process and what it started.
func killSelf() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
	os.Exit(1)
}

// Suspend stops the child's group and this process, as a terminal's Ctrl-Z does, and
// lets the child go on when this process does.
func (c *Child) Suspend() {
	if os.Getpid() == 1 {
		return // nothing stops the first process of a container
	}
	// A process with several threads runs on for a moment after it has stopped itself.
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGSTOP)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-goesOn
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGCONT)
}

// Signals returns the signals that a parent passes on, and the one that suspends.
func Signals() (pass []os.Signal, suspend os.Signal) {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}, syscall.SIGTSTP
}
