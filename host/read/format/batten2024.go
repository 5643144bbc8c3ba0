package format

import (
	"fmt"

	"psafe/host/read/npy"
)

// The file of Batten et al. (2024) is a pickle [means, spreads], each of them a
// list of [W, b] per layer, weights (in, out). Neither scale nor activation is in
// it.

// isBatten reports whether value is a list of two lists.
func isBatten(value any) bool {
	halves, ok := value.(*pickleList)
	if !ok || len(halves.items) != 2 {
		return false
	}
	_, ok = halves.items[0].(*pickleList)
	_, ok2 := halves.items[1].(*pickleList)
	return ok && ok2
}

// parseBatten reads a value for which isBatten holds.
func parseBatten(value any, copies *budget) (*contents, error) {
	var halves [2][]*npy.Array
	for h, half := range value.(*pickleList).items {
		what := []string{"means", "spreads"}[h]
		for k, item := range half.(*pickleList).items {
			list, err := arrayList(item, copies)
			if err != nil {
				return nil, fmt.Errorf("%s of layer %d: %w", what, k, err)
			}
			if len(list) != 2 {
				return nil, fmt.Errorf("%s of layer %d: %d arrays instead of [W, b]", what, k, len(list))
			}
			halves[h] = append(halves[h], list...)
		}
	}
	layers, err := pair(halves[0], halves[1])
	return &contents{format: "batten2024", layers: layers}, err
}
