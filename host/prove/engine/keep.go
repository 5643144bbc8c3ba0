package engine

// Keep holds what one method prepares of an engine's posterior: a value for each engine, made by New when it is first
// asked for, and given back by Release, which may be nil, with the engine. Keeps are variables of their methods.
type Keep[T any] struct {
	New     func(e *Engine) *T
	Release func(*T)
}

// Of returns what is kept with an engine. What it holds is for the goroutine that works with the engine.
func (k *Keep[T]) Of(e *Engine) *T {
	e.keeping.Lock()
	defer e.keeping.Unlock()
	if v, known := e.kept[k]; known {
		return v.(*T)
	}
	v := k.New(e)
	if e.kept == nil {
		e.kept = map[any]any{}
	}
	e.kept[k] = v
	if k.Release != nil {
		e.releases = append(e.releases, func() { k.Release(v) })
	}
	return v
}
