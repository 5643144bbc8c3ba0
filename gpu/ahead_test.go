package gpu

import (
	"testing"
	"time"
)

// TestAhead: whatever the rate of a device, and where it changes, the queue is waited for before it
// holds much more than mostAhead, and not much more often.
func TestAhead(t *testing.T) {
	var a ahead
	now, device := time.Unix(0, 0), time.Unix(0, 0) // the clock, and until when the device has work
	for _, rate := range []float64{1e6, 1e11, 1e9, 3e7, 1e12} {
		waits, most := 0, time.Duration(0)
		begin := now
		for n := 0; now.Sub(begin) < 20*time.Second; n++ {
			w := work{int64(rate / 1e4), int64(rate / 1e4)}
			now = now.Add(time.Microsecond) // the host is fast
			if device.Before(now) {
				device = now
			}
			device = device.Add(200 * time.Microsecond)
			if late := device.Sub(now); n > 100 && waits > 1 {
				most = max(most, late)
			}
			if a.launched(w, now); a.due() {
				waits++
				now = device
				a.waited(now)
			}
		}
		if most > mostAhead*3/2 || waits > 120 && rate != 1e9 && waits > 220 {
			t.Errorf("%.0g/s: %v ahead, %d waits in 20 s", rate, most, waits)
		}
	}
}
