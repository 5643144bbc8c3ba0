package bound

// PoolLines bounds the units of a max pool, v = max of the members y of its window, by the star
// y_* that PoolStar chose (docs/theory.md (22) to (25)). With [l, u] = Pre of the
// members, and Lead[p][u*Window+s] <= inf_x (y_* - y_s), by how much the star leads y_s at least,
// the slot of the star and slots without a member counting for nothing:
//
//	c     = max(l_*, max of the other u)            chord: max(y_*, c) <= s y_* + t on [l_*, u_*]
//	Delta = max(0, max of -Lead)                    difference: v <= y_* + Delta
//	Lower = line (1, 0): v >= y_*
//	Upper = line (s, t): of the constant c (where c >= u_*) or the chord from (l_*, c) to
//	        (u_*, u_*), and the difference, whichever is lower at the middle of [l_*, u_*]
//	V     = [l_*, min(max of all u, up(u_* + Delta))]; with Greatest its lower end is max of all l
//	Above = [down(s l_* + t), V.Hi]: where the upper line of an activation after the pool has to hold (25)
//	Star  = [l_*, u_*]: where its lower line has to hold
//	Err   = what RelaxRows and the GatherSum after it cost, as in Relax
//	Radius = the greatest Radius of the members; Mag >= |y_*| and >= |s y_* + t|
//
// For all y in [l, u] with y_* - y_s >= Lead: Upper holds exactly for the stored numbers, t
// rounded up, 0 <= s <= 1, and Above.Lo <= s y_* + t. Lead nil: no differences. Where the star's
// interval is not finite, or neither c nor Delta is, the upper line is (0, +Inf).
type PoolLines struct {
	Lower, Upper Line     // out [P x U] each
	Err          Array    // out [P x U]
	V, Above     Interval // out [P x U] each
	Star         Interval // out [P x U]
	MagOut       Array    // out [P x U]
	RadiusOut    Array    // out [P x U], nil where Radius is
	Pre          Interval // [P x N]
	Mag, Radius  Array    // [P x N]; Radius may be nil
	Members      Array    // [U x Window]
	Slot         Array    // [P x U]
	Lead         Array    // [P x U x Window], nil
	// Greatest makes V.Lo the greatest lower end of the window: for weight boxes, where all
	// lower ends hold. Otherwise it is the star's, so that no other's has to.
	Greatest bool
	P, N, U  int
	Window   int
	Charge   Charge
}

// Arrays implements Operation.
func (a PoolLines) Arrays(l *Arrays) {
	item, unit, neuron, slot := Dim{"item", a.P}, Dim{"unit", a.U}, Dim{"neuron", a.N}, Dim{"slot", a.Window}
	l.Out("aLo", a.Lower.A, item, unit)
	l.Out("bLo", a.Lower.B, item, unit)
	l.Out("aHi", a.Upper.A, item, unit)
	l.Out("bHi", a.Upper.B, item, unit)
	l.Out("err", a.Err, item, unit)
	l.Outs("vLo", "vHi", a.V, item, unit)
	l.Outs("aboveLo", "aboveHi", a.Above, item, unit)
	l.Outs("starLo", "starHi", a.Star, item, unit)
	l.Out("magOut", a.MagOut, item, unit)
	l.OutIf(a.Radius != nil, "radiusOut", a.RadiusOut, item, unit)
	l.Ins("lo", "hi", a.Pre, item, neuron)
	l.In("mag", a.Mag, item, neuron)
	l.InIf(a.Radius != nil, "radius", a.Radius, item, neuron)
	l.In("members", a.Members, unit, slot)
	l.In("slot", a.Slot, item, unit)
	l.InIf(a.Lead != nil, "lead", a.Lead, item, unit, slot)
}
