package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/internal/fault"
	"psafe/internal/vector"
)

// A CPU computes in two ways: by the loops of package fallback, which are there at once, and,
// where its OpenCL driver is installed, by kernels compiled for it, which are faster but have to be
// loaded and tested first. No bit of a result depends on which.

// loops are, for each set of vectors, how many multiplications the loops do in a second on one
// core, and how many times as fast PoCL is (docs/performance.md).
var loops = map[vector.Set]struct{ rate, slower float64 }{
	vector.None: {1.5e9, 6}, vector.AVX2: {4e9, 2}, vector.AVX512: {5e9, 1.6},
}

// shortApprox is up to how many seconds the loops may take for a job that is not worth the start of a GPU, which takes
// two and more: by an estimate, which may be a tenth of the truth.
var shortApprox = 0.1

// startApprox is the number of seconds that an OpenCL CPU takes until it computes, with kernels
// that its driver has compiled before.
const startApprox = 0.8

// gainApprox returns how many seconds an OpenCL CPU saves, of so many that the loops take for so
// many multiplications.
func gainApprox(work float64, v vector.Set, cores int) (gain, seconds float64) {
	l := loops[v]
	seconds = work / (l.rate * float64(cores))
	return seconds * (1 - 1/l.slower), seconds
}

// chooseDevice is what --device auto means: the largest GPU that lists itself and passes
// its self-test in a child, unless the job is short, or a CPU. What it passes over is told in a line each.
func (s *supervised) chooseDevice(ctx context.Context, p bound.Precision) (string, error) {
	note := func(err error) { s.later(inLine(err)) }
	wait := s.estimate(ctx)
	found, err := s.list(ctx)
	wait()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		note(fmt.Errorf("computing on the CPU: %w when it was asked for its devices (--device cpu does not ask it)", err))
		return "cpu", nil
	}
	for _, err := range found.failed {
		note(err)
	}
	gpus := slices.DeleteFunc(slices.Clone(found.devices), func(r deviceRow) bool { return !strings.Contains(r.Type, "GPU") })
	slices.SortStableFunc(gpus, func(a, b deviceRow) int { return cmp.Compare(b.Memory, a.Memory) })
	if set, short := s.short(); short && len(gpus) > 0 {
		s.choseLoops(set, tooShort, gpus[0].ID)
		return "cpu", nil
	}
	for _, g := range gpus {
		both, where := g.ID+withCores, fmt.Sprintf("(--device %s)", g.ID)
		if coresBeside(runtime.GOMAXPROCS(0)) > 0 {
			where = fmt.Sprintf("in bulk also on the CPU (--device %s; %s is the GPU alone)", both, g.ID)
		}
		err := s.take(ctx, both, p, fmt.Sprintf("computing on the GPU %s, %s", g.Name, where))
		if err == nil {
			return both, nil
		} else if isLast(ctx, err) {
			return "", err
		}
		note(fmt.Errorf("the GPU %s (%s) is left out: %w", g.Name, g.ID, err))
	}
	if len(gpus) > 0 {
		note(errors.New("computing on the CPU, since no GPU is left"))
		return "cpu", nil
	}
	return s.chooseCPU(ctx, p, found.devices)
}

// chooseCPU is chooseDevice without GPUs: the first OpenCL CPU that passes its self-test, if the
// work is worth its start, or the loops.
func (s *supervised) chooseCPU(ctx context.Context, p bound.Precision, devices []deviceRow) (string, error) {
	set, err := vector.InUse()
	if s.work == nil || err != nil {
		return "cpu", err
	}
	for _, d := range devices {
		if !strings.Contains(d.Type, "CPU") || p == bound.Float64 && !d.FP64 {
			continue
		}
		work := s.work()
		gain, seconds := gainApprox(work, set, runtime.GOMAXPROCS(0))
		if !(gain >= startApprox) {
			why := tooShort
			if work == 0 {
				why = "how long it takes is not known, which OpenCL might shorten"
			}
			s.choseLoops(set, why, d.ID)
			return "cpu", nil
		}
		err := s.take(ctx, d.ID, p, fmt.Sprintf("computing on the CPU by OpenCL, %s (--device %s): loops would take about %.0f s or more", d.Name, d.ID, seconds))
		if err == nil {
			return d.ID, nil
		} else if isLast(ctx, err) {
			return "", err
		}
		s.later(inLine(fmt.Errorf("the OpenCL device %s (%s) is left out: %w", d.Name, d.ID, err)))
	}
	return "cpu", nil
}

// short reports whether the job is not worth the start of a GPU.
func (s *supervised) short() (vector.Set, bool) {
	set, err := vector.InUse()
	if s.work == nil || err != nil {
		return set, false
	}
	work := s.work()
	_, seconds := gainApprox(work, set, runtime.GOMAXPROCS(0))
	return set, work > 0 && seconds <= shortApprox
}

const tooShort = "too short to wait for OpenCL"

// choseLoops notes why the loops were chosen, and not a device.
func (s *supervised) choseLoops(set vector.Set, why, id string) {
	s.chosen(fmt.Sprintf("computing on the CPU by loops (vectors: %v): %s (--device %s takes it all the same)", set, why, id))
}

// estimate has the work estimated, for which files are read: beside what is done before wait, if nothing is lost by
// that (a campaign's is estimated in its folder, where no child is to begin). It is not known where ctx ends first.
func (s *supervised) estimate(ctx context.Context) (wait func()) {
	work, done := s.work, make(chan float64, 1)
	if work == nil {
		return func() {}
	}
	if s.quick {
		fault.Go(nil, func() { done <- work() })
	} else {
		done <- work()
	}
	return func() {
		known := 0.0
		select {
		case known = <-done:
		case <-ctx.Done():
		}
		s.work = func() float64 { return known }
	}
}

// chosen notes what was chosen, if anybody wants to know.
func (s *supervised) chosen(line string) {
	if s.explain {
		s.later(line)
	}
}

// workApprox is about how many multiplications a job takes, 0 if that cannot be told: what is
// wrong with its files, the job itself will say, and a pipe is for the job itself to read.
func workApprox(job *certify.Job) float64 {
	if job.Piped() {
		return 0
	}
	alone := *job
	alone.Out, alone.TotalTimeLimit, alone.Note = certify.Output{}, nil, nil
	prepared, err := alone.Prepare()
	if err != nil {
		return 0
	}
	defer prepared.Close()
	work, err := prepared.WorkApprox()
	if err != nil {
		return 0
	}
	return work
}
