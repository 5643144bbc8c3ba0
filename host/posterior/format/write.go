package format

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"psafe/host/posterior"
)

// WriteFile writes p to path: as WriteNPZ does if path ends in .npz, as
// WriteSafetensors does if it ends in .safetensors. A reader sees the old file or
// the whole new one, never a part: the bytes go to a temporary file in the same
// directory, which then takes the name. Errors are one line and begin with path.
func WriteFile(path string, p *posterior.Posterior) error {
	var write func(io.Writer, *posterior.Posterior) error
	switch filepath.Ext(path) {
	case ".npz":
		write = WriteNPZ
	case ".safetensors":
		write = WriteSafetensors
	default:
		return fmt.Errorf("%s: name the file .npz or .safetensors", path)
	}
	if err := replaceFile(path, func(w io.Writer) error { return write(w, p) }); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// replaceFile gives path the content that write writes, or leaves it as it is.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return bare(err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return bare(err)
	}
	// CreateTemp makes files that only the owner can read; a posterior is an
	// ordinary file.
	if err := f.Chmod(0o644); err != nil {
		return bare(err)
	}
	if err := f.Sync(); err != nil {
		return bare(err)
	}
	if err := f.Close(); err != nil {
		return bare(err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		if link, ok := err.(*os.LinkError); ok {
			return link.Err
		}
		return err
	}
	return nil
}
