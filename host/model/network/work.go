package network

func (d Dense) work() int { return (d.In + 1) * d.Out }

func (c Conv) work() int { return (c.Weights()/c.Filters + 1) * c.Outputs() }

func (a AvgPool) work() int { return a.Window.Size[0] * a.Window.Size[1] * a.Outputs() }

func (m MaxPool) work() int { return m.Window.Size[0] * m.Window.Size[1] * m.Outputs() }

func (a Add) work() int { return a.Inputs() }

func (c Concat) work() int { return c.Outputs() }

func (r Reorder) work() int { return r.Outputs() }
