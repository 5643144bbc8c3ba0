package outfile

import "sync"

// Unfinished is a file that is being written, for Abandon. Whoever writes the file holds the
// lock while a step of it must not be torn.
type Unfinished struct {
	sync.Mutex
	abandon func(reason error) string
}

// unfinished holds those that have begun and not ended.
var unfinished = struct {
	sync.Mutex
	all map[*Unfinished]bool
}{all: map[*Unfinished]bool{}}

// Begin records that a file is being written. abandon does what is to be done if the program has to
// end now, for a reason, and returns what its user should know, or "".
func Begin(abandon func(reason error) string) *Unfinished {
	u := &Unfinished{abandon: abandon}
	unfinished.Lock()
	defer unfinished.Unlock()
	unfinished.all[u] = true
	return u
}

// End records that the file has its place, or is gone.
func (u *Unfinished) End() {
	unfinished.Lock()
	defer unfinished.Unlock()
	delete(unfinished.all, u)
}

// Abandon is for a program that ends now, whatever its goroutines are doing: temporary files
// go, and the lines that it returns say where finished work is. No file can be begun, put in
// its place or written by steps after it: whoever tries waits for the end of the program.
func Abandon(reason error) []string {
	unfinished.Lock()
	var lines []string
	for u := range unfinished.all {
		u.Lock()
		if line := u.abandon(reason); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
