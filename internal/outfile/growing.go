package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// PartialSuffix is added to the name of a file of results that is not complete.
const PartialSuffix = ".partial"

// SyncEvery is how often the lines of a growing file are sent to the disk itself.
const SyncEvery = 5 * time.Second

// Growing is FILE.partial while a run writes it, line by line, until it becomes FILE. A line
// that was written survives the process, however that ends; a loss of power it survives once
// it is on the disk. Nobody writes into a file of another: before each line and before the
// renaming the name must still be that of the file that was made here.
type Growing struct {
	path   string // FILE
	old    Old    // what Commit does with a FILE that is there
	lost   string // what may have become of FILE.partial, for messages
	f      *os.File
	made   os.FileInfo
	synced time.Time
	lines  int
	*Unfinished
}

// Grow makes FILE.partial, which must not exist: the error is fs.ErrExist if it does. lost are
// the words for what else than being removed may happen to it, such as "taken over by another
// run". old is for Commit; nothing looks at FILE before.
func Grow(path string, old Old, lost string) (*Growing, error) {
	return begin(path, old, lost, 0, (*Growing).create)
}

// GrowOn puts a file of count lines, which lines writes, in the place of FILE.partial, and goes on
// with it.
func GrowOn(path string, old Old, lost string, count int, lines func(io.Writer) error) (*Growing, error) {
	return begin(path, old, lost, count, func(g *Growing) error { return g.replace(lines) })
}

func begin(path string, old Old, lost string, lines int, create func(*Growing) error) (*Growing, error) {
	g := &Growing{path: path, old: old, lost: lost, synced: time.Now(), lines: lines}
	g.Unfinished = Begin(g.abandon)
	g.Lock()
	err := create(g)
	g.Unlock()
	if err != nil {
		g.End()
		return nil, err
	}
	return g, nil
}

// Name is the name that the file has while it grows.
func (g *Growing) Name() string { return g.path + PartialSuffix }

// Lines returns how many there are, with those that it began with.
func (g *Growing) Lines() int { return g.lines }

// create makes the file, which must not exist.
func (g *Growing) create() (err error) {
	if g.f, err = os.OpenFile(g.Name(), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666); err != nil {
		return err
	}
	g.made, err = g.f.Stat()
	return err
}

// replace puts a file of these lines in the place of the one that exists.
func (g *Growing) replace(lines func(io.Writer) error) error {
	f, err := Create(g.Name(), Replace)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := lines(f); err != nil {
		return err
	}
	if g.made, err = f.Stat(); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	if g.f, err = os.OpenFile(g.Name(), os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	// What was opened by name may be another run's by now.
	if info, err := g.f.Stat(); err != nil || !os.SameFile(info, g.made) {
		g.f.Close()
		return errors.Join(err, g.gone())
	}
	return nil
}

func (g *Growing) gone() error { return fmt.Errorf("%s was removed, or %s", g.Name(), g.lost) }

// owned returns an error unless the name is still that of the file that was made here.
func (g *Growing) owned() error {
	if info, err := os.Stat(g.Name()); err != nil || !os.SameFile(info, g.made) {
		return g.gone()
	}
	return nil
}

// Write appends a line in one step.
func (g *Growing) Write(line []byte) (int, error) {
	g.Lock()
	defer g.Unlock()
	if err := g.owned(); err != nil {
		return 0, err
	}
	n, err := g.f.Write(line)
	if err != nil {
		return n, err
	}
	g.lines++
	if now := time.Now(); now.Sub(g.synced) >= SyncEvery {
		g.synced, err = now, g.f.Sync()
	}
	return n, err
}

// Touch sets the time of the file, so that whoever looks sees that somebody is at work.
func (g *Growing) Touch() {
	g.Lock()
	defer g.Unlock()
	if now := time.Now(); g.owned() == nil {
		_ = os.Chtimes(g.Name(), now, now) // a file system without times has no news
	}
}

// Commit gives the finished file its name. The error is an *Exists if the name is taken; then
// the lines stay where they are.
func (g *Growing) Commit() error {
	defer g.End()
	g.Lock()
	defer g.Unlock()
	if err := g.owned(); err != nil {
		g.f.Close()
		return err
	}
	return settle(g.f, g.path, g.old)
}

// Leave ends what is not complete: the lines stay where they are, and an empty file goes. left
// says that there are lines; unsynced why they are perhaps not on the disk yet.
func (g *Growing) Leave() (left bool, unsynced error) {
	defer g.End()
	g.Lock()
	defer g.Unlock()
	unsynced = g.f.Sync()
	if errors.Is(unsynced, fs.ErrClosed) {
		unsynced = nil // Commit has done it
	}
	g.f.Close()
	if g.owned() != nil {
		return false, nil
	}
	if g.lines == 0 {
		os.Remove(g.Name())
	}
	return g.lines > 0, unsynced
}

// abandon is Leave for a program that ends now.
func (g *Growing) abandon(error) string {
	switch {
	case g.made == nil || g.owned() != nil:
		return ""
	case g.lines == 0:
		os.Remove(g.Name())
		return ""
	}
	g.f.Sync()
	return fmt.Sprintf("%d finished records are in %s", g.lines, g.Name())
}
