package convtest

import (
	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

var relu = network.Activation{Kind: network.ReLU}

// nets are the networks. Images are channels last; a pool comes before the activation of the
// layer that it follows, as networks want it.
var nets = []Net{
	// A convolution, a max pool and two dense layers.
	{"tinyA", network.Image{Height: 6, Width: 6, Channels: 2}, func(b *builder) {
		b.conv(100, 3, 3, 0, .5, tinySd)
		b.maxPool(2, 2)
		b.relu()
		b.dense(110, 8, .5, tinySd)
		b.relu()
		b.dense(120, 3, 1, tinySd)
	}},
	// Padding, an average pool, and a residual block with certain batch norms, one gain of
	// which is negative.
	{"tinyB", network.Image{Height: 6, Width: 6, Channels: 1}, func(b *builder) {
		b.conv(200, 3, 3, 1, 1, tinySd)
		b.relu()
		skip := b.avgPool(2)
		b.conv(210, 3, 3, 1, .5, tinySd)
		b.norm([]float64{1.25, .75, -1}, []float64{.125, 0, .25})
		b.relu()
		b.conv(220, 3, 3, 1, .5, tinySd)
		end := b.norm([]float64{1, .5, .75}, []float64{0, .25, -.125})
		b.add(end, skip)
		b.relu()
		b.dense(230, 3, .5, tinySd)
	}},
	// Two convolutions and a max pool whose windows overlap.
	{"tinyC", network.Image{Height: 8, Width: 8, Channels: 1}, func(b *builder) {
		b.conv(300, 3, 2, 0, .5, tinySd)
		b.relu()
		b.conv(310, 2, 3, 0, .5, tinySd)
		b.maxPool(3, 2)
		b.relu()
		b.dense(320, 3, 1, tinySd)
	}},
	// A residual block with an uncertain shortcut, so that two layers have one level, and a
	// max pool of their sum.
	{"tinyD", network.Image{Height: 6, Width: 6, Channels: 2}, func(b *builder) {
		first := b.conv(400, 3, 2, 1, .5, tinySd)
		b.relu()
		one := b.conv(410, 3, 3, 1, .5, tinySd)
		b.from(first)
		two := b.conv(420, 1, 3, 0, 1, tinySd)
		b.add(one, two)
		b.maxPool(2, 2)
		b.relu()
		b.dense(430, 3, .5, tinySd)
	}},
	// As small as a convolution, a max pool behind one and a residual block get, for tests that count
	// every call of a device.
	{"leastConv", network.Image{Height: 3, Width: 3, Channels: 1}, func(b *builder) {
		b.conv(900, 2, 2, 0, .5, tinySd)
		b.relu()
		b.dense(910, 2, 1, tinySd)
	}},
	{"leastPool", network.Image{Height: 3, Width: 3, Channels: 1}, func(b *builder) {
		b.conv(930, 2, 2, 0, .5, tinySd)
		b.maxPool(2, 1)
		b.relu()
		b.dense(940, 2, 1, tinySd)
	}},
	{"leastSum", network.Image{Height: 3, Width: 3, Channels: 1}, func(b *builder) {
		skip := b.conv(960, 2, 2, 0, .5, tinySd)
		b.relu()
		end := b.conv(970, 1, 2, 0, .5, tinySd)
		b.add(end, skip)
		b.relu()
		b.dense(980, 2, 1, tinySd)
	}},
	// Two convolutions and two max pools on images of MNIST's size.
	{"mnist_lenet", network.Image{Height: 28, Width: 28, Channels: 1}, func(b *builder) {
		b.conv(500, 5, 4, 0, .5, 0x1p-10)
		b.maxPool(2, 2)
		b.relu()
		b.conv(510, 3, 8, 0, .25, 0x1p-10)
		b.maxPool(2, 2)
		b.relu()
		b.dense(520, 10, .25, 0x1p-10)
	}},
	// The mean of 16 uses of one weight N(1, 1/4) at x = 1: y is that weight, so that
	// P_safe of y >= 0 is Phi(2) = 0.97725. Who takes the 16 uses for independent proves more.
	{"global_average", network.Image{Height: 4, Width: 4, Channels: 1}, func(b *builder) {
		b.put(network.Conv{In: b.shape, Window: square(1, 1, 0), Filters: 1, Groups: 1}, b.shape,
			posterior.NewParams([]float64{1}, []float64{.5}, posterior.ScaleSD), certain(0))
		b.avgPool(4)
		b.put(network.Dense{In: 1, Out: 1}, network.Image{Height: 1, Width: 1, Channels: 1}, certain(1), certain(0))
	}},
	// LeNet-5 with rectifiers and max pools: 61,706 weights.
	{"lenet5", network.Image{Height: 28, Width: 28, Channels: 1}, func(b *builder) {
		b.conv(600, 5, 6, 2, .25, 0x1p-12)
		b.maxPool(2, 2)
		b.relu()
		b.conv(610, 5, 16, 0, .125, 0x1p-12)
		b.maxPool(2, 2)
		b.relu()
		b.dense(620, 120, .0625, 0x1p-12)
		b.relu()
		b.dense(630, 84, .125, 0x1p-12)
		b.relu()
		b.dense(640, 10, .125, 0x1p-12)
	}},
	// A residual network of eight layers with weights on images of CIFAR-10's size, as
	// ResNet-8 of MLPerf Tiny without its batch norms (they fold into the convolutions):
	// 77,706 weights, shortcuts of 1 x 1 included.
	{"resnet8", network.Image{Height: 32, Width: 32, Channels: 3}, func(b *builder) {
		b.conv(700, 3, 16, 1, .25, resnetSd)
		at := b.relu()
		for i, filters := range []int{16, 32, 64} {
			stride, seed, scale := min(i+1, 2), uint64(710+100*i), .125/float64(i+1)
			if i == 2 {
				scale = .0625
			}
			b.strided(seed, 3, filters, stride, scale, resnetSd)
			b.relu()
			end := b.conv(seed+10, 3, filters, 1, scale, resnetSd)
			if stride > 1 {
				b.from(at)
				at = b.shortcut(seed+20, filters, stride, .25, resnetSd)
			}
			b.add(end, at)
			at = b.relu()
		}
		b.avgPool(8)
		b.dense(1010, 10, .25, resnetSd)
	}},
}

const (
	tinySd   = 0x1p-6
	resnetSd = 0x1p-14
)
