package check

import (
	"errors"
	"fmt"
)

// consistent checks what an interval of drawn networks says of itself.
func (s *interval) consistent() error {
	switch {
	case s == nil:
		return nil
	case s.Confidence == nil || s.Lower == nil || s.Upper == nil:
		return errors.New("statistical: confidence, lower or upper is missing")
	case !(0 <= s.Safe && 0 <= s.Unsafe && s.Safe <= s.Samples-s.Unsafe):
		return fmt.Errorf("statistical: %d safe and %d unsafe of %d networks", s.Safe, s.Unsafe, s.Samples)
	}
	return nil
}
