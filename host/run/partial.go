package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"psafe/internal/outfile"
)

// syncEvery is how often records are sent to the disk itself.
const syncEvery = 5 * time.Second

// partialFile is FILE.partial while a run writes it.
type partialFile struct {
	path   string // FILE
	f      *os.File
	made   os.FileInfo
	synced time.Time
	// records is how many there are, those of earlier runs too.
	records int
	*outfile.Unfinished
}

func (p *partialFile) name() string { return p.path + PartialSuffix }

// openPartial makes FILE.partial with the lines of earlier runs.
func openPartial(path string, old *earlier) (*partialFile, error) {
	p := &partialFile{path: path, synced: time.Now(), records: len(old.records)}
	create := p.create
	if old.partial {
		create = func() error { return p.replace(old.lines) }
	}
	p.Unfinished = outfile.Begin(p.abandon)
	p.Lock()
	err := create()
	p.Unlock()
	if err != nil {
		p.End()
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: has just been made by another run: give another --out", p.name())
	}
	if err != nil {
		return nil, fmt.Errorf("--out %s: cannot be written: %w", path, outfile.Reason(err))
	}
	return p, nil
}

// create makes the file, which must not exist.
func (p *partialFile) create() (err error) {
	if p.f, err = os.OpenFile(p.name(), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666); err != nil {
		return err
	}
	p.made, err = p.f.Stat()
	return err
}

// replace puts a file of these lines in the place of the one that exists.
func (p *partialFile) replace(lines []byte) error {
	f, err := outfile.Create(p.name())
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(lines); err != nil {
		return err
	}
	if p.made, err = f.Stat(); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	if p.f, err = os.OpenFile(p.name(), os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	// What was opened by name may be another run's by now.
	if info, err := p.f.Stat(); err != nil || !os.SameFile(info, p.made) {
		p.f.Close()
		return errors.Join(err, p.lost())
	}
	return nil
}

func (p *partialFile) lost() error {
	return fmt.Errorf("%s was removed, or taken over by another run with --resume", p.name())
}

// owned says whether the name is still that of the file that this run has made.
func (p *partialFile) owned() error {
	if info, err := os.Stat(p.name()); err != nil || !os.SameFile(info, p.made) {
		return p.lost()
	}
	return nil
}

// Write appends a record in one step.
func (p *partialFile) Write(line []byte) (int, error) {
	p.Lock()
	defer p.Unlock()
	if err := p.owned(); err != nil {
		return 0, err
	}
	n, err := p.f.Write(line)
	if err != nil {
		return n, err
	}
	p.records++
	if now := time.Now(); now.Sub(p.synced) >= syncEvery {
		p.synced, err = now, p.f.Sync()
	}
	return n, err
}

// commit gives the finished file its name.
func (p *partialFile) commit() error {
	defer p.End()
	p.Lock()
	defer p.Unlock()
	err := p.owned()
	if err == nil {
		err = outfile.Settle(p.f, p.path)
	} else {
		p.f.Close()
	}
	if err != nil {
		return fmt.Errorf("--out %s: cannot be written: %w", p.path, outfile.Reason(err))
	}
	return nil
}

// leave ends a run that err stopped: what is finished stays, and the error that it
// returns says where. An empty file goes.
func (p *partialFile) leave(err error, total int) error {
	defer p.End()
	p.Lock()
	defer p.Unlock()
	syncErr := p.f.Sync()
	if errors.Is(syncErr, fs.ErrClosed) {
		syncErr = nil // commit has done it
	}
	p.f.Close()
	if p.owned() != nil {
		return err
	}
	if p.records == 0 {
		os.Remove(p.name())
		return err
	}
	where := fmt.Sprintf("%d of %d records are in %s", p.records, total, p.name())
	if syncErr != nil {
		where += fmt.Sprintf(" (perhaps not on the disk yet: %v)", outfile.Reason(syncErr))
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &Interrupted{": " + where}
	case errors.Is(err, errTotal):
		return &OutOfTime{": " + where + ": add --resume to go on from there"}
	}
	return fmt.Errorf("%w: %s: add --resume to go on from there", err, where)
}

// abandon is leave for a program that ends now.
func (p *partialFile) abandon() string {
	switch {
	case p.made == nil || p.owned() != nil:
		return ""
	case p.records == 0:
		os.Remove(p.name())
		return ""
	}
	p.f.Sync()
	return fmt.Sprintf("%d finished records are in %s", p.records, p.name())
}

// settle gives FILE.partial its name where only that was left to do.
func (old *earlier) settle(path string) error {
	p, err := openPartial(path, old)
	if err != nil {
		return err
	}
	if err := p.commit(); err != nil {
		return p.leave(err, len(old.records))
	}
	return nil
}
