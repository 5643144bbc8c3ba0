package gpu

import (
	"math"
	"math/bits"

	"psafe/host/bound"
	"psafe/host/network"
)

// networkExpected holds the hashes of what the fallback writes for the little
// network of networkHashes. TestSelfTestNetwork prints the table when it is no
// longer right.
var networkExpected = map[bound.Precision]map[string]uint64{
	bound.Float32: {
		"drawbox":          0xbbe1878fba6f18f2,
		"affine":           0x65934e0e1835c3f,
		"activate":         0x789e4b30b3a11f29,
		"relax":            0x842fb1cb27202174,
		"activate#2":       0xe7d091be3799b456,
		"relax#2":          0x8f386a0ab1db2b7e,
		"mergerows":        0xa0817c6df49349dc,
		"relaxrows":        0x42b65218e4a1992f,
		"backsubstitute":   0x1ee7f295718ac835,
		"concretize":       0xd655609d1588f683,
		"relaxrows#2":      0x4f394c9b59846168,
		"backsubstitute#2": 0xb3b61483778d1c7a,
		"concretize#2":     0x200157c34c5fef4f,
		"intersect":        0xa7046b3be17e6aa7,
	},
	bound.Float64: {
		"drawbox":          0xb29839f53550adea,
		"affine":           0xa1511214be24d304,
		"activate":         0xe2995154eebd5756,
		"relax":            0xd460506f29acdc63,
		"activate#2":       0x70ab926435015890,
		"relax#2":          0xdc170d049b602fa9,
		"mergerows":        0x2ceb324baa5d38a6,
		"relaxrows":        0x304271b55d3c9313,
		"backsubstitute":   0x4c61596eb6fd87d2,
		"concretize":       0x50ccc52a0a144c67,
		"relaxrows#2":      0x2b8d452171ff6503,
		"backsubstitute#2": 0xa65907da3c64bf68,
		"concretize#2":     0x2c7bb14e6c31ae51,
		"intersect":        0xa7046b3be17e6aa7,
	},
}

// net is a little network under way: 5 inputs, 37 neurons, 3 outputs, 2 rows.
type net struct {
	dev    bound.Device
	arrays []bound.Array
	hashes []hashed
	err    error
}

const netIn, netMid, netOut, netRows, netBoxes = 5, 37, 3, 2, 2

// networkHashes runs every operation once on small arrays and returns the hashes
// of their outputs. Sizes are no multiples of anything.
func networkHashes(dev bound.Device) ([]hashed, error) {
	n := &net{dev: dev}
	defer func() {
		for _, a := range n.arrays {
			dev.Release(a)
		}
	}()
	w1, b1 := n.draw(1, netIn*netMid), n.draw(2, netMid)
	w2, b2 := n.draw(3, netMid*netOut), n.draw(4, netOut)
	x := n.numbers(5, netIn, 0.125)
	pre, mag := n.affine(bound.Batch{Items: netBoxes, PerBox: 1, Inputs: 1}, w1, b1, x)
	n.affine(bound.Batch{Items: 3 * netBoxes, PerBox: 3, Inputs: 2}, w1, b1, n.numbers(5, 2*netIn, 0.125))
	const all = netBoxes * netMid
	var z bound.Interval
	var lo, hi bound.Line
	var err bound.Array
	for _, kind := range []bound.Activation{{Kind: network.Tanh}, {Kind: network.ReLU}} {
		z = n.outs("activate", all)
		n.do(func() error { return dev.Activate(bound.Activate{Z: z, Pre: pre, N: all, Activation: kind}) })
		lo, hi, err = bound.Line{A: n.out("relax", all), B: n.out("relax", all)}, bound.Line{A: n.out("relax", all), B: n.out("relax", all)}, n.out("relax", all)
		n.do(func() error {
			return dev.Relax(bound.Relax{Lo: lo, Hi: hi, Err: err, Pre: pre, Mag: mag, N: all, Activation: kind,
				Charge: dev.Precision().RelaxCharge(netMid)})
		})
	}
	m := n.merge(w2, b2)
	for _, mirrored := range []bool{false, true} {
		s, cIn, cols := m[0], m[1], netRows
		if mirrored {
			s, cIn, cols = w2, b2, netOut
		}
		n.down(mirrored, cols, s, cIn, bound.RelaxRows{Z: z, Lo: lo, Hi: hi, Err: err, Mag: mag}, w1, b1, x)
	}
	n.intersect()
	return n.finish()
}

// down takes rows from the hidden layer to the inputs.
func (n *net) down(mirrored bool, cols int, s, cIn bound.Interval, rows bound.RelaxRows, w, b, x bound.Interval) {
	p := n.dev.Precision()
	rows.S, rows.CIn, rows.Cols, rows.Mirrored, rows.PerBox, rows.P, rows.N = s, cIn, cols, mirrored, 1, netBoxes, netMid
	rows.Round = p.RowsRounding(netMid, netOut)
	r := rows.Rows()
	rows.A, rows.C = n.out("relaxrows", netBoxes*netMid*r), n.out("relaxrows", netBoxes*r)
	n.do(func() error { return n.dev.RelaxRows(rows) })
	below, c := n.outs("backsubstitute", netBoxes*netIn*r), n.out("backsubstitute", netBoxes*r)
	n.do(func() error {
		return n.dev.BackSubstitute(bound.BackSubstitute{S: below, C: c, A: rows.A, CIn: rows.C, W: w, B: b,
			PerBox: 1, P: netBoxes, R: r, In: netIn, Out: netMid})
	})
	least := n.out("concretize", netBoxes*r)
	n.do(func() error {
		return n.dev.Concretize(bound.Concretize{Bound: least, S: below, C: c, X: x, P: netBoxes, R: r, In: netIn, Inputs: 1,
			Round: p.ConcretizeRounding(netIn, netMid)})
	})
}

