package gpu

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"psafe/host/bound"
)

// TestHungCall: a call that never returns loses the device when it has taken long enough, less once the
// work has to end and more where there is much to do; nobody gets what it does later, and the device
// makes no call any more.
func TestHungCall(t *testing.T) {
	for _, c := range []struct {
		name     string
		patience time.Duration
		over     error
		queued   float64
		atLeast  time.Duration
		atMost   time.Duration
	}{
		{"patience", 200 * time.Millisecond, nil, 0, 200 * time.Millisecond, 30 * time.Second},
		{"the work has to end", 2 * time.Minute, errors.New("the time is up"), 0, 30 * time.Second, 0},
		{"the work may go on", time.Hour, nil, 0, time.Hour, 0},
		{"much to do", 200 * time.Millisecond, nil, 5e6, 500 * time.Millisecond, 30 * time.Second},
	} {
		d := &Device{precision: bound.Float32}
		d.driver.patience = c.patience
		d.ahead.queued = c.queued // at 1e9 a second
		d.Within(func() error { return c.over })
		release, later := make(chan struct{}), make(chan struct{})
		var after atomic.Int32
		began := time.Now()
		ended := make(chan error, 1)
		value := 0
		go func() {
			got, err := drive(d, "affine", func() (int, error) {
				<-release
				close(later)
				return 7, nil
			})
			value = got
			ended <- err
		}()
		if c.atMost == 0 { // not to be waited for
			select {
			case err := <-ended:
				t.Errorf("%s: gave up: %v", c.name, err)
			case <-time.After(300 * time.Millisecond):
			}
			close(release)
			if err := <-ended; err != nil || value != 7 {
				t.Errorf("%s: %v, %d", c.name, err, value)
			}
			continue
		}
		err := <-ended
		if took := time.Since(began); took < c.atLeast || took > c.atMost || value != 0 || !IsDeviceLost(err) || !strings.Contains(err.Error(), "did not answer in") {
			t.Errorf("%s: %v after %v, %d", c.name, err, took, value)
		}
		close(release)
		<-later
		if err := driven(d, "affine", func() error { after.Add(1); return nil }); !IsDeviceLost(err) || after.Load() != 0 {
			t.Errorf("%s: another call: %v, %d", c.name, err, after.Load())
		}
		if _, err := d.NewArray(3); !IsDeviceLost(err) || d.Lost() == nil || value != 0 {
			t.Errorf("%s: the device goes on: %v", c.name, err)
		}
		if err := d.Close(); !IsDeviceLost(err) {
			t.Errorf("%s: Close: %v", c.name, err)
		}
	}
}

// TestNeeds: what a queue needs is told by the best rate, and windows too short to tell do not count.
func TestNeeds(t *testing.T) {
	var a ahead
	at := time.Unix(0, 0)
	for _, w := range []struct {
		work int64
		took time.Duration
	}{{1e9, 100 * time.Millisecond}, {1e9, time.Microsecond}, {1e6, time.Second}} {
		a.launched(work{w.work, 0}, at)
		at = at.Add(w.took)
		a.waited(at)
	}
	a.launched(work{2e10, 0}, at)
	if got := a.needs(); got < 1900*time.Millisecond || got > 2100*time.Millisecond {
		t.Errorf("needs %v, at 1e10 a second 2 s", got)
	}
}
