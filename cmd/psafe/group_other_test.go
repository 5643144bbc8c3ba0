//go:build !unix

package main

import (
	"os/exec"
	"syscall"
)

var ownGroup *syscall.SysProcAttr

func signalGroup(cmd *exec.Cmd, s syscall.Signal) error { return cmd.Process.Signal(s) }
