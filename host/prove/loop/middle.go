package loop

// Middle is a cell in the middle of those of the start set, by its place along each coordinate; in the middle of the grid
// if there are none.
func (l *Loop) Middle() []int {
	middle := make([]int, len(l.State))
	if len(l.start) == 0 {
		for i, c := range l.State {
			middle[i] = (len(c.Edges) - 1) / 2
		}
		return middle
	}
	first, last, at := make([]int, len(l.State)), make([]int, len(l.State)), make([]int, len(l.State))
	for k, c := range l.start {
		l.Cell(c, at)
		for i, place := range at {
			if k == 0 {
				first[i], last[i] = place, place
			}
			first[i], last[i] = min(first[i], place), max(last[i], place)
		}
	}
	for i := range middle {
		middle[i] = (first[i] + last[i]) / 2
	}
	return middle
}
