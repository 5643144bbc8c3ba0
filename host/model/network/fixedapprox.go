package network

// The linear maps without parameters, in ordinary float64.

// terms calls visit for every output and every input in its mean, with the coefficient.
func (a *AvgPool) terms(visit func(i, j int, c float64)) {
	count := make([]int, a.Out().Len()/a.In.Channels)
	a.Window.each(a.In, func(p, _, _, _ int) { count[p]++ })
	a.Window.each(a.In, func(p, _, row, column int) {
		n := count[p]
		if a.CountPadding {
			n = a.Window.Size[0] * a.Window.Size[1]
		}
		c := 1 / float64(n)
		for ch := range a.In.Channels {
			visit(p*a.In.Channels+ch, (row*a.In.Width+column)*a.In.Channels+ch, c)
		}
	})
}

func (a AvgPool) forwardApprox(zeta, _, _, z []float64) {
	clear(zeta)
	a.terms(func(i, j int, c float64) { zeta[i] += c * z[j] })
}

func (a AvgPool) backApprox(dz, _, _, dzeta []float64) {
	clear(dz)
	a.terms(func(i, j int, c float64) { dz[j] += c * dzeta[i] })
}

func (a Add) forwardApprox(zeta, _, _, z []float64) {
	copy(zeta, z[:a.N])
	for t := 1; t < a.Terms; t++ {
		for i, v := range z[t*a.N : (t+1)*a.N] {
			zeta[i] += v
		}
	}
}

func (a Add) backApprox(dz, _, _, dzeta []float64) {
	for t := range a.Terms {
		copy(dz[t*a.N:], dzeta)
	}
}

// parts calls visit for every run of channels that stays together: where it begins in the
// outputs and in the inputs, and how long it is.
func (c *Concat) parts(visit func(i, j, n int)) {
	pixels, i := c.Height*c.Width, 0
	for at := range pixels {
		first := 0
		for _, n := range c.Channels {
			visit(i, first+at*n, n)
			i, first = i+n, first+pixels*n
		}
	}
}

func (c Concat) forwardApprox(zeta, _, _, z []float64) {
	c.parts(func(i, j, n int) { copy(zeta[i:i+n], z[j:]) })
}

func (c Concat) backApprox(dz, _, _, dzeta []float64) {
	c.parts(func(i, j, n int) { copy(dz[j:j+n], dzeta[i:]) })
}

func (r Reorder) forwardApprox(zeta, _, _, z []float64) {
	for i, j := range r.Order {
		zeta[i] = z[j]
	}
}

func (r Reorder) backApprox(dz, _, _, dzeta []float64) {
	clear(dz)
	for i, j := range r.Order {
		dz[j] += dzeta[i]
	}
}

// unweighted is what maps without parameters have in common; those that are linear, Fixed, have a Lowered too.
type unweighted struct{}

// Weights is 0.
func (unweighted) Weights() int { return 0 }

// Biases is 0.
func (unweighted) Biases() int { return 0 }

func (unweighted) fixed() {}
