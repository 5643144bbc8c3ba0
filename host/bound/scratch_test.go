package bound

import (
	"errors"
	"slices"
	"testing"
)

// slate is a device whose one operation writes sevens, and that counts how often it is read.
type slate struct {
	Device
	reads, released int
	err             error
}

type slateArray struct{ v []float64 }

func (a *slateArray) Len() int { return len(a.v) }

func (d *slate) NewArray(n int) (Array, error) { return &slateArray{make([]float64, n)}, nil }

func (d *slate) Release(a Array) { a.(*slateArray).v, d.released = nil, d.released+1 }

func (d *slate) Write(dst Array, src []float64) error {
	copy(dst.(*slateArray).v, src)
	return nil
}

func (d *slate) ReadSeveral(dst [][]float64, src []Array) error {
	d.reads++
	for i, a := range src {
		if copy(dst[i], a.(*slateArray).v) != len(dst[i]) || len(dst[i]) == 0 {
			return errors.New("read of an array that was released")
		}
	}
	return d.err
}

func (d *slate) Do(op Operation) error {
	copy(op.(SquareRows).Square.(*slateArray).v, []float64{7, 7})
	return nil
}

// TestReadLater: what is to be read later comes with the next read, as it was when that was asked, however
// often it is asked for, and is released after it.
func TestReadLater(t *testing.T) {
	for _, c := range []struct {
		what            string
		between         func(s *scratch, a Array)
		reads, released int
		want            float64
	}{
		{"nothing", func(s *scratch, a Array) {}, 1, 0, 1},
		{"released", func(s *scratch, a Array) { s.release(a) }, 1, 1, 1},
		{"written by an operation", func(s *scratch, a Array) { s.launch(SquareRows{Square: a, A: a, N: 2}) }, 2, 0, 1},
		{"written by the host", func(s *scratch, a Array) { s.write(a, []float64{8, 8}) }, 2, 0, 1},
		{"another written", func(s *scratch, a Array) { s.launch(SquareRows{Square: s.array(2), A: a, N: 2}) }, 1, 0, 1},
	} {
		d := &slate{}
		s := &scratch{owner: d}
		a, b := s.holding([]float64{1, 2}), s.holding([]float64{3, 4, 5})
		var later, twice []float64
		s.readLater(a, &later)
		s.readLater(a, &twice)
		c.between(s, a)
		all, err := s.readEach(b, b)
		if err != nil || len(all) != 2 {
			t.Fatalf("%s: %v, %v", c.what, all, err)
		}
		x, y := all[0], all[1]
		if !slices.Equal(x, []float64{3, 4, 5}) || !slices.Equal(x, y) || !slices.Equal(later, twice) || !slices.Equal(later, []float64{c.want, 2}) {
			t.Errorf("%s: %v, %v, %v, %v, %v", c.what, x, y, later, twice, err)
		}
		if d.reads != c.reads || d.released != c.released {
			t.Errorf("%s: %d reads, %d released", c.what, d.reads, d.released)
		}
		if x, err = s.read(b); err != nil || len(x) != 3 || d.reads != c.reads+1 {
			t.Errorf("%s: again: %v, %v", c.what, x, err)
		}
		s.readLater(b, &later)
		d.err = errors.New("lost")
		if _, err := s.readEach(b); !errors.Is(err, d.err) || len(later) != 2 {
			t.Errorf("%s: lost: %v, %v", c.what, err, later)
		}
		s.free()
	}
}

// TestHold: what is held is given back once it has been released and let go, whichever comes first, and is not
// written in between.
func TestHold(t *testing.T) {
	d := &slate{}
	s := &scratch{owner: d}
	a, b := s.holding([]float64{1, 2}), s.holding([]float64{3, 4})
	s.hold(a, b, nil)
	if s.release(a); d.released != 0 {
		t.Errorf("%d arrays are released while they are held", d.released)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("what is held was written")
			}
		}()
		s.launch(SquareRows{Square: a, A: b, N: 2})
	}()
	if s.letGo(a, b, nil); d.released != 1 {
		t.Errorf("%d arrays are released, where one was released before", d.released)
	}
	if s.launch(SquareRows{Square: b, A: b, N: 2}); s.err != nil {
		t.Error(s.err)
	}
	if s.release(b); d.released != 2 {
		t.Errorf("%d arrays are released, of two", d.released)
	}
	s.hold(s.holding([]float64{5}))
	if s.free(); d.released != 3 {
		t.Errorf("%d arrays are released, of three", d.released)
	}
}
