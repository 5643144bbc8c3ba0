package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"psafe/internal/fault"
)

// The values of --progress.
const (
	progressAuto = "auto"
	progressJSON = "json"
	progressNone = "none"
)

// progressMistaken returns an error if word is no value of --progress.
func progressMistaken(word string) error {
	if word == progressAuto || word == progressJSON || word == progressNone {
		return nil
	}
	return fmt.Errorf("--progress %.40q is none of auto, json and none", word)
}

// How often a line tells of the progress where there is no terminal.
const (
	heartbeatEvery = 30 * time.Second
	jsonEvery      = time.Second
)

// progress tells how far a run is: as a bar on a terminal, as a line now and then elsewhere,
// also where nothing has been finished since the last, or as JSON.
type progress struct {
	w     io.Writer
	word  string
	what  string // is counted
	every time.Duration

	mu          sync.Mutex
	bar         bar
	start       time.Time
	done, total int
	// pass is about which share of a pass over the network, or of drawn networks, is done that began then, and told when
	// a bar showed that.
	pass        float64
	began, told time.Time
	stop        chan struct{} // nil before the first update, or if no line is due ever
	stopped     sync.WaitGroup
}

func newProgress(w io.Writer, word string) *progress {
	p := &progress{w: w, word: word, what: "inputs", bar: bar{w: w}, every: heartbeatEvery}
	if word == progressJSON {
		p.every = jsonEvery
	}
	return p
}

// update takes in that done of total are finished, 0 if that is not known; the first call starts the clock.
func (p *progress) update(done, total int) {
	if p.word == progressNone {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.start.IsZero()
	if first {
		p.start = time.Now()
	}
	p.done, p.total = done, total
	if _, terminal := isTerminal(p.w); terminal && p.word == progressAuto {
		if total > 0 {
			p.bar.update(done, total)
		}
		return
	}
	if !first {
		return
	}
	if p.word == progressJSON {
		p.line()
	}
	p.stop = make(chan struct{})
	fault.Go(&p.stopped, func() {
		tick := time.NewTicker(p.every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.mu.Lock()
				p.line()
				p.mu.Unlock()
			case <-p.stop:
				return
			}
		}
	})
}

// longPass is from when on it is worth telling how far a pass is.
const longPass = time.Second

// inside takes in which share of a pass over the network is done.
func (p *progress) inside(share float64) {
	if p.word == progressNone {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pass = share; share == 0 {
		p.began = now
	}
	if _, terminal := isTerminal(p.w); terminal && p.word == progressAuto && p.underWay(now) && now.Sub(p.told) > longPass/2 {
		p.told = now
		p.bar.inside(p.done, p.total, share)
	}
}

// underWay reports whether a pass has been going on for long.
func (p *progress) underWay(now time.Time) bool {
	return !p.began.IsZero() && p.pass < 1 && now.Sub(p.began) >= longPass
}

// pace returns what is finished in a second, and how long the rest takes at that; ok if that can be
// told.
func pace(done, total int, elapsed time.Duration) (rate float64, left time.Duration, ok bool) {
	if done == 0 || elapsed <= 0 {
		return 0, 0, false
	}
	rate = float64(done) / elapsed.Seconds()
	seconds := float64(total-done) / rate
	return rate, time.Duration(min(seconds, 1e9) * float64(time.Second)).Round(time.Second), true
}

// paceFrom is from when on a bar shows a pace: that of the first few is none.
const paceFrom = time.Second / 4

// perSecond is a rate with so many digits, and no exponent where it is large.
func perSecond(rate float64, digits int) string {
	if rate >= 100 {
		return fmt.Sprintf("%.0f/s", rate)
	}
	return fmt.Sprintf("%.*g/s", digits, rate)
}

// line tells of the progress in a line; p.mu is held.
func (p *progress) line() {
	rate, left, ok := pace(p.done, p.total, time.Since(p.start))
	if p.word == progressJSON {
		is := struct {
			Done  int      `json:"done"`
			Total int      `json:"total"`
			Rate  *float64 `json:"rate"`
			ETA   *float64 `json:"eta_seconds"`
			Pass  *float64 `json:"pass"`
		}{Done: p.done, Total: p.total}
		if ok {
			is.Rate, is.ETA = new(math.Round(rate*1e4)/1e4), new(left.Seconds())
		}
		if p.underWay(time.Now()) {
			is.Pass = new(math.Round(p.pass*1e4) / 1e4)
		}
		text, err := json.Marshal(is)
		if err != nil {
			panic("psafe: " + err.Error())
		}
		fmt.Fprintf(p.w, "%s\n", text)
		return
	}
	pace, of := "none finished yet", fmt.Sprintf("%d of %d", p.done, p.total)
	switch {
	case p.total == 0:
		pace, of = perSecond(rate, 2), fmt.Sprint(p.done)
	case ok:
		pace = fmt.Sprintf("%s, %v left", perSecond(rate, 2), left)
	}
	if p.underWay(time.Now()) {
		pace += fmt.Sprintf("; %.1f%% of this pass", 100*p.pass)
	}
	fmt.Fprintf(p.w, "psafe: %s %s, %s\n", of, p.what, pace)
}

// clear makes room for a line; a bar comes back with the next update.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.end()
}

// end removes the bar, or says the last word in JSON.
func (p *progress) end() {
	p.mu.Lock()
	stop := p.stop
	p.mu.Unlock()
	if stop != nil {
		close(stop)
		p.stopped.Wait()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if stop != nil && p.word == progressJSON {
		p.line()
	}
	p.bar.end()
}

// bar draws a bar with rate and time left on a terminal, and nothing anywhere else.
type bar struct {
	w     io.Writer
	start time.Time
	drawn bool
}

// update shows that done of total are finished; the first call starts the clock.
func (p *bar) update(done, total int) {
	width, terminal := isTerminal(p.w)
	if !terminal {
		return
	}
	if !p.drawn {
		p.start, p.drawn = time.Now(), true
	}
	p.draw(width, fmt.Sprintf(" %d/%d", done, total), done, total)
}

// inside shows also which share of a pass over the network is done.
func (p *bar) inside(done, total int, share float64) {
	if width, terminal := isTerminal(p.w); terminal && p.drawn {
		p.draw(width, fmt.Sprintf(" %d/%d, pass %.1f%%", done, total, 100*share), done, total)
	}
}

// draw draws the bar, with rate and time left behind tail.
func (p *bar) draw(width int, tail string, done, total int) {
	elapsed := time.Since(p.start)
	if rate, left, ok := pace(done, total, elapsed); ok && elapsed >= paceFrom {
		tail += fmt.Sprintf("  %s  %v left", perSecond(rate, 3), left)
	}
	length := max(5, min(40, width-len(tail)-3))
	full := length * done / max(1, total)
	fmt.Fprintf(exactly(p.w), "\r\x1b[K[%s%s]%s", strings.Repeat("=", full), strings.Repeat(" ", length-full), tail)
}

// end removes the bar.
func (p *bar) end() {
	if p.drawn {
		p.drawn = false
		eraseBar(p.w)
	}
}

// eraseBar removes a bar that may be there.
func eraseBar(w io.Writer) {
	if _, terminal := isTerminal(w); terminal {
		fmt.Fprint(exactly(w), "\r\x1b[K")
	}
}
