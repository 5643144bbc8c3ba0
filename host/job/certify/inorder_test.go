package certify

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestInOrder: things made on all cores are taken in their order, until one is the last; the first
// error in this order is the one.
func TestInOrder(t *testing.T) {
	failure := errors.New("broken")
	for _, c := range []struct {
		n, last, broken, want int
		err                   error
	}{{10, -1, -1, 10, nil}, {10, 6, -1, 7, nil}, {10, -1, 5, 5, failure}, {10, 3, 5, 4, nil}, {0, -1, -1, 0, nil}} {
		var got []int
		err := inOrder(t.Context(), c.n, 4, func(i int) (int, error) {
			if i == c.broken {
				return i, failure
			}
			return i, nil
		}, func(i int) (bool, error) {
			got = append(got, i)
			return i != c.last, nil
		})
		if !errors.Is(err, c.err) || len(got) != c.want || !slices.IsSorted(got) {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if err := inOrder(ctx, 3, 2, func(i int) (int, error) { return i, nil }, func(int) (bool, error) { return true, nil }); err == nil {
		t.Error("no error after the end")
	}
}
