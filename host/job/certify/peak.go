package certify

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// peakBytes is the most memory that the process has held, as Linux counts it, since
// its start or the last ResetPeak; nil where the system does not say.
func peakBytes() *int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
				n <<= 10
				return &n
			}
		}
	}
	return nil
}

// ResetPeak forgets the peak so far, if the system lets it: what follows is measured
// by itself then, and with what came before otherwise.
func ResetPeak() {
	debug.FreeOSMemory()
	if f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0); err == nil {
		f.WriteString("5")
		f.Close()
	}
}
