package train

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"psafe/host/model/network"
)

// parseLayers reads the words of Config.Layers: what they are and their numbers.
func parseLayers(words string) ([]layerWord, error) {
	var list []layerWord
	for word := range strings.SplitSeq(words, ",") {
		l := layerWord{text: strings.TrimSpace(word)}
		var sizes, stride string
		var strided bool
		l.kind, sizes, _ = strings.Cut(l.text, ":")
		sizes, stride, strided = strings.Cut(sizes, "/")
		want, known := map[string]int{"conv": 3, "pool": 1, "average": 1, "dense": 1}[l.kind]
		for size := range strings.SplitSeq(sizes, "x") {
			n, err := strconv.Atoi(size)
			known = known && err == nil && n >= 1 && n <= maxWeights
			l.sizes = append(l.sizes, n)
		}
		switch {
		case strided:
			n, err := strconv.Atoi(stride)
			known = known && err == nil && n >= 1 && n <= maxWeights && l.kind != "dense"
			l.stride = n
		case l.kind == "conv":
			l.stride = 1
		default:
			l.stride = l.sizes[0]
		}
		if !known || len(l.sizes) != want {
			return nil, fmt.Errorf("has %.40q; give conv:FILTERSxHEIGHTxWIDTH/STRIDE, pool:SIZE/STRIDE, average:SIZE/STRIDE or dense:WIDTH, for example conv:8x3x3,pool:2,dense:32", l.text)
		}
		if n := len(list); n > 0 && list[n-1].kind == "dense" && l.kind != "dense" {
			return nil, fmt.Errorf("has %s behind a dense layer, whose outputs are no image; put dense layers last", l.text)
		} else if l.kind == "pool" && (n == 0 || list[n-1].kind != "conv") {
			return nil, fmt.Errorf("has %s, which is not behind a convolution; put it there", l.text)
		}
		list = append(list, l)
	}
	return list, nil
}

// layerWord is one layer of Config.Layers.
type layerWord struct {
	text, kind string
	sizes      []int
	stride     int
}

// window is one of the word's stride.
func (l *layerWord) window(height, width int) network.Window {
	return network.Window{Size: [2]int{height, width}, Stride: [2]int{l.stride, l.stride}, Dilation: [2]int{1, 1}}
}

// graph is the network that Layers, Image and Activation say, for data of these shapes: with a
// dense layer at its end. The activation of a convolution goes behind its max pool.
func (c *Config) graph(inputs, outputs int) (network.Network, error) {
	words, err := parseLayers(c.Layers)
	if err != nil {
		return nil, &FieldError{"Layers", err.Error()}
	}
	image := c.Image
	if image == (network.Image{}) {
		side := int(math.Sqrt(float64(inputs)))
		image = network.Image{Height: side, Width: side, Channels: 1}
	}
	if image.Len() != inputs {
		return nil, &FieldError{"Image", fmt.Sprintf("is %v, but the data have %d numbers each; give HEIGHTxWIDTHxCHANNELS of the images", image, inputs)}
	}
	var net network.Network
	width, weights := inputs, 0
	for i := range words {
		l := &words[i]
		layer := network.Layer{Activation: c.Activation}
		switch l.kind {
		case "conv":
			m := network.Conv{In: image, Window: l.window(l.sizes[1], l.sizes[2]), Filters: l.sizes[0], Groups: 1}
			layer.Map, image = m, m.Out()
		case "pool":
			m := network.MaxPool{In: image, Window: l.window(l.sizes[0], l.sizes[0])}
			layer.Map, image = m, m.Out()
			net[len(net)-1].Activation = network.Activation{}
		case "average":
			m := network.AvgPool{In: image, Window: l.window(l.sizes[0], l.sizes[0])}
			layer = network.Layer{Map: m}
			image = m.Out()
		case "dense":
			layer.Map = network.Dense{In: width, Out: l.sizes[0]}
		}
		if err := layer.Map.Check(); err != nil {
			return nil, &FieldError{"Layers", fmt.Sprintf("%s: %v; give other sizes", l.text, err)}
		}
		width, weights = layer.Outputs(), weights+layer.Weights()
		net = append(net, layer)
	}
	net = append(net, network.DenseLayer(width, outputs, network.Activation{}))
	if weights += width * outputs; weights > maxWeights {
		return nil, &FieldError{"Layers", fmt.Sprintf("makes a network of more than %d weights; give smaller layers", maxWeights)}
	}
	return net, net.Check()
}
