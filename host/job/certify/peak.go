package certify

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

// peakEvery is the time between two questions to the system: what it says takes as long as a record.
const peakEvery = 20 * time.Millisecond

// peak holds what it said last.
var peak struct {
	sync.Mutex
	asked time.Time
	bytes *int64
}

// peakBytes is the most memory that the process has held up to peakEvery ago, as Linux counts it, since
// its start or the last ResetPeak; nil where the system does not say.
func peakBytes() *int64 {
	peak.Lock()
	defer peak.Unlock()
	if now := time.Now(); now.Sub(peak.asked) >= peakEvery {
		peak.asked, peak.bytes = now, askPeak()
	}
	return peak.bytes
}

// askPeak asks the system.
func askPeak() *int64 {
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
	peak.Lock()
	defer peak.Unlock()
	peak.asked = time.Time{}
	debug.FreeOSMemory()
	if f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0); err == nil {
		f.WriteString("5")
		f.Close()
	}
}
