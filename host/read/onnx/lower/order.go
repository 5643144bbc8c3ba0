package lower

import (
	"container/heap"
	"fmt"
	"slices"
	"sort"

	"psafe/host/read/onnx"
)

// needed are the nodes that the output depends on, each after those that it takes something of:
// in the order of the file where that is one, as the format demands. Names say what feeds what,
// so another order is no other network. Nodes that feed each other are an error.
func needed(g *onnx.Graph) ([]*onnx.Node, error) {
	by, err := givers(g)
	if err != nil {
		return nil, err
	}
	wanted := make([]bool, len(g.Nodes))
	var open []int
	want := func(name string) {
		if i, there := by[name]; there && !wanted[i] {
			wanted[i] = true
			open = append(open, i)
		}
	}
	want(g.Outputs[0].Name)
	for len(open) > 0 {
		n := &g.Nodes[open[len(open)-1]]
		open = open[:len(open)-1]
		for _, name := range n.Inputs {
			want(name)
		}
	}
	// A node waits for the nodes whose outputs it takes; next has those that wait for none, of
	// which the first of the file goes on.
	waits, waiting := make([]int, len(g.Nodes)), make([][]int, len(g.Nodes))
	var list []*onnx.Node
	var next leastFirst
	for i := range g.Nodes {
		if !wanted[i] {
			continue
		}
		for _, name := range g.Nodes[i].Inputs {
			if from, there := by[name]; there {
				waits[i]++
				waiting[from] = append(waiting[from], i)
			}
		}
		if waits[i] == 0 {
			heap.Push(&next, i)
		}
	}
	for next.Len() > 0 {
		i := heap.Pop(&next).(int)
		list = append(list, &g.Nodes[i])
		wanted[i] = false
		for _, k := range waiting[i] {
			if waits[k]--; waits[k] == 0 {
				heap.Push(&next, k)
			}
		}
	}
	if i := slices.Index(wanted, true); i >= 0 {
		return nil, fmt.Errorf("%v: it takes what depends on its own output", &g.Nodes[i])
	}
	return list, nil
}

// givers says which node gives each tensor that no initialiser and no input is.
func givers(g *onnx.Graph) (map[string]int, error) {
	given, by := map[string]bool{}, map[string]int{}
	for _, t := range g.Initializers {
		given[t.Name] = true
	}
	for _, v := range g.Inputs {
		given[v.Name] = true
	}
	for i := range g.Nodes {
		for _, name := range g.Nodes[i].Outputs {
			if name == "" {
				continue
			}
			if given[name] {
				return nil, fmt.Errorf("%v: something else is named %.60q too", &g.Nodes[i], name)
			}
			given[name] = true
			by[name] = i
		}
	}
	return by, nil
}

// leastFirst is a heap.
type leastFirst struct{ sort.IntSlice }

// Push and Pop are those of container/heap.
func (p *leastFirst) Push(n any) { p.IntSlice = append(p.IntSlice, n.(int)) }

func (p *leastFirst) Pop() any {
	last := len(p.IntSlice) - 1
	n := p.IntSlice[last]
	p.IntSlice = p.IntSlice[:last]
	return n
}
