package lower

import (
	"fmt"
	"math/big"

	"psafe/host/model/network"
	"psafe/host/read/onnx"
)

// averagePool is the mean of each window; padding counts only with count_include_pad.
func (l *lowering) averagePool(n *onnx.Node) error {
	at := attributesOf(n)
	withPad := at.int("count_include_pad", 0)
	in, err := l.operands(n, 1, 1)
	if err != nil {
		return err
	}
	w, err := windowsOf(at, in[0].shape, nil)
	if err == nil {
		err = at.end()
	}
	if err != nil {
		return err
	}
	out, err := l.average(in[0], w, withPad != 0)
	return l.give(n, out, err)
}

// globalAveragePool is the mean over all axes behind the channels.
func (l *lowering) globalAveragePool(n *onnx.Node) error {
	if err := attributesOf(n).end(); err != nil {
		return err
	}
	in, err := l.operands(n, 1, 1)
	if err != nil {
		return err
	}
	shape := in[0].shape
	if len(shape) < 3 {
		return fmt.Errorf("its input has the shape %v: it needs an axis behind the channels", shape)
	}
	w, err := windowsOf(attributesOf(&onnx.Node{}), shape, shape[2:])
	if err != nil {
		return err
	}
	out, err := l.average(in[0], w, false)
	return l.give(n, out, err)
}

// average sums the windows of v and divides by how many numbers each has.
func (l *lowering) average(v *value, w *windows, withPad bool) (*value, error) {
	if v.isConst() {
		return nil, fmt.Errorf("it takes a constant: fold it before the export")
	}
	shape := append([]int{v.shape[0], v.shape[1]}, w.out...)
	if err := l.fits(w, v.shape[0]*v.shape[1]); err != nil {
		return nil, err
	}
	places, inner := product(w.out), product(w.in)
	sums, err := l.combine(shape, []*value{v}, func(i int, add adder) {
		w.visit(i%places, func(_, input int) { add(v, i/places*inner+input, 1, 0) })
	})
	if err != nil {
		return nil, err
	}
	a := affine{group: func(i int) int { return i % places }}
	for window := range places {
		n := product(w.kernel)
		if !withPad {
			n = 0
			w.visit(window, func(int, int) { n++ })
		}
		if n == 0 {
			return nil, fmt.Errorf("window %d lies on padding alone", window)
		}
		f := exactly(1)
		a.factor = append(a.factor, f.Quo(f, new(big.Float).SetInt64(int64(n))))
	}
	return l.scale(sums, a)
}

// maxPool is lowered in rounds, each of which halves the candidates of every window by
// max(a, b) = relu(a-b) + b and carries b on: as relu(b) where b >= 0 is known, as
// relu(b) - relu(-b) elsewhere.
func (l *lowering) maxPool(n *onnx.Node) error {
	at := attributesOf(n)
	at.int("storage_order", 0) // of the second output
	in, err := l.operands(n, 1, 1)
	if err != nil {
		return err
	}
	v := in[0]
	w, err := windowsOf(at, v.shape, nil)
	if err == nil {
		err = at.end()
	}
	if err == nil && v.isConst() {
		err = fmt.Errorf("it takes a constant: fold it before the export")
	}
	if err != nil {
		return err
	}
	if err := l.fits(w, v.shape[0]*v.shape[1]); err != nil {
		return err
	}
	shape := append([]int{v.shape[0], v.shape[1]}, w.out...)
	count, err := l.count(shape)
	if err != nil {
		return err
	}
	places, inner := product(w.out), product(w.in)
	if err := l.spend(int64(count) * int64(product(w.kernel))); err != nil {
		return err
	}
	windows := make([][]int, count)
	for i := range windows {
		w.visit(i%places, func(_, input int) { windows[i] = append(windows[i], i/places*inner+input) })
		if len(windows[i]) == 0 {
			return fmt.Errorf("window %d lies on padding alone", i%places)
		}
	}
	for {
		most := 0
		for _, candidates := range windows {
			most = max(most, len(candidates))
		}
		if most == 1 {
			break
		}
		if v, err = l.halve(v, windows); err != nil {
			return err
		}
	}
	out, err := l.picked(v, shape, func(i int) int { return windows[i][0] })
	return l.give(n, out, err)
}

// halve is one round: windows lists the candidates of each as elements of v, and then those
// that are left as elements of what it returns.
func (l *lowering) halve(v *value, windows [][]int) (*value, error) {
	if err := l.current(v); err != nil {
		return nil, err
	}
	// The neurons of the layer, as signed pairs of elements of v, and then the elements that
	// are made of them, as their signed numbers.
	type neuron struct{ plus, minus int }
	var neurons []neuron
	var made [][]int
	make1 := func(n neuron) int {
		neurons = append(neurons, n)
		return len(neurons) - 1
	}
	carried := map[int][]int{}
	carry := func(b int) []int {
		if carried[b] == nil {
			carried[b] = []int{make1(neuron{b, -1}) + 1}
			if !l.neverNegative(v, b) {
				carried[b] = append(carried[b], -(make1(neuron{-1, b}) + 1))
			}
		}
		return carried[b]
	}
	for i, candidates := range windows {
		var left []int
		for c := 0; c < len(candidates); c += 2 {
			element := carry(candidates[min(c+1, len(candidates)-1)])
			if c+1 < len(candidates) {
				element = append([]int{make1(neuron{candidates[c], candidates[c+1]}) + 1}, element...)
			}
			left = append(left, len(made))
			made = append(made, element)
		}
		windows[i] = left
	}
	layer, err := l.combine([]int{len(neurons)}, []*value{v}, func(i int, add adder) {
		if k := neurons[i].plus; k >= 0 {
			add(v, k, 1, 0)
		}
		if k := neurons[i].minus; k >= 0 {
			add(v, k, -1, 0)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := l.close(layer, network.Activation{Kind: network.ReLU}); err != nil {
		return nil, err
	}
	z := l.identity([]int{len(neurons)}, 0)
	return l.combine([]int{len(made)}, []*value{z}, func(i int, add adder) {
		for _, k := range made[i] {
			if k > 0 {
				add(z, k-1, 1, 0)
			} else {
				add(z, -k-1, -1, 0)
			}
		}
	})
}

// neverNegative says that element i of v is known to be at least 0.
func (l *lowering) neverNegative(v *value, i int) bool {
	if !l.nonNeg || v.c[i] < 0 || v.idOf(i) != 0 {
		return false
	}
	for _, t := range v.row(i) {
		if t.v < 0 || t.id != 0 {
			return false
		}
	}
	return true
}
