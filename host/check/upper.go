package check

import "psafe/host/property"

// safeUp bounds P_safe from above by concentration LBP: by the probability that S holds at one
// point of T, anywhere in the witness box, which surely contains a point of the real T
// (docs/concentration.md, section 6). enough is as in failUp.
func (n *noisy) safeUp(task *property.Task, witness property.Box, tau, enough float64) (up float64, err error) {
	if _, err := tausOf([]float64{tau}, 1); err != nil {
		return 1, err
	}
	s := negatedRows(&task.S)
	up = 1
	for try := range uint64(tries) {
		if up = min(up, n.newCellPass(witness, tau, try).holdsUp(&s)); up <= enough {
			break
		}
	}
	return up, nil
}

// negatedRows is S with each row negated: what is a bound of these rows from below is one of the
// rows from above.
func negatedRows(s *property.Safe) property.Safe {
	n := property.Safe{Any: s.Any}
	for r := range s.Rows {
		n.Rows = append(n.Rows, s.Rows[r].Negated())
	}
	return n
}
