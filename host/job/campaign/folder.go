package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/infile"
)

// Limits of the files in a folder.
const (
	mostManifestBytes  = 1 << 29
	mostManifestValues = 1 << 24
	// mostTasks is what the names of attempts have digits for.
	mostTasks = 999_999_999
)

// Folder is a campaign's folder.
type Folder struct {
	// Dir is an absolute path without symbolic links.
	Dir string
	Manifest
}

// noCampaign is the error of a folder without a campaign, an fs.ErrNotExist.
type noCampaign struct{ dir, why string }

func (e *noCampaign) Error() string { return e.dir + ": " + e.why + ": name that of psafe plan --out" }
func (e *noCampaign) Unwrap() error { return fs.ErrNotExist }

// Open reads the manifest in a folder. Its errors name the file and what to do; where no
// manifest is, it is an fs.ErrNotExist.
func Open(dir string) (*Folder, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &noCampaign{dir, "there is no such folder"}
	} else if err != nil {
		return nil, fmt.Errorf("%s: cannot be a folder: %w: name that of psafe plan --out", dir, reason(err))
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: is a file and no folder: name that of psafe plan --out", dir)
	}
	path := filepath.Join(dir, ManifestName)
	text, err := infile.ReadAll(path, mostManifestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &noCampaign{dir, "is a folder, and no campaign's: it has no " + ManifestName}
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f := &Folder{Dir: abs}
	if err := f.Manifest.read(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// reason is err without the path, which the caller's message has.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// read reads a manifest and checks that it says what one must say.
func (m *Manifest) read(text []byte) error {
	const again = "plan the campaign again, into another folder"
	if line, err := infile.CheckJSON(text, 10, mostManifestValues); err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	// Another format may have other fields.
	var format struct{ Format int }
	if err := json.Unmarshal(text, &format); err != nil {
		return fmt.Errorf("is no manifest of a campaign: %w: %s", err, again)
	}
	if format.Format != Format {
		return fmt.Errorf("has format %d, this psafe reads %d: use the psafe that planned it, or %s", format.Format, Format, again)
	}
	if err := json.Unmarshal(text, m); err != nil {
		return fmt.Errorf("is no manifest of a campaign: %w: %s", err, again)
	}
	first := 0
	for i, j := range m.Jobs {
		m.Jobs[i].Args = inWords(j.Args, record.Today)
		if j.First != first || j.Tasks < 1 || j.Tasks > mostTasks-first {
			return fmt.Errorf("job %d has tasks from %d on, %d of them, and the jobs before it %d: %s", i, j.First, j.Tasks, first, again)
		}
		first += j.Tasks
	}
	if m.Tasks != first || first == 0 || !isHex(m.Campaign, 8) || !isHex(m.TasksSHA256, sha256.Size) {
		return fmt.Errorf("has %d tasks in its jobs and says %d, campaign %.20q and digest %.70q: %s", first, m.Tasks, m.Campaign, m.TasksSHA256, again)
	}
	return nil
}

// isHex reports whether text are so many bytes in small hexadecimal digits.
func isHex(text string, bytes int) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == bytes && hex.EncodeToString(b) == text
}

// BaseDir is the folder that relative paths in the flags of jobs start from.
func (f *Folder) BaseDir() string {
	base := filepath.FromSlash(f.Base)
	if filepath.IsAbs(base) {
		return base
	}
	return filepath.Join(f.Dir, base)
}

// reads are the files and folders that jobs read, none of which a result may replace.
func (f *Folder) reads() []string {
	var list []string
	known := map[string]bool{}
	for _, job := range f.Jobs {
		for _, file := range job.Files {
			if known[file.Path] {
				continue
			}
			known[file.Path] = true
			for _, path := range property.FilesOf(file.Path) {
				if !filepath.IsAbs(path) {
					path = filepath.Join(f.BaseDir(), path)
				}
				list = append(list, path)
			}
		}
	}
	return list
}

// JobOf is the number of the job that a task belongs to.
func (m *Manifest) JobOf(task int) int {
	return sort.Search(len(m.Jobs), func(i int) bool { return m.Jobs[i].First > task }) - 1
}
