package format

import (
	"fmt"

	"psafe/host/model/posterior"
)

// noScale is the error for a file that does not say what its spread means.
func noScale() error {
	return fmt.Errorf("the file does not say whether its spread is a standard deviation, a variance or softplus^-1 of one: add --scale sd|variance|softplus|softplus:EPS|log_sd|log_variance")
}

// resolveScale combines what the file says with what the user says, either of
// which may be unknown.
func resolveScale(file, option posterior.Scale) (posterior.Scale, error) {
	switch {
	case file == posterior.ScaleUnknown && option == posterior.ScaleUnknown:
		return posterior.ScaleUnknown, noScale()
	case file == posterior.ScaleUnknown:
		return option, nil
	case option != posterior.ScaleUnknown && option != file:
		return posterior.ScaleUnknown, fmt.Errorf("the file says its spread is %v, the option says %v: drop --scale %v", file, option, option)
	}
	return file, nil
}
