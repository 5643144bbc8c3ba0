package format

import (
	"slices"
	"strings"

	"psafe/host/read/format/graph"
)

// Suggested maps of residual networks. A block is what the parts of names but the last have in
// common, such as layer1.0; a word says which of its layers are on the shortcut. Blocks of the
// same names without such a layer have an identity there.

// sideWords are those of layers on shortcuts; numbers behind them do not count.
var sideWords = []string{"downsample", "shortcut", "skip", "proj", "projection", "residual", "identity"}

// sideOf is the block of a layer on a shortcut: the words before that which says so.
func (c *candidate) sideOf() (block string, ok bool) {
	words := strings.Split(c.key, ".")
	k := slices.IndexFunc(words, func(w string) bool { return slices.Contains(sideWords, strings.TrimRight(w, "0123456789")) })
	return strings.Join(words[:max(k, 0)], "."), k > 0
}

// inside is the name of a layer in the block, or in what only has its name at the beginning.
func (c *candidate) inside(block string) (rest string, ok bool) {
	return strings.CutPrefix(c.key, block+".")
}

// apart takes the layers on shortcuts out of the list.
func apart(list []candidate) (main, sides []candidate) {
	for _, c := range list {
		if block, ok := c.sideOf(); ok && slices.ContainsFunc(list, func(o candidate) bool {
			_, beside := o.sideOf()
			_, in := o.inside(block)
			return in && !beside
		}) {
			c.block, c.side = block, true
			sides = append(sides, c)
			continue
		}
		main = append(main, c)
	}
	return main, sides
}

// arranged is the order of a list of layers with their shortcuts, as arrange has it.
func (t *tensorFile) arranged(list []candidate) (order []candidate, layout, note string) {
	if main, sides := apart(list); len(sides) > 0 {
		order, layout, note = arrange(t.orders(main))
		if order, ok := joined(order, t.orders(sides)[0], layout); ok {
			return order, layout, note
		}
	}
	return arrange(t.orders(list))
}

// joined marks the blocks in an order and puts the layers of shortcuts behind those beside them;
// ok is false if they do not fit.
func joined(main, sides []candidate, layout string) (order []candidate, ok bool) {
	order = slices.Clone(main)
	names := map[string]bool{}
	for len(sides) > 0 {
		block := sides[0].block
		var own []candidate
		own, sides = split(sides, block)
		from, to := standing(order, block)
		if to == from || !fits(order, from, to, own, layout) {
			return nil, false
		}
		names[inner(order[from:to], block)] = true
		for i := from; i < to; i++ {
			order[i].block = block
		}
		order = slices.Insert(order, to, own...)
	}
	return identities(order, layout, func(of []candidate, block string) bool { return names[inner(of, block)] }), true
}

// guessed marks what may be blocks where no name says so: those of two layers or more that keep
// the channels. It is nil if there are none.
func guessed(order []candidate, layout string) []candidate {
	if slices.ContainsFunc(order, func(c candidate) bool { return c.block != "" }) {
		return nil
	}
	marked := identities(order, layout, func(of []candidate, _ string) bool {
		weights := 0
		for _, c := range of {
			if !c.norm() {
				weights++
			}
		}
		return weights > 1
	})
	if !slices.ContainsFunc(marked, func(c candidate) bool { return c.block != "" }) {
		return nil
	}
	return marked
}

// identities marks blocks without layers on their shortcut, where is says so.
func identities(order []candidate, layout string, is func(of []candidate, block string) bool) []candidate {
	order = slices.Clone(order)
	for i := range order {
		for end := len(order[i].key); order[i].block == ""; {
			if end = strings.LastIndexByte(order[i].key[:end], '.'); end < 0 {
				break
			}
			block := order[i].key[:end]
			from, to := standing(order, block)
			if from != i || !is(order[from:to], block) || !fits(order, from, to, nil, layout) {
				continue
			}
			for k := from; k < to; k++ {
				order[k].block = block
			}
		}
	}
	return order
}

// split takes the layers of a block out of those on shortcuts.
func split(sides []candidate, block string) (own, others []candidate) {
	for _, c := range sides {
		if c.block == block {
			own = append(own, c)
		} else {
			others = append(others, c)
		}
	}
	return own, others
}

