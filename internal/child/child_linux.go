package child

import "syscall"

// dieWithParent has the kernel kill the child when the parent ends, even where the child
// does not look at its pipe any more. It means the parent's thread, and Go ends no thread
// that nobody has locked.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
