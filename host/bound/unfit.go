package bound

import "fmt"

// Unfit says that what a file states is too large, or too much, for what bounds are computed in. It is
// the error of whatever takes a file's numbers to a device and looks at them before, so that no
// device is blamed for them.
type Unfit struct{ Err error }

func (e *Unfit) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Unfit) Unwrap() error { return e.Err }

// Unfitf is fmt.Errorf for an Unfit.
func Unfitf(format string, args ...any) error { return &Unfit{fmt.Errorf(format, args...)} }
