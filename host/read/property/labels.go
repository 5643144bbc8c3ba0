package property

import (
	"errors"
	"fmt"
	"math"
)

// maxLabel bounds class numbers read from files; networks check them exactly.
const maxLabel = math.MaxInt32

// ReadLabels reads the classes of the points of a data file: an IDX or NumPy
// file (formats and names as in ReadPoints) with one whole number >= 0 for each
// point. Anything else is an error of one line that starts with the file. The
// labels of a CSV file are Points.Labels.
func ReadLabels(path string) ([]int, error) {
	labels, err := readLabels(path)
	if err != nil {
		return nil, inFile(path, err)
	}
	return labels, nil
}

func readLabels(path string) (labels []int, err error) {
	_, err = openSource(path, func(s *source, member string) error {
		labels, err = decodeLabels(s, member)
		return err
	})
	return labels, err
}

// decodeLabels decodes the content of a file of labels.
func decodeLabels(s *source, member string) ([]int, error) {
	a, err := decodeArray(s, member, func(shape []int, _ bool) error {
		all := 1
		for _, d := range shape {
			all *= d // no overflow: there are as many bytes
		}
		if len(shape) == 0 || shape[0] != all || all == 0 {
			return fmt.Errorf("has shape %v; labels are one whole number for each point", shape)
		}
		if all > maxPoints {
			return fmt.Errorf("holds %d labels, the limit is %d; split it", all, maxPoints)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if a == nil || a.png {
		return nil, errors.New("is neither an IDX nor a NumPy file of labels; of a CSV file --label-column names the column in --inputs")
	}
	labels := make([]int, a.shape[0])
	for i := range labels {
		if a.data == nil {
			labels[i] = int(a.bytes[i])
		} else if labels[i], err = label(a.data[i]); err != nil {
			return nil, fmt.Errorf("label of point %d: %w", i, err)
		}
	}
	return labels, nil
}

// label is the class that v stands for.
func label(v float64) (int, error) {
	if !(v >= 0 && v <= maxLabel && v == math.Trunc(v)) {
		return 0, fmt.Errorf("%v is not a class; use whole numbers from 0", v)
	}
	return int(v), nil
}
