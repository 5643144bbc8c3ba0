package prove

import (
	"context"

	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// Certified certifies tasks on an engine by a method that takes groups, with all that was asked for beside.
func Certified(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	w, err := cfg.way()
	if err != nil {
		return nil, err
	}
	return w.run.(groups).full(ctx, &job{&engine.Run{Engines: []*engine.Engine{e}, Tasks: tasks}, w, cfg}, e, tasks)
}
