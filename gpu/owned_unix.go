//go:build unix

package gpu

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether a folder is this user's and nobody else may enter it.
func owned(folder fs.FileInfo) bool {
	stat, known := folder.Sys().(*syscall.Stat_t)
	return known && int(stat.Uid) == os.Geteuid() && folder.Mode().Perm()&0o077 == 0
}
