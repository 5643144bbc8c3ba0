package bound

import "fmt"

// Unfit is the error of numbers of a file that are too large, or too many, for what bounds are computed in.
// Whatever takes a file's numbers to a device looks at them before, so that no device is blamed for them.
type Unfit struct{ Err error }

func (e *Unfit) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Unfit) Unwrap() error { return e.Err }

// Unfitf is fmt.Errorf for an Unfit.
func Unfitf(format string, args ...any) error { return &Unfit{fmt.Errorf(format, args...)} }