// standing is where the layers of a block stand, one behind the other and in no other block, else
// nowhere.
func standing(order []candidate, block string) (from, to int) {
	in := func(c candidate) bool { _, ok := c.inside(block); return ok && c.block == "" }
	from = slices.IndexFunc(order, in)
	if from < 0 {
		return 0, 0
	}
	for to = from; to < len(order) && in(order[to]); to++ {
	}
	if slices.ContainsFunc(order[to:], in) {
		return 0, 0
	}
	return from, to
}

// inner are the names of layers without their block's.
func inner(of []candidate, block string) string {
	var names []string
	for _, c := range of {
		name, _ := c.inside(block)
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// fits says whether the shortcut gives what the layers from from to to give.
func fits(order []candidate, from, to int, side []candidate, layout string) bool {
	layouts := []string{layout}
	if layout == toFill {
		layouts = []string{layoutOI, layoutIO}
	}
	return slices.ContainsFunc(layouts, func(layout string) bool {
		main, ok := passed(flow{}, order[:from], layout)
		if from == 0 {
			main = flow{order[0].inputs(layout), order[0].conv()}
		}
		beside, okSide := passed(main, side, layout)
		main, okMain := passed(main, order[from:to], layout)
		return ok && okSide && okMain && beside == main
	})
}

// passed is what a list of layers makes of what comes in, past the shortcuts.
func passed(in flow, list []candidate, layout string) (out flow, ok bool) {
	beside := len(list) > 0 && list[0].side
	for _, c := range list {
		if c.side != beside {
			continue
		}
		if in, ok = c.after(in, layout); !ok {
			return in, false
		}
	}
	return in, true
}

// inputs are those of a layer, or its channels.
func (c *candidate) inputs(layout string) int {
	switch {
	case c.norm():
		return c.shape[0]
	case layout == layoutOI:
		return c.shape[1]
	}
	return c.shape[len(c.shape)-2]
}

// joiner follows the blocks while fill writes their layers.
type joiner struct {
	m *tensorMap
	// start is the name of the layer in front of the block, main that of its last one.
	start, main       string
	startFlow, behind flow
	preactivated      bool
}

// named is the name of the last layer of the map, which it gets if it has none.
func (j *joiner) named(c string) string {
	if len(j.m.Layers) == 0 {
		return graph.InputName
	}
	l := &j.m.Layers[len(j.m.Layers)-1]
	if l.Name == "" {
		l.Name = "after " + c
	}
	return l.Name
}

// before is called in front of layer k, and says from where it comes if it is not the layer
// before.
func (j *joiner) before(order []candidate, k int, at *flow) (from []string) {
	c := &order[k]
	begins := c.block != "" && (k == 0 || order[k-1].block != c.block)
	if begins {
		last := ""
		if k > 0 {
			last = order[k-1].key
		}
		j.start, j.startFlow, j.preactivated = j.named(last), *at, c.norm()
	}
	if c.side && !order[k-1].side {
		*at = j.startFlow
		return []string{j.start}
	}
	return nil
}

// ends says whether layer k is the last of its block or before the shortcut, or of the shortcut.
func ends(order []candidate, k int) bool {
	c := &order[k]
	return c.block != "" && (k+1 == len(order) || order[k+1].block != c.block || order[k+1].side != c.side)
}

// after is called behind layer k, and writes the sum at the end of a block.
func (j *joiner) after(order []candidate, k int, at *flow) {
	if !ends(order, k) {
		return
	}
	c := &order[k]
	ended := j.named(c.key)
	beside := j.start
	if c.side {
		beside = ended
	} else {
		j.main, j.behind = ended, *at
	}
	if !c.side && k+1 < len(order) && order[k+1].block == c.block {
		return // the shortcut comes
	}
	sum := mapLayer{Name: "sum of " + c.block, Kind: graph.Add, From: []string{j.main, beside}, Activation: toFill}
	if j.preactivated || k+1 == len(order) {
		sum.Activation = ""
	}
	j.m.Layers, *at = append(j.m.Layers, sum), j.behind
}
