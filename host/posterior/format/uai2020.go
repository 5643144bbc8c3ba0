package format

import (
	"errors"
	"fmt"

	"psafe/host/npy"
)

// The files of the UAI 2020 repository hold W0, b0, W1, b1, ... and then the
// spreads in the same order, weights (in, out): as a pickled list, as a pickled
// object array, or as the object array arr_0 of a .npz. The names in arr_1 of the
// latter are wrong for two hidden layers and are not looked at. Neither scale nor
// activation is in them.

// parsePickle reads a bare pickle of any known shape.
func parsePickle(file []byte) (*contents, error) {
	copies := &budget{left: 2 * len(file)}
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

// parseObjectNPZ reads arr_0 of a .npz.
func parseObjectNPZ(file []byte) (*contents, error) {
	list, err := objectArray(file)
	if err != nil {
		return nil, fmt.Errorf("arr_0: %w", err)
	}
	layers, err := fromList(list)
	return &contents{format: "uai2020", layers: layers}, err
}

// objectArray reads a .npy file that holds a list of numeric arrays.
func objectArray(file []byte) ([]*npy.Array, error) {
	_, err := npy.Read(file)
	var object *npy.ObjectError
	if err == nil {
		return nil, fmt.Errorf("one array of numbers where an object array of W0, b0, ... is needed")
	}
	if !errors.As(err, &object) {
		return nil, err
	}
	copies := &budget{left: 2 * len(file)}
	value, err := unpickle(object.Payload, copies)
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
	list := make([]*npy.Array, len(items))
	for i, item := range items {
		a, ok := item.(*pickleArray)
		if !ok {
			return nil, fmt.Errorf("entry %d of the pickled list is not an array", i)
		}
		var err error
		if list[i], err = a.numbers(copies); err != nil {
			return nil, fmt.Errorf("entry %d of the pickled list: %w", i, err)
		}
	}
	return list, nil
}
