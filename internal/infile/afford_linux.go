package infile

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// free is how much more memory this process may have: the least of what its limits and the
// machine leave.
func free() (left int64, known bool) {
	left = math.MaxInt64
	pages := strings.Fields(system("/proc/self/statm"))
	used := func(field int) int64 {
		if field >= len(pages) {
			return 0
		}
		n, _ := strconv.ParseInt(pages[field], 10, 64)
		return n * int64(os.Getpagesize())
	}
	const address, resident, data = 0, 1, 5
	for field, limit := range map[int]int{address: syscall.RLIMIT_AS, data: syscall.RLIMIT_DATA} {
		if most, limited := limitOf(limit); limited {
			left = min(left, most-used(field))
		}
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if limit, err := strconv.ParseInt(strings.TrimSpace(system(file)), 10, 64); err == nil {
			left = min(left, limit-used(resident))
		}
	}
	if n := machine(); n > 0 {
		left = min(left, n)
	}
	return max(0, left), left < math.MaxInt64
}

// limitOf is a limit of this process, if there is one.
func limitOf(resource int) (most int64, limited bool) {
	var r syscall.Rlimit
	err := syscall.Getrlimit(resource, &r)
	return int64(r.Cur), err == nil && r.Cur < math.MaxInt64
}

// Limited says that this process has a limit of its own on memory, as ulimit -v and -d set it.
func Limited() bool {
	_, address := limitOf(syscall.RLIMIT_AS)
	_, data := limitOf(syscall.RLIMIT_DATA)
	return address || data
}

// Starved is how many processes the system has killed since its start because memory ran out, 0 if it
// does not say.
func Starved() (n int64) {
	_, rest, _ := strings.Cut(system("/proc/vmstat"), "\noom_kill ")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ = strconv.ParseInt(line, 10, 64)
	return n
}

// machine is what the machine has free, swap included; 0 if it does not say.
func machine() (free int64) {
	for line := range strings.Lines(system("/proc/meminfo")) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "MemAvailable:" && f[0] != "SwapFree:" {
			continue
		}
		kilobytes, _ := strconv.ParseInt(f[1], 10, 64)
		free += kilobytes << 10
	}
	return free
}

// system reads a small file of the kernel, empty if there is none.
func system(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var b bytes.Buffer
	_, _ = b.ReadFrom(f)
	return b.String()
}
