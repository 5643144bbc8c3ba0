package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/read/npy"
)

// runGraph runs the program and returns what it prints.
func runGraph(t *testing.T, status int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if got := program(args, &out, &errs); got != status {
		t.Fatalf("psafe %s: status %d, want %d: %s", strings.Join(args, " "), got, status, errs.String())
	}
	if status != 0 {
		return errs.String()
	}
	return out.String()
}

// TestGraphs: a convolutional network as torch has it is inspected, converted and
// evaluated at images in each order, with the same logits.
func TestGraphs(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	const h, w = 5, 6
	// The header of psafe's own format, and the arrays as torch has them.
	metadata, err := json.Marshal(`{"format":"psafe-posterior","version":2,"layout":"out,in","order":"channels_first","input_shape":[3,5,6],"scale":"sd","layers":[` +
		`{"kind":"conv2d","filters":3,"kernel":[2,2],"activation":"relu","weight_scale":"none","bias_scale":"none"},{"kind":"flatten"},` +
		`{"kind":"dense","out":2,"bias":false,"weight_scale":"none"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	list, data := `{"__metadata__":{"psafe":`+string(metadata)+`}`, []byte{}
	for _, a := range []struct {
		name, shape string
		numbers     int
	}{{"layers.0.weight.mean", "3,3,2,2", 36}, {"layers.0.bias.mean", "3", 3}, {"layers.2.weight.mean", "2,60", 120}} {
		from := len(data)
		for i := range a.numbers {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(float64((5*i+len(a.name))%7)/8-0.25))
		}
		list += fmt.Sprintf(`,"%s":{"dtype":"F64","shape":[%s],"data_offsets":[%d,%d]}`, a.name, a.shape, from, len(data))
	}
	list += "}"
	save := func(name string, content []byte) {
		if err := os.WriteFile(at(name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	save("made.safetensors", append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(list))), list...), data...))
	runGraph(t, 0, "convert", at("made.safetensors"), "--out", at("net.npz"))
	runGraph(t, 0, "convert", at("net.npz"), "--format", "safetensors", "--out", at("net.safetensors"))
	if text := runGraph(t, 0, "inspect", at("net.safetensors")); !strings.Contains(text, "convolution 2x2") {
		t.Errorf("inspect: %s", text)
	}
	// One image in each order.
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	last, first, flat := make([]float64, h*w*3), make([]float64, h*w*3), []string{}
	for y := range h {
		for x := range w {
			rgb := [3]byte{byte(40*y + 9*x), byte(200 - 30*x), byte(3 * y * x)}
			img.Set(x, y, color.RGBA{rgb[0], rgb[1], rgb[2], 255})
			for k, v := range rgb {
				last[(y*w+x)*3+k], first[(k*h+y)*w+x] = float64(v), float64(v)
			}
		}
	}
	for _, v := range first {
		flat = append(flat, fmt.Sprint(v))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	save("x.png", b.Bytes())
	save("x.csv", []byte(strings.Join(flat, ",")+"\n"))
	for name, x := range map[string]*npy.Array{"last.npz": {Shape: []int{1, h, w, 3}, Data: last}, "first.npz": {Shape: []int{1, 3, h, w}, Data: first}, "wrong.npz": {Shape: []int{1, w, h, 3}, Data: last}} {
		x.DType = "<f8"
		b.Reset()
		if err := npy.WriteZip(&b, []npy.Named{{Name: "x", Array: x}}); err != nil {
			t.Fatal(err)
		}
		save(name, b.Bytes())
	}
	want := ""
	for _, net := range []string{"net.npz", "net.safetensors"} {
		for _, x := range []string{"x.csv", "x.png", "first.npz", "last.npz"} {
			got := runGraph(t, 0, "predict", "--posterior", at(net), "--inputs", at(x), "--input-scale", "1/256")
			if want == "" {
				want = got
			}
			if got != want || strings.Contains(got, ",0,0\n") {
				t.Errorf("%s at %s: %s, want %s", net, x, got, want)
			}
		}
	}
	if text := runGraph(t, 2, "predict", "--posterior", at("net.npz"), "--inputs", at("wrong.npz")); !strings.Contains(text, "have shape [6 5 3], the posterior's file says [3 5 6]") {
		t.Errorf("of another shape: %s", text)
	}
}
