package posterior

import (
	"fmt"
	"slices"
	"strings"

	"psafe/host/model/network"
)

// describeDropout names dropout with a rate for each layer: of DropConnect, which files state as three layers
// (docs/files.md), those of its weights.
func (p *Posterior) describeDropout() string {
	var inputs, weights []string
	dropped := false
	for k := 0; k < len(p.Layers); k++ {
		if p.connects(k) {
			inputs, weights = append(inputs, "0"), append(weights, fmt.Sprint(p.dropout[k+1]))
			k += 2
			continue
		}
		dropped = dropped || p.dropout[k] > 0
		inputs, weights = append(inputs, fmt.Sprint(p.dropout[k])), append(weights, "0")
	}
	if n := len(p.Layers); p.connects(n-4) && p.only(n-1) { // a file's graph may not end with a convolution
		inputs, weights = inputs[:len(inputs)-1], weights[:len(weights)-1]
	}
	of, connect := "MC dropout with rates "+strings.Join(inputs, ", "), "DropConnect with rates "+strings.Join(weights, ", ")
	switch {
	case len(inputs) == len(p.Layers):
		return of
	case dropped:
		return of + " and " + connect
	}
	return connect
}

// connects reports whether layers k to k+2 are a dense layer of DropConnect: each input is repeated for each output,
// times a weight that may be dropped, and what belongs to an output is added up.
func (p *Posterior) connects(k int) bool {
	if k < 0 || k+2 >= len(p.Layers) {
		return false
	}
	net := p.Network()
	repeat, isRepeat := net[k].Map.(network.Reorder)
	gain, isGain := net[k+1].Map.(network.Conv)
	sum, isSum := net[k+2].Map.(network.Conv)
	if !isRepeat || !isGain || !isSum || !gain.Gain() || !slices.Equal(net.Feed(k+1), []int{k}) || !slices.Equal(net.Feed(k+2), []int{k + 1}) {
		return false
	}
	n := len(repeat.Order) / repeat.In
	for e, from := range repeat.Order {
		if int(from) != e/n {
			return false
		}
	}
	return gain.In.Channels == len(repeat.Order) && sum.Filters == n && sum.Groups == n && sum.In == (network.Image{Height: 1, Width: repeat.In, Channels: n}) &&
		sum.Window.Size == [2]int{1, repeat.In} && !sum.ChannelsFirst && !slices.ContainsFunc(p.Layers[k+2].Weight.Mean, func(w float64) bool { return w != 1 })
}

// only reports whether layer k gives out what feeds it, as it is.
func (p *Posterior) only(k int) bool {
	l := &p.Layers[k]
	dense, ok := l.Map.(network.Dense)
	if !ok || dense.In != dense.Out || p.dropout[k] != 0 {
		return false
	}
	for j := range dense.In {
		for o := range dense.Out {
			if w := l.Weight.Mean[j*dense.Out+o]; (w == 1) != (j == o) || w != 0 && w != 1 {
				return false
			}
		}
	}
	return !slices.ContainsFunc(l.Bias.Mean, func(b float64) bool { return b != 0 })
}
