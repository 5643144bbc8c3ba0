//go:build unix && !linux

package child

import "syscall"

// dieWithParent: the pipe alone does it here.
func dieWithParent(*syscall.SysProcAttr) {}