// draw makes weight boxes; their centres are multiples of 1/64 up to 1.
func (n *net) draw(stream uint32, size int) bound.Interval {
	centre, unit := n.numbers(stream, size, 0), n.numbers(stream+100, size, 0)
	gamma := n.numbers(stream+200, netBoxes, 0)
	box := n.outs("drawbox", netBoxes*size)
	n.do(func() error {
		return n.dev.DrawBox(bound.DrawBox{Box: box, Centre: centre, Unit: unit.Hi, Gamma: gamma.Hi, Boxes: netBoxes, N: size,
			Sampled: true, Seed: 0x0123456789abcdef, First: 1<<32 - 1, Stream: stream})
	})
	return box
}

func (n *net) affine(batch bound.Batch, w, b, x bound.Interval) (pre bound.Interval, mag bound.Array) {
	items := batch.Items * netMid
	pre, mag = n.outs("affine", items), n.out("affine", items)
	push, round := n.dev.Precision().AffineRounding(netIn)
	n.do(func() error {
		return n.dev.Affine(bound.Affine{Pre: pre, Mag: mag, W: w, B: b, Z: x, Push: push, MagRound: round,
			Batch: batch, In: netIn, Out: netMid})
	})
	return pre, mag
}

func (n *net) merge(w, b bound.Interval) [2]bound.Interval {
	m := [2]bound.Interval{n.outs("mergerows", netBoxes*netMid*netRows), n.outs("mergerows", netBoxes*netRows)}
	round := n.dev.Precision().MergeRounding(netOut, netOut)
	rounds := make([]float64, netRows)
	for i := range rounds {
		rounds[i] = round.Rel
	}
	c, d, r := n.numbers(6, netRows*netOut, 0.25), n.numbers(7, netRows, 0), n.in(rounds)
	n.do(func() error {
		return n.dev.MergeRows(bound.MergeRows{W: m[0], B: m[1], Weight: w, Bias: b, C: c, D: d, Round: r, Abs: round.Abs,
			Batch: bound.Batch{Items: netBoxes, PerBox: 1, Inputs: 1}, In: netMid, Out: netOut, Rows: netRows})
	})
	return m
}

func (n *net) intersect() {
	pre := n.numbers(8, netMid, 0.5)
	n.named("intersect", pre.Lo, pre.Hi)
	bnd := n.numbers(9, 2*netMid, 0)
	n.do(func() error { return n.dev.Intersect(bound.Intersect{Pre: pre, Bound: bnd.Lo, P: 1, N: netMid}) })
}

// numbers uploads intervals of the given width round multiples of 1/64.
func (n *net) numbers(stream uint32, size int, width float64) bound.Interval {
	lo, hi := make([]float64, size), make([]float64, size)
	for i := range lo {
		lo[i] = float64(int32(bound.Philox([4]uint32{uint32(i)}, [2]uint32{stream})[0])>>25) / 64
		hi[i] = lo[i] + width
	}
	return bound.Interval{Lo: n.in(lo), Hi: n.in(hi)}
}

func (n *net) in(v []float64) bound.Array {
	a := n.array(len(v))
	n.do(func() error { return n.dev.Write(a, v) })
	return a
}

func (n *net) array(size int) (a bound.Array) {
	n.do(func() (err error) { a, err = n.dev.NewArray(size); return err })
	n.arrays = append(n.arrays, a)
	return a
}

// out makes an array that the operation called name writes.
func (n *net) out(name string, size int) bound.Array {
	a := n.array(size)
	n.named(name, a)
	return a
}

func (n *net) outs(name string, size int) bound.Interval {
	return bound.Interval{Lo: n.out(name, size), Hi: n.out(name, size)}
}

// outputs of an operation, in n.hashes as name and the array's place for now.
func (n *net) named(name string, arrays ...bound.Array) {
	for _, a := range arrays {
		for i, b := range n.arrays {
			if a == b {
				n.hashes = append(n.hashes, hashed{name, uint64(i)})
			}
		}
	}
}

func (n *net) do(f func() error) {
	if n.err == nil {
		n.err = f()
	}
}

// finish reads all outputs and hashes those of an operation together over
// their bits as float64.
func (n *net) finish() ([]hashed, error) {
	var list []hashed
	for _, h := range n.hashes {
		if len(list) == 0 || list[len(list)-1].name != h.name {
			list = append(list, hashed{h.name, 0xcbf29ce484222325})
		}
		last := &list[len(list)-1]
		n.do(func() error {
			v := make([]float64, n.arrays[h.hash].Len())
			err := n.dev.Read(v, n.arrays[h.hash])
			for _, x := range v {
				last.hash = bits.RotateLeft64(last.hash^math.Float64bits(x), 23) * 0x9e3779b97f4a7c15
			}
			return err
		})
	}
	// Operations that run several times have one hash each time; number them.
	count := map[string]int{}
	for i := range list {
		count[list[i].name]++
		if c := count[list[i].name]; c > 1 {
			list[i].name += "#" + string(rune('0'+c))
		}
	}
	return list, n.err
}
