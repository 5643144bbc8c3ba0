package gpu

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"psafe/internal/infile"
	"psafe/internal/outfile"
)

// Most drivers keep what they compile, and give a program away at a price: PoCL opens one of its own
// cache in 0.03 s, compiles all in 1.3 s, and takes 8 s to hand it out. So psafe keeps a program's
// binary only if the driver was slow twice, and a driver that keeps its own is so once.
const (
	slow = 3 * time.Second // if Options.Slow says nothing else
	// keptDays is after how many days a file goes when another is written.
	keptDays = 30
	// mostKept is the longest file that is read, in bytes.
	mostKept = 64 << 20
	keptFile = ".program"
)

// keptProgram is the file of a program's binary: a SHA-256 of the binary and of what it depends on, and the
// binary, which is empty if the driver was slow once. Nothing that it holds is trusted: what was loaded is
// tested as what was compiled.
type keptProgram struct {
	// path is empty where nothing is kept; of is the SHA-256 of what the binary depends on.
	path string
	of   [sha256.Size]byte
	// noted says that the driver was slow before, slow that it is now; used that the program is of the file.
	noted, slow, used bool
}

// newKept names the file in a folder of a program for a device.
func newKept(folder string, i *Info, options, source string) keptProgram {
	if folder == "" {
		return keptProgram{}
	}
	parts := []string{i.Platform, i.platform.Version(), i.device.Vendor(), i.Name, i.Driver, i.Version, i.CVersion, i.PCI, i.UUID, options, source}
	k := keptProgram{of: sha256.Sum256(fmt.Appendf(nil, "psafe 1 %q", parts))}
	k.path = filepath.Join(folder, fmt.Sprintf("%x%s", k.of, keptFile))
	return k
}

// load returns the binary, and nil if there is none that is whole, of this program and from a folder that
// nobody but this user can enter.
func (k *keptProgram) load() []byte {
	if k.path == "" || !private(filepath.Dir(k.path)) {
		return nil
	}
	text, err := infile.ReadAll(k.path, mostKept)
	if err != nil || len(text) < sha256.Size {
		return nil
	}
	digest, binary := text[:sha256.Size], text[sha256.Size:]
	if !bytes.Equal(digest, k.digest(binary)) {
		return nil
	}
	k.noted = true
	return binary
}

func (k *keptProgram) digest(binary []byte) []byte {
	digest := sha256.Sum256(slices.Concat(k.of[:], binary))
	return digest[:]
}

// save writes the file if it can, and removes old ones.
func (k *keptProgram) save(binary []byte) {
	folder := filepath.Dir(k.path)
	if len(binary) > mostKept-sha256.Size || os.MkdirAll(folder, 0o700) != nil || !private(folder) {
		return
	}
	forget(folder, time.Now().AddDate(0, 0, -keptDays))
	// What cannot be written is compiled again.
	_ = outfile.WriteFile(k.path, outfile.Replace, slices.Concat(k.digest(binary), binary))
}

// forget removes a binary that the program was made of.
func (k *keptProgram) forget() {
	if k.used {
		os.Remove(k.path)
	}
}

// Forget removes all binaries from a folder that Options.Programs named: one of them may be why a driver crashed.
func Forget(folder string) { forget(folder, time.Now()) }

// forget removes what was written before, and what a killed program left.
func forget(folder string, before time.Time) {
	if folder == "" || !private(folder) {
		return
	}
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		info, err := e.Info()
		ours := strings.HasSuffix(e.Name(), keptFile) || strings.HasSuffix(e.Name(), ".tmp")
		if err == nil && ours && info.ModTime().Before(before) {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// private reports whether a folder is this user's, and nobody else's to enter.
func private(folder string) bool {
	info, err := os.Lstat(folder)
	return err == nil && info.IsDir() && owned(info)
}

// compile makes the program, of a binary that was kept if the driver takes one.
func (d *Device) compile(source, options string, opts Options) (err error) {
	if binary := d.kept.load(); len(binary) > 0 {
		if d.program, err = d.context.CreateProgramWithBinary(binary); err == nil {
			err = d.program.BuildProgram(nil, options)
		}
		if d.kept.used = true; err == nil {
			return nil
		}
		d.kept.forget()
		d.kept.used = false
		if err := d.program.Release(); err != nil {
			return err
		}
	}
	began := time.Now()
	if d.program, err = d.context.CreateProgramWithSource([]string{source}); err != nil {
		return err
	}
	err = d.program.BuildProgram(nil, options)
	d.kept.slow = time.Since(began) >= cmp.Or(opts.Slow, slow)
	return err
}

// keep saves the binary of a program that passed the self-test if the driver was slow twice; a driver
// that gives none away has none.
func (d *Device) keep() error {
	k := &d.kept
	if k.path == "" || k.used || !k.slow {
		return nil
	}
	var binary []byte
	if k.noted {
		os.Remove(k.path) // a driver that hangs now is not asked at the next start
		var err error
		if binary, err = drive(d, "Open", d.program.Binary); err != nil {
			return d.Lost()
		}
	}
	k.save(binary)
	return nil
}
