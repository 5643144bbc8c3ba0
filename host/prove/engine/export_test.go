package engine

import "time"

// SetGroupTimes sets how long groups should take, and when they are given up.
func SetGroupTimes(target, guard, few time.Duration) (restore func()) {
	a, b, c := GroupTime, groupGuard, fewGuard
	GroupTime, groupGuard, fewGuard = target, guard, few
	return func() { GroupTime, groupGuard, fewGuard = a, b, c }
}
