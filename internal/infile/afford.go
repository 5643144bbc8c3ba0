package infile

import "fmt"

// always is what a process is taken to have, without asking the system.
const always = 64 << 20

// Afford refuses what takes more bytes of memory than this process may still have, where
// the system says how much that is (Linux: the limit of the address space as ulimit -v
// sets it, the limit of the container, and what is free). What runs out of memory while it
// reads would end without a word of what was wrong.
func Afford(bytes int64) error {
	if bytes <= always {
		return nil
	}
	if free, known := free(); known && bytes > free {
		return fmt.Errorf("takes %s of memory, and this process may have %s more; use a machine or a limit with more of it, or a smaller file", gigabytes(bytes), gigabytes(free))
	}
	return nil
}

func gigabytes(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }
