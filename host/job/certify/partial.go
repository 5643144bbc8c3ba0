package certify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"psafe/internal/outfile"
)

// partialFile is FILE.partial while a run writes it.
type partialFile struct {
	path string // FILE
	*outfile.Growing
}

// takenOver is the text for what another run may have done to FILE.partial.
const takenOver = "taken over by another run with --resume or --overwrite"

// openPartial makes FILE.partial with the lines of earlier runs.
func (o *Output) openPartial(old *earlier) (*partialFile, error) {
	path, there := o.Path, outfile.Keep
	if o.Overwrite {
		there = outfile.Replace
	}
	var g *outfile.Growing
	var err error
	if old.partial {
		g, err = outfile.GrowOn(path, there, takenOver, old.done, old.copy)
	} else {
		g, err = outfile.Grow(path, there, takenOver)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: has just been made by another run: give another --out", path+PartialSuffix)
	}
	if err != nil {
		return nil, fmt.Errorf("--out %s: cannot be written: %w", path, outfile.Reason(err))
	}
	return &partialFile{path, g}, nil
}

// commit gives the finished file its name.
func (p *partialFile) commit() error {
	err := p.Commit()
	if _, there := errors.AsType[*outfile.Exists](err); there { // since the run began
		return fmt.Errorf("--out %w", err)
	}
	if err != nil {
		return fmt.Errorf("--out %s: cannot be written: %w", p.path, outfile.Reason(err))
	}
	return nil
}

// leave ends a run that err stopped: what is finished stays, and the error that it
// returns says where. An empty file goes.
func (p *partialFile) leave(err error, total int) error {
	left, unsynced := p.Leave()
	if !left {
		return err
	}
	where := fmt.Sprintf("%d of %d records are in %s", p.Lines(), total, p.Name())
	if unsynced != nil {
		where += fmt.Sprintf(" (perhaps not on the disk yet: %v)", outfile.Reason(unsynced))
	}
	where += ": add --resume to go on from there"
	switch {
	case errors.Is(err, context.Canceled):
		return &Interrupted{": " + where}
	case errors.Is(err, errTotal):
		return &OutOfTime{": " + where}
	}
	return fmt.Errorf("%w: %s", err, where)
}

// settle gives FILE.partial its name where only that was left to do.
func (o *Output) settle(old *earlier) error {
	p, err := o.openPartial(old)
	if err != nil {
		return err
	}
	if err := p.commit(); err != nil {
		return p.leave(err, old.done)
	}
	return nil
}
