//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a process the first of a group, and signalGroup sends it and all that it
// has started a signal, as a terminal does.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}

func signalGroup(cmd *exec.Cmd, s syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, s) }
