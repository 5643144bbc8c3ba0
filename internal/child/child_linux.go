package child

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// dieWithParent has the kernel kill the child when the parent ends, even where the child
// does not look at its pipe any more. It means the parent's thread, and Go ends no thread
// that nobody has locked.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// starvations is how many processes the system has killed since its start because memory ran out, 0 if it
// does not say.
func starvations() (n int64) {
	text, _ := os.ReadFile("/proc/vmstat")
	_, rest, _ := strings.Cut(string(text), "\noom_kill ")
	_, _ = fmt.Sscan(rest, &n)
	return n
}
