package property

import (
	"fmt"
	"math"
	"slices"
)

// Check returns an error unless the task fits a network with the given numbers of inputs and
// outputs (at least 1; it panics otherwise) and is well-formed: at least one box; in every box a
// finite Lo[j] <= Hi[j] for each input; an inner box inside of each or none; in every row a finite
// CLo[i] <= CHi[i] for each output and a finite D <= DHi; alternatives that point to rows there
// are; a label below outputs. The error is one line that names the task and the place.
func (t *Task) Check(inputs, outputs int) error {
	needOutputs("Check", outputs)
	if inputs < 1 {
		panic(fmt.Sprintf("property: Check: a network with %d inputs", inputs))
	}
	err := t.checkBoxes(inputs)
	if err == nil {
		err = t.checkInner(inputs)
	}
	if err == nil {
		err = t.checkBall(inputs)
	}
	if err == nil {
		err = t.S.check(outputs)
	}
	if err == nil && (t.Label < -1 || t.Label >= outputs) {
		err = fmt.Errorf("class %d is not among the %d outputs of the network; choose 0 to %d", t.Label, outputs, outputs-1)
	}
	if err == nil {
		return nil
	}
	if t.Name != "" {
		return fmt.Errorf("task %d (%s): %w", t.Index, quote(t.Name), err)
	}
	return fmt.Errorf("task %d: %w", t.Index, err)
}

// CheckShape returns an error unless the input has the shape that the task's file says, where both
// are known. Axes of 1 do not count, since numbers in row-major order stay where they are without
// them, nor does a shape of one axis, which is the flattened input; but in images whose channels
// come last every number would be another one where the network takes them first.
func (t *Task) CheckShape(shape []int) error {
	task, network := longAxes(t.Shape), longAxes(shape)
	if len(task) < 2 || len(network) < 2 || slices.Equal(task, network) {
		return nil
	}
	return fmt.Errorf("the query's input has the shape %v, the network takes %v: write the query for that shape, as numbers are taken in row-major order", t.Shape, shape)
}

func (t *Task) checkBoxes(inputs int) error {
	if len(t.T) == 0 {
		return fmt.Errorf("has no input box; give at least one")
	}
	for b, box := range t.T {
		if len(box.Lo) != inputs || len(box.Hi) != inputs {
			return fmt.Errorf("box %d has %d coordinates, the network has %d inputs; give one pair for each", b, len(box.Lo), inputs)
		}
		for j := range box.Lo {
			if !ordered(box.Lo[j], box.Hi[j]) {
				return fmt.Errorf("box %d: coordinate %d: from %v to %v is not a finite interval; mend its ends", b, j, box.Lo[j], box.Hi[j])
			}
		}
	}
	return nil
}

// check is the part of Check on the safe set.
func (s *Safe) check(outputs int) error {
	for r, row := range s.Rows {
		if len(row.CLo) != outputs || len(row.CHi) != outputs {
			return fmt.Errorf("row %d has %d coefficients, the network has %d outputs; give one for each", r, len(row.CLo), outputs)
		}
		for i := range row.CLo {
			if !ordered(row.CLo[i], row.CHi[i]) {
				return fmt.Errorf("row %d: coefficient %d: from %v to %v is not a finite interval; mend it", r, i, row.CLo[i], row.CHi[i])
			}
		}
		if !ordered(row.D, row.DHi) {
			return fmt.Errorf("row %d: offset from %v to %v is not a finite interval; mend it", r, row.D, row.DHi)
		}
	}
	for g, gate := range s.Gates {
		if gate.Need < 1 || gate.Need > len(gate.Of) {
			return fmt.Errorf("gate %d needs %d of %d members; mend the safe set", g, gate.Need, len(gate.Of))
		}
		if err := s.members(gate.Of, g); err != nil {
			return fmt.Errorf("gate %d %w", g, err)
		}
	}
	for a, all := range s.Any {
		if err := s.members(all, len(s.Gates)); err != nil {
			return fmt.Errorf("alternative %d %w", a, err)
		}
	}
	return nil
}

// members returns which of a list is neither a row nor one of the first gates.
func (s *Safe) members(list []int, gates int) error {
	for _, m := range list {
		if m >= len(s.Rows) {
			return fmt.Errorf("refers to row %d of %d; mend the safe set", m, len(s.Rows))
		}
		if m < 0 && ^m >= gates {
			return fmt.Errorf("refers to gate %d of %d before it; mend the safe set", ^m, gates)
		}
	}
	return nil
}

// ordered reports whether lo <= hi and both are finite; NaN is not.
func ordered(lo, hi float64) bool {
	return lo <= hi && lo >= -math.MaxFloat64 && hi <= math.MaxFloat64
}
