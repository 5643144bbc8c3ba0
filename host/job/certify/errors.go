package certify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// DeviceError reports that the device asked for is absent, was refused or broke.
type DeviceError struct{ Err error }

func (e *DeviceError) Error() string { return e.Err.Error() }
func (e *DeviceError) Unwrap() error { return e.Err }

// Contradiction reports that two bounds of an input cannot both be true, though the CPU fallback,
// or the only device, computed them. No record of the input was written.
type Contradiction struct{ Err error }

func (e *Contradiction) Error() string {
	return e.Err.Error() + ": psafe contradicts itself, or the processor or memory is at fault: no record of it was written; please report the command and its files"
}
func (e *Contradiction) Unwrap() error { return e.Err }

// Interrupted reports that the context ended before the run did. It is a context.Canceled, whatever
// cause a signal or a deadline gave the context.
type Interrupted struct {
	// Words follow the word "interrupted": where finished records are, if there are any.
	Words string
}

func (e *Interrupted) Error() string { return "interrupted" + e.Words }
func (e *Interrupted) Unwrap() error { return context.Canceled }

// errTotal is the cause of a context that ends with Job.TotalTimeLimit.
var errTotal = errors.New("the time limit of the run is up")

// OutOfTime reports that Job.TotalTimeLimit ended the run.
type OutOfTime struct {
	// Words are as those of Interrupted.
	Words string
}

func (e *OutOfTime) Error() string { return "--total-time-limit ended the run" + e.Words }
func (e *OutOfTime) Unwrap() error { return errTotal }

// where is Words for records that are in a file.
func (*OutOfTime) where(done, total int, file string) string {
	return fmt.Sprintf(": %d of %d records are in %s: add --resume to go on from there", done, total, file)
}

// ended is the error of a run whose context has ended.
func ended(ctx context.Context) error {
	if context.Cause(ctx) == errTotal {
		return &OutOfTime{}
	}
	return &Interrupted{}
}

// Printable is a text of a file as a message may show it: it must not command the
// terminal, nor fill it.
func Printable(text string) string {
	return fmt.Sprintf("%.100s", strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text))
}

// inLine puts an error of several lines in one.
func inLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
