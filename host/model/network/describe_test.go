package network_test

import (
	"testing"

	"psafe/host/model/network"
)

func TestDescribe(t *testing.T) {
	image := network.Image{Height: 6, Width: 5, Channels: 2}
	padded := window(3, 2)
	padded.Before, padded.After = [2]int{1, 1}, [2]int{1, 1}
	uneven := window(2, 1)
	uneven.After, uneven.Dilation = [2]int{1, 0}, [2]int{2, 1}
	for want, m := range map[string]network.Map{
		"64 x 32":                         network.Dense{In: 64, Out: 32},
		"convolution 3x3, 6x5x2 to 4x3x4": network.Conv{In: image, Window: window(3, 1), Filters: 4, Groups: 1},
		"convolution 3x3, 6x5x2 to 3x3x4, stride 2, padding 1, by channel, channels first": network.Conv{In: image, Window: padded, Filters: 4, Groups: 2, ChannelsFirst: true},
		"convolution 2x2, 6x5x2 to 5x4x4, dilation 2x1, padding 0 before and 1x0 after":    network.Conv{In: image, Window: uneven, Filters: 4, Groups: 1},
		"convolution 1x1, 1x1x4 to 1x1x4, 2 groups":                                        network.Conv{In: network.Image{Height: 1, Width: 1, Channels: 4}, Window: window(1, 1), Filters: 4, Groups: 2},
		"max pool 2x2, 6x5x2 to 3x2x2, stride 2":                                           network.MaxPool{In: image, Window: window(2, 2)},
		"average pool 3x3, 6x5x2 to 3x3x2, stride 2, padding 1 that counts":                network.AvgPool{In: image, Window: padded, CountPadding: true},
		"average pool 3x3, 6x5x2 to 3x3x2, stride 2, padding 1":                            network.AvgPool{In: image, Window: padded},
		"sum of 2 x 60":                network.Add{N: 60, Terms: 2},
		"2 images put together, 6x5x3": network.Concat{Height: 6, Width: 5, Channels: []int{2, 1}},
		"2 of 60 in another order":     network.Reorder{In: 60, Order: []int32{3, 1}},
	} {
		if got := network.Describe(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
