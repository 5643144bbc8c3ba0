package bound

// PoolStar chooses the star of each window of a max pool: the member whose interval has the
// largest middle, Pre.Lo + Pre.Hi rounded to nearest, the first of several; a middle that is NaN
// counts as -Inf. (Any choice that depends on no drawn weight is sound.)
//
//	Slot[p][u]: its place in the window;   Unit[p][u] = Members[u][Slot[p][u]]
//
// Of a window without a member, which no network has, Slot is 0 and Unit -1.
type PoolStar struct {
	Slot, Unit Array    // out [P x U]
	Pre        Interval // [P x N]
	Members    Array    // [U x Window], integers below 2^24, -1 for none
	P, N, U    int
	Window     int
}

// Arrays implements Operation.
func (a PoolStar) Arrays(l *Arrays) {
	item, unit := Dim{"item", a.P}, Dim{"unit", a.U}
	l.Out("slot", a.Slot, item, unit)
	l.Out("unit", a.Unit, item, unit)
	l.Ins("lo", "hi", a.Pre, item, Dim{"neuron", a.N})
	l.In("members", a.Members, unit, Dim{"slot", a.Window})
}
