package bound_test

import (
	"reflect"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/bound/selfcheck"
)

// longer is an array that says one number more than it has.
type longer struct{ bound.Array }

func (l longer) Len() int { return l.Array.Len() + 1 }

// sizes is a device that asks of every operation whether each of its arrays, were it longer, would be
// refused.
type sizes struct {
	bound.Device
	t *testing.T
	// tried counts arrays by operation.
	tried map[string]int
}

func (d *sizes) Do(op bound.Operation) error {
	listed := map[bound.Array]bool{}
	bound.EachArray(op, func(_ string, a bound.Array) { listed[a] = true })
	v := reflect.New(reflect.TypeOf(op)).Elem()
	v.Set(reflect.ValueOf(op))
	d.each(v, reflect.TypeOf(op).Name(), func(field string, at reflect.Value) {
		a := at.Interface().(bound.Array)
		if !listed[a] {
			if name := bound.NameOf(op); name != "relaxrows" && name != "concretize" { // of which S.Hi may be of no use
				d.t.Errorf("%s is not listed", field)
			}
			return
		}
		defer func() {
			if at.Set(reflect.ValueOf(&a).Elem()); recover() == nil && !d.unread(op, field) {
				d.t.Errorf("%s may have any size", field)
			}
		}()
		at.Set(reflect.ValueOf(longer{a}))
		d.tried[bound.NameOf(op)]++
		bound.Check(v.Interface().(bound.Operation))
	})
	return d.Device.Do(op)
}

// unread reports whether the operation has no use for what stands in a field, though for the same array in another.
func (d *sizes) unread(op bound.Operation, field string) bool {
	switch a := op.(type) {
	case bound.RelaxRows:
		return field == "RelaxRows.S.Hi" && a.NonNeg && !a.Mirrored || field == "RelaxRows.CIn.Hi" && !a.Mirrored
	case bound.Concretize:
		return field == "Concretize.S.Hi" && a.NonNeg
	}
	return false
}

// each calls f for the arrays in a value and in the fields of its structs.
func (d *sizes) each(v reflect.Value, field string, f func(field string, at reflect.Value)) {
	switch {
	case v.Type() == reflect.TypeFor[bound.Array]():
		if !v.IsNil() {
			f(field, v)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			d.each(v.Field(i), field+"."+v.Type().Field(i).Name, f)
		}
	}
}

// TestArrays: every operation lists all of its arrays, with sizes.
func TestArrays(t *testing.T) {
	d := &sizes{fallback.New(bound.Float64), t, map[string]int{}}
	if _, err := selfcheck.Brief(d); err != nil {
		t.Fatal(err)
	}
	for _, name := range bound.Operations() {
		if d.tried[name] < 2 {
			t.Errorf("%s: %d arrays", name, d.tried[name])
		}
	}
}

// TestGatherFits: places outside what is written are refused before any device sees them.
func TestGatherFits(t *testing.T) {
	d := fallback.New(bound.Float64)
	array := func(n int) bound.Array {
		a, err := d.NewArray(n)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for at := -1; at <= 3; at++ {
		op := bound.Gather{P: 1, R: 1, N: 2, T: 2, Total: 4, At: at, Index: array(2), In: array(2), Out: array(4)}
		refused := func() (did bool) {
			defer func() { did = recover() != nil }()
			bound.Check(op)
			return
		}()
		if refused != (at < 0 || at > 2) {
			t.Errorf("from place %d on: refused %v", at, refused)
		}
	}
}
