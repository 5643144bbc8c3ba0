package engine

import "time"

// SetGroupTimes sets how long groups should take, and when they are given up.
func SetGroupTimes(target, guard, few time.Duration) (restore func()) {
	a, b, c := groupTime, groupGuard, fewGuard
	groupTime, groupGuard, fewGuard = target, guard, few
	return func() { groupTime, groupGuard, fewGuard = a, b, c }
}
