package certify

import (
	"context"
	"os"
	"runtime/pprof"
	"strconv"

	"psafe/host/bound"
	"psafe/host/property"
)

func env(name string, def int) int {
	if v, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return v
	}
	return def
}

// byPhases proves cells of the stack.
func (r *search) byPhases(ctx context.Context) error {
	if r.Engine.normal.Inputs() <= fewInputs || !bound.CanSplit(r.net) {
		return nil
	}
	m := r.Engine.model
	if f := os.Getenv("PHASE_PROF"); f != "" {
		w, _ := os.Create(f)
		pprof.StartCPUProfile(w)
		defer pprof.StopCPUProfile()
	}
	kept := r.stack[:0]
	for _, o := range r.stack {
		ok, err := r.phaseCell(m, o)
		if err != nil {
			return err
		}
		if !ok {
			kept = append(kept, o)
		}
	}
	r.stack = kept
	return nil
}

func (r *search) phaseCell(m *bound.Model, o open) (bool, error) {
	task := &r.Tasks[o.task]
	boxes, err := m.Upload([]bound.Explicit{enclose(r.Weights, m.Device().Precision())})
	if err != nil {
		return false, err
	}
	defer m.ReleaseBoxes(boxes)
	in, dr, release, err := upload(m, []property.Box{o.box}, [][]property.Row{task.S.Rows})
	if err != nil {
		return false, err
	}
	defer release()
	s := m.NewSplits(boxes, in, dr)
	defer s.Release()
	p := &phased{s: s, box: o.box, last: len(r.net) - 1, over: r.over, rows: len(task.S.Rows)}
	if err := p.root(len(r.net), env("ROOT_ITS", 20)); err != nil {
		return false, err
	}
	if err := p.tree(env("ROW_ITS", 40), env("ITS", 10), env("CANDIDATES", 1), env("BATCH", 64)); err != nil {
		if err == errStopped {
			return false, nil
		}
		return false, err
	}
	return true, nil
}
