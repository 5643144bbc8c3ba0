package networktest

import (
	"fmt"
	"math/big"

	"psafe/host/model/network"
)

// padded is an image inside of its padding, [rows][columns][channels], nil in the padding.
func padded(z []*big.Rat, s network.Image, w network.Window, channelsFirst bool) [][][]*big.Rat {
	image := make([][][]*big.Rat, w.Before[0]+s.Height+w.After[0])
	for y := range image {
		image[y] = make([][]*big.Rat, w.Before[1]+s.Width+w.After[1])
		for x := range image[y] {
			image[y][x] = make([]*big.Rat, s.Channels)
		}
	}
	for i, v := range z {
		if channelsFirst {
			image[w.Before[0]+i/s.Width%s.Height][w.Before[1]+i%s.Width][i/(s.Width*s.Height)] = v
		} else {
			image[w.Before[0]+i/(s.Channels*s.Width)][w.Before[1]+i/s.Channels%s.Width][i%s.Channels] = v
		}
	}
	return image
}

// windows calls visit for every place where a window fits a padded image.
func windows(image [][][]*big.Rat, w network.Window, visit func(at [][][]*big.Rat)) {
	reach := func(d int) int { return (w.Size[d] - 1) * w.Dilation[d] }
	for y := 0; y+reach(0) < len(image); y += w.Stride[0] {
		for x := 0; x+reach(1) < len(image[0]); x += w.Stride[1] {
			at := make([][][]*big.Rat, w.Size[0])
			for a := range at {
				for b := range w.Size[1] {
					at[a] = append(at[a], image[y+a*w.Dilation[0]][x+b*w.Dilation[1]])
				}
			}
			visit(at)
		}
	}
}

// Map computes what a map makes of its inputs, in rational numbers, by the definitions.
func Map(m network.Map, weight, bias []float64, z []*big.Rat) (zeta []*big.Rat) {
	switch m := m.(type) {
	case network.Dense:
		for i := range m.Out {
			sum := Rat(bias[i])
			for j, v := range z {
				sum.Add(sum, new(big.Rat).Mul(Rat(weight[j*len(bias)+i]), v))
			}
			zeta = append(zeta, sum)
		}
	case network.Conv:
		windows(padded(z, m.In, m.Window, m.ChannelsFirst), m.Window, func(at [][][]*big.Rat) {
			for o := range m.Filters {
				zeta = append(zeta, new(big.Rat).Add(convolved(m, weight, at, o), Rat(bias[o])))
			}
		})
	case network.AvgPool:
		pool(m.In, m.Window, z, func(all []*big.Rat) {
			sum := new(big.Rat)
			for _, v := range all {
				sum.Add(sum, v)
			}
			n := len(all)
			if m.CountPadding {
				n = m.Window.Size[0] * m.Window.Size[1]
			}
			zeta = append(zeta, sum.Quo(sum, big.NewRat(int64(n), 1)))
		})
	case network.MaxPool:
		pool(m.In, m.Window, z, func(all []*big.Rat) {
			most := all[0]
			for _, v := range all {
				if v.Cmp(most) > 0 {
					most = v
				}
			}
			zeta = append(zeta, most)
		})
	case network.Add:
		for i := range m.N {
			sum := new(big.Rat)
			for t := range m.Terms {
				sum.Add(sum, z[t*m.N+i])
			}
			zeta = append(zeta, sum)
		}
	case network.Concat:
		for pixel := range m.Height * m.Width {
			rest := z
			for _, n := range m.Channels {
				zeta = append(zeta, rest[pixel*n:(pixel+1)*n]...)
				rest = rest[m.Height*m.Width*n:]
			}
		}
	case network.Reorder:
		for _, j := range m.Order {
			zeta = append(zeta, z[j])
		}
	default:
		panic(fmt.Sprintf("networktest: a %T", m))
	}
	return zeta
}

// convolved returns what is under a window times filter o.
func convolved(c network.Conv, weight []float64, at [][][]*big.Rat, o int) *big.Rat {
	sum := new(big.Rat)
	channels, filters := c.In.Channels/c.Groups, c.Filters/c.Groups
	g := o / filters
	k := 0 // rows, columns, channels of the group
	for _, row := range at {
		for _, pixel := range row {
			for _, v := range pixel[g*channels : (g+1)*channels] {
				if v != nil {
					sum.Add(sum, new(big.Rat).Mul(v, Rat(weight[k*c.Filters+o])))
				}
				k++
			}
		}
	}
	return sum
}

// pool calls visit with what lies in every window, channel by channel.
func pool(s network.Image, w network.Window, z []*big.Rat, visit func(all []*big.Rat)) {
	windows(padded(z, s, w, false), w, func(at [][][]*big.Rat) {
		for ch := range s.Channels {
			var all []*big.Rat
			for _, row := range at {
				for _, pixel := range row {
					if pixel[ch] != nil {
						all = append(all, pixel[ch])
					}
				}
			}
			visit(all)
		}
	})
}
