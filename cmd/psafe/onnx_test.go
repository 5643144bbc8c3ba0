package main

import (
	"bytes"
	"os"
	"path/filepath"

	"psafe/host/read/npy"
	"psafe/internal/testkit/onnxtest"
)

// concats doubles a tensor again and again.
func concats() string {
	b := onnxtest.New(1, 1, 1024)
	for range 24 {
		b.Node("Concat", []string{b.Last}, onnxtest.Int("axis", 1))
	}
	return string(onnxtest.Encode(&b.Graph))
}

// slowConv is a convolution with a kernel of size x size zeros at size^2 / 64 positions around the
// input, one number, and their mean.
func slowConv(size int) string {
	around := int64(size + size/8 - 2)
	b := onnxtest.New(1, 1, 1, 1, 1)
	b.Node("Pad", nil, onnxtest.Ints("pads", 0, 0, around, 0, 0, 0, 0, around))
	b.Node("Conv", []string{b.Const("k", []int{1, 1, size, size}, make([]float64, size*size)...)})
	b.Node("GlobalAveragePool", nil)
	return string(onnxtest.Encode(&b.Graph))
}

// writeONNX makes the ONNX files of the scripts: net.onnx (2-3-2), skip.onnx with a skip
// connection, softmax.onnx, cnn.onnx, third.onnx (x/3, which is rounded), and sd.npz with standard deviations of net.onnx.
func writeONNX(dir string) error {
	build := func() *onnxtest.Build {
		b := onnxtest.New(1, 0, 2)
		b.Node("Gemm", []string{b.Const("w", []int{3, 2}), b.Const("b", []int{3})}, onnxtest.Int("transB", 1))
		b.Node("Relu", nil)
		b.Node("MatMul", []string{b.Const("v", []int{3, 2})})
		return b
	}
	net, softmax, skip := build(), build(), build()
	softmax.Node("Softmax", nil)
	skip.Node("Add", []string{"x"})
	cnn := onnxtest.New(2, 1, 1, 2, 3)
	cnn.Node("Conv", []string{cnn.Const("k", []int{2, 1, 2, 2})})
	cnn.Node("MaxPool", nil, onnxtest.Ints("kernel_shape", 1, 2))
	cnn.Node("Flatten", nil)
	cnn.Node("Div", []string{cnn.Const("d", []int{1}, 3)})
	third := onnxtest.New(3, 1, 1)
	third.Node("Div", []string{third.Const("d", []int{1}, 3)})
	exported := onnxtest.New(4, 0, 1, 3, 3)
	exported.Node("Conv", []string{exported.Const("k", []int{2, 1, 2, 2}), exported.Const("c", []int{2})}, onnxtest.Ints("pads", 1, 1, 0, 0))
	exported.Node("Clip", []string{exported.Const("least", []int{}, 0), exported.Const("most", []int{}, 0.5)})
	exported.Node("PRelu", []string{exported.Const("slopes", []int{2, 1, 1})})
	flat := exported.Node("MaxPool", nil, onnxtest.Ints("kernel_shape", 2, 2), onnxtest.Ints("strides", 2, 2), onnxtest.Int("ceil_mode", 1))
	exported.Node("Shape", nil)
	exported.Node("Slice", []string{exported.Shape("from", 0), exported.Shape("to", 1)})
	exported.Node("Concat", []string{exported.Shape("rest", -1)}, onnxtest.Int("axis", 0))
	exported.On("Reshape", []string{flat, exported.Last})
	exported.Node("Gemm", []string{exported.Const("w", []int{8, 2}), exported.Const("b", []int{2})})
	exported.Node("Tanh", nil)
	var sd bytes.Buffer
	if err := npy.WriteZip(&sd, []npy.Named{{Name: "v", Array: &npy.Array{Shape: []int{3, 2}, Data: []float64{.1, .2, .1, .2, .1, .2}, DType: "<f8"}}}); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"net.onnx": onnxtest.Encode(&net.Graph), "softmax.onnx": onnxtest.Encode(&softmax.Graph),
		"skip.onnx": onnxtest.Encode(&skip.Graph), "cnn.onnx": onnxtest.Encode(&cnn.Graph), "third.onnx": onnxtest.Encode(&third.Graph), "exported.onnx": onnxtest.Encode(&exported.Graph), "sd.npz": sd.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
