//go:build amd64 || arm64

package fpcontrol

import (
	"runtime"
	"strings"
	"testing"
)

// modes are words and what they make of some results.
var modes = append([]mode{
	{Default, "", 1, above1, 0x1p-1023, 0x1p-74},
	{upward, "rounds upward", above1, above1, 0x1p-1023, 0x1p-74},
	{downward, "rounds downward", 1, 1, 0x1p-1023, 0x1p-74},
	{towardZero, "rounds toward zero", 1, 1, 0x1p-1023, 0x1p-74},
}, flushing...)

type mode struct {
	word Word
	says string
	// up, down, out and in are 1 + 2^-60, 1 + 2^-52 - 2^-60, the least normal number
	// times 1/2 and the least number of all times 2^1000.
	up, down, out, in float64
}

const above1 = 1 + 0x1p-52

// Variables, so that no compiler computes with them.
var one, aboveOne, tiny, leastNormal, least = 1.0, above1, 0x1p-60, 0x1p-1022, 0x1p-1074

// TestWord: every word that is set is read again, does what it says, and is gone when
// Default is set.
func TestWord(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if w := Get(); w != Default {
		t.Fatalf("a new process has %v", w)
	}
	for _, m := range modes {
		Set(m.word)
		got, up, down, out, in := Get(), one+tiny, aboveOne-tiny, leastNormal*(one/2), least*(one*0x1p1000)
		Set(Default)
		if got != m.word || Get() != Default {
			t.Errorf("%v: got %v, and %v after it", m.word, got, Get())
		}
		if !strings.Contains(m.word.String(), m.says) || (m.says == "") == strings.Contains(m.word.String(), ", ") {
			t.Errorf("%v does not say that it %s", m.word, m.says)
		}
		if up != m.up || down != m.down || out != m.out || in != m.in {
			t.Errorf("%v: got %x, %x, %x, %x, want %x, %x, %x, %x", m.word, up, down, out, in, m.up, m.down, m.out, m.in)
		}
	}
}

// TestErr: a Check with a changed word is remembered, whatever thread asks later.
func TestErr(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer found.Store(0)
	for _, m := range modes {
		found.Store(0)
		Set(m.word)
		Check()
		Set(Default)
		ended := make(chan error)
		go func() { ended <- Err() }()
		err := <-ended
		if m.word == Default {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), m.word.String()) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", m.word, err)
		}
	}
}

// BenchmarkCheck measures what a loop pays for it.
func BenchmarkCheck(b *testing.B) {
	for b.Loop() {
		Check()
	}
}
