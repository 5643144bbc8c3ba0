package format

import (
	"errors"
	"fmt"

	"psafe/host/read/npy"
)

// The files of the UAI 2020 repository hold W0, b0, W1, b1, ... and then the
// spreads in the same order, weights (in, out): as a pickled list, as a pickled
// object array, or as the object array arr_0 of a .npz. The names in arr_1 of the
// latter are wrong for two hidden layers and are not looked at. Neither scale nor
// activation is in them.

// parsePickle reads a bare pickle of any known shape.
func parsePickle(file blob) (*contents, error) {
	copies := &budget{left: 2 * file.size, file: file.size}
	value, err := unpickle(file, copies)
	if err != nil {
		return nil, err
	}
	if isBatten(value) {
		return parseBatten(value, copies)
	}
	list, err := arrayList(value, copies)
	if err != nil {
		return nil, err
	}
	layers, err := fromList(list)
	return &contents{format: "uai2020", layers: layers}, err
}

// parseObjectNPZ reads arr_0 of a .npz. It has to be unpacked into memory, because the
// numbers of a pickle are not in one order.
func parseObjectNPZ(member *npy.Member, file int64) (*contents, error) {
	var layers []arrays
	err := member.Open(func(r *npy.Reader) error {
		if !r.Header.IsObject() {
			return errNumbers
		}
		if n := r.Left(); n > 4*freeNumbers && n > 8*file {
			return fmt.Errorf("a pickle of %d bytes in a zip of %d: from %d on there must be a byte for each number; save it without compression", n, file, 4*freeNumbers)
		}
		payload, err := r.Rest()
		if err != nil {
			return err
		}
		list, err := pickledArrays(held(payload), file)
		if err == nil {
			layers, err = fromList(list)
		}
		return err
	})
	return &contents{format: "uai2020", layers: layers}, err
}

var errNumbers = errors.New("one array of numbers where an object array of W0, b0, ... is needed")

// objectArray reads a .npy file that holds a list of numeric arrays.
func objectArray(file blob) ([]*npy.Array, error) {
	r, err := npy.NewReader(file.from(0, file.size), file.size, true)
	if err != nil {
		return nil, err
	}
	if !r.Header.IsObject() {
		return nil, errNumbers
	}
	return pickledArrays(blob{file.from(r.Offset, r.Left()), r.Left()}, file.size)
}

// pickledArrays reads a pickle of numeric arrays, which came in a file of that length.
func pickledArrays(pickle blob, file int64) ([]*npy.Array, error) {
	copies := &budget{left: 2 * pickle.size, file: file}
	value, err := unpickle(pickle, copies)
	if err != nil {
		return nil, err
	}
	return arrayList(value, copies)
}

// arrayList gives the numeric arrays in a pickled list, tuple or object array.
func arrayList(value any, copies *budget) ([]*npy.Array, error) {
	var items []any
	switch v := value.(type) {
	case *pickleList:
		items = v.items
	case pickleTuple:
		items = v
	case *pickleArray:
		items = v.items
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("pickle is not a list of arrays")
	}
	numbers := int64(0)
	for i, item := range items {
		a, ok := item.(*pickleArray)
		if !ok {
			return nil, fmt.Errorf("entry %d of the pickled list is not an array", i)
		}
		numbers += a.size()
	}
	if err := afford(numbers, copies.file); err != nil {
		return nil, err
	}
	list := make([]*npy.Array, len(items))
	for i, item := range items {
		var err error
		if list[i], err = item.(*pickleArray).numbers(copies); err != nil {
			return nil, fmt.Errorf("entry %d of the pickled list: %w", i, err)
		}
	}
	return list, nil
}
