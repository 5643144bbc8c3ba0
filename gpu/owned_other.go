//go:build !unix

package gpu

import "io/fs"

// owned is true: what is in a user's folders is that user's.
func owned(fs.FileInfo) bool { return true }
