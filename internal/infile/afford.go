package infile

import "fmt"

// always is what a process is taken to have, without asking the system.
const always = 64 << 20

// anywhere is more than a process can address.
const anywhere = 1 << 47

// Afford refuses what takes more bytes of memory than this process may still have, where
// the system says how much that is (Linux: the limits of the address space and of data as
// ulimit -v and -d set them, the limit of the container, and what is free). What runs out of memory while it
// reads would end without a word of what was wrong.
func Afford(bytes int64) error {
	if bytes <= always {
		return nil
	}
	if bytes > anywhere {
		return fmt.Errorf("takes %s of memory, more than a process can have; use a smaller file", gigabytes(bytes))
	}
	if free, known := free(); known && bytes > free {
		return fmt.Errorf("takes %s of memory, and this process may have %s more; use a machine or a limit with more of it, or a smaller file", gigabytes(bytes), gigabytes(free))
	}
	return nil
}

func gigabytes(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }

// Account counts memory that is taken bit by bit, and asks before it is.
type Account struct{ used, granted int64 }

// grant is how many bytes are asked for at least: more than what is never refused.
const grant = 2 * always

// Take accounts for more bytes. When those that were granted are used up it asks for as many again,
// so that half of what is free is not passed without a word. Its error is that of Afford, about what
// there is with those.
func (a *Account) Take(bytes int64) error {
	if a.used += bytes; a.used <= max(a.granted, always) {
		return nil
	}
	more := max(a.used, grant)
	if err := Afford(more); err != nil {
		return fmt.Errorf("beside %s so far, what follows %w", gigabytes(a.used), err)
	}
	a.granted = a.used + more
	return nil
}

// Reset says that what was taken is free again.
func (a *Account) Reset() { a.used = 0 }
