package network

import "math"

// MaxPool is the greatest number under a window, by channel; padding never is. The layer
// before it has the activation Identity, and the pool's own comes after the maximum: the
// same function for a nondecreasing activation, and fewer neurons to relax.
type MaxPool struct {
	unweighted
	In     Image
	Window Window
}

// Out is the shape of the outputs.
func (m MaxPool) Out() Image {
	return Image{m.Window.positions(0, m.In.Height), m.Window.positions(1, m.In.Width), m.In.Channels}
}

// Members lists the inputs of each output, [Outputs x the window's size], -1 where there is
// none.
func (m MaxPool) Members() []int32 {
	out, w := m.Out(), &m.Window
	var members []int32
	for y := range out.Height {
		for x := range out.Width {
			at := w.under(y, x, m.In)
			for ch := range m.In.Channels {
				for _, from := range at {
					if from >= 0 {
						from += ch
					}
					members = append(members, int32(from))
				}
			}
		}
	}
	return members
}

// Check refuses shapes that are empty, too large or do not fit.
func (m MaxPool) Check() error {
	if err := m.In.check(); err != nil {
		return err
	}
	return poolCheck(m.In, &m.Window)
}

// Inputs is the number of numbers of the image.
func (m MaxPool) Inputs() int { return m.In.Len() }

// Outputs is the number of numbers of the output image.
func (m MaxPool) Outputs() int { return m.Out().Len() }

func (m MaxPool) forwardApprox(zeta, _, _, z []float64) {
	for i := range zeta {
		zeta[i] = math.Inf(-1)
	}
	ch := m.In.Channels
	m.Window.each(m.In, func(p, _, row, column int) {
		from := (row*m.In.Width + column) * ch
		for o, v := range z[from : from+ch] {
			if i := p*ch + o; v > zeta[i] || math.IsNaN(v) {
				zeta[i] = v
			}
		}
	})
}

// backApprox gives the gradient to the first of those that are greatest.
func (m MaxPool) backApprox(dz, _, z, dzeta []float64) {
	clear(dz)
	greatest := make([]int, len(dzeta)) // and 1, so that 0 is none
	ch := m.In.Channels
	m.Window.each(m.In, func(p, _, row, column int) {
		from := (row*m.In.Width + column) * ch
		for o, v := range z[from : from+ch] {
			if at := &greatest[p*ch+o]; *at == 0 || v > z[*at-1] {
				*at = from + o + 1
			}
		}
	})
	for i, at := range greatest {
		dz[at-1] += dzeta[i]
	}
}
