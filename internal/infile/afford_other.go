//go:build !linux

package infile

// free is not known here.
func free() (bytes int64, known bool) { return 0, false }

// Limited is not known here.
func Limited() bool { return false }

// Starved is not known here.
func Starved() int64 { return 0 }
