package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// Pieces of pickles, as Python's pickle module writes them.

func pkInt(n int) string {
	return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

func pkUnicode(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func pkBytes(s string) string {
	return "B" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

// pkEncoded writes bytes as Python 3 does in protocol 2.
func pkEncoded(s string) string {
	var text strings.Builder
	for _, b := range []byte(s) {
		text.WriteRune(rune(b))
	}
	return "c_codecs\nencode\n" + pkUnicode(text.String()) + pkUnicode("latin1") + "\x86R"
}

// pkArray writes an array with the given dtype and content opcodes.
func pkArray(module, dtype, order, content string, shape ...int) string {
	axes := "("
	for _, n := range shape {
		axes += pkInt(n)
	}
	return "c" + module + "\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R" +
		"(K\x01" + axes + "t" +
		"cnumpy\ndtype\n" + pkUnicode(dtype) + "\x89\x88\x87R(K\x03" + pkUnicode(order) + "NNN" + pkInt(-1) + pkInt(-1) + "K\x00tb" +
		"\x89" + content + "tb"
}

func float32Bytes(values ...float64) string {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return string(b)
}

// pkFloats writes a float32 array whose shape has as many entries as values.
func pkFloats(values []float64, shape ...int) string {
	return pkArray("numpy.core.multiarray", "f4", "<", pkBytes(float32Bytes(values...)), shape...)
}

func pickled(body string) string { return "\x80\x02" + body + "." }

func pkList(items ...string) string { return "](" + strings.Join(items, "") + "e" }

// pkObjects writes an object array of the items.
func pkObjects(items ...string) string {
	return pkArray("numpy.core.multiarray", "O8", "|", pkList(items...), len(items))
}

// smallArrays are W0, b0, W1, b1 and their spreads of a 2-3-1 network.
func smallArrays() []string {
	return []string{
		pkFloats([]float64{1, 2, 3, 4, 5, 6}, 2, 3), pkFloats([]float64{-1, 0, 1}, 3),
		pkFloats([]float64{7, 8, 9}, 3, 1), pkFloats([]float64{0.5}, 1),
		pkFloats([]float64{.1, .2, .3, .4, .5, .6}, 2, 3), pkFloats([]float64{0, 0, 0}, 3),
		pkFloats([]float64{.7, .8, .9}, 3, 1), pkFloats([]float64{2}, 1),
	}
}

func unpickleString(s string) (any, error) {
	return unpickle(held([]byte(s)), &budget{left: 2 * int64(len(s))})
}

func TestUnpickleArrays(t *testing.T) {
	raw := float32Bytes(1.5, -2, 300, 4)
	long := "\x8e" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(raw)))) + raw
	for _, content := range []string{
		pkBytes(raw),
		pkEncoded(raw),
		"U" + string(rune(len(raw))) + raw,
		"T" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(raw)))) + raw,
		"C" + string(rune(len(raw))) + raw,
		long,
	} {
		for _, module := range []string{"numpy.core.multiarray", "numpy._core.multiarray"} {
			v, err := unpickleString(pickled(pkArray(module, "f4", "<", content, 2, 2)))
			if err != nil {
				t.Errorf("content %q: %v", content, err)
				continue
			}
			a, err := v.(*pickleArray).numbers(&budget{left: 16})
			if err != nil || fmt.Sprint(a.Shape, a.Data) != "[2 2] [1.5 -2 300 4]" {
				t.Errorf("content %q: %v %v", content, a, err)
			}
		}
	}
}

// Long strings stay in the file until they are asked for, in each of the ways that bytes
// are written.
func TestUnpickleLong(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(i) / 3
	}
	raw := float32Bytes(values...)
	long := "\x8e" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(raw)))) + raw
	for _, content := range []string{pkBytes(raw), pkEncoded(raw), long, "T" + pkBytes(raw)[1:]} {
		file := pickled(pkArray("numpy.core.multiarray", "f4", "<", content, 4, 25))
		v, err := unpickleString(file)
		if err != nil {
			t.Fatal(err)
		}
		a, err := v.(*pickleArray).numbers(&budget{left: 400})
		if err != nil || fmt.Sprint(a.Shape) != "[4 25]" || a.Data[99] != float64(float32(33)) || a.Data[7] != float64(float32(7./3)) {
			t.Errorf("%.3q: %v %v", content, a, err)
		}
		if _, err := v.(*pickleArray).numbers(&budget{left: 399}); err == nil {
			t.Errorf("%.3q: no budget was taken", content)
		}
	}
	for _, c := range []struct{ content, want string }{
		{pkEncoded(raw + "x"), "with 401 bytes"},
		{pkBytes(raw[1:]), "with 399 bytes"},
		{"c_codecs\nencode\n" + pkUnicode(strings.Repeat("x", 398)+"\u0100") + pkUnicode("latin1") + "\x86R", "not in latin1"},
		{"c_codecs\nencode\n" + pkUnicode(strings.Repeat("x", 399)+"\xc3") + pkUnicode("latin1") + "\x86R", "not in latin1"},
		{pkUnicode(raw), "without bytes"},
	} {
		_, err := unpickleString(pickled(pkArray("numpy.core.multiarray", "f4", "<", c.content, 4, 25)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.30q: %v, want %q", c.content, err, c.want)
		}
	}
}

func TestUnpickleValues(t *testing.T) {
	tests := []struct{ pickle, want string }{
		{"\x80\x02N.", "<nil>"},
		{"\x80\x02\x88.", "true"},
		{"\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00K\xff.", "255"},
		{"\x80\x02M\x01\x02.", "513"},
		{"\x80\x02J\xfe\xff\xff\xff.", "-2"},
		{"\x80\x02\x8a\x00.", "0"},
		{"\x80\x02\x8a\x02\x00\xff.", "-256"},
		{"\x80\x02\x8a\x05\x00\x00\x00\x00\x01.", "4294967296"},
		{"\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00.", "1.5"},
		{"\x80\x02K\x01q\x05h\x05\x86.", "[1 1]"},
		{"\x80\x02K\x01r\x05\x00\x01\x00j\x05\x00\x01\x00\x86.", "[1 1]"},
		{"\x80\x04K\x07\x94K\x08\x94h\x00\x87.", "[7 8 7]"},
		{"\x80\x02(K\x01K\x02t.", "[1 2]"},
		{"\x80\x04\x8c\x03abc.", "abc"},
	}
	for _, test := range tests {
		v, err := unpickleString(test.pickle)
		if err != nil || fmt.Sprint(v) != test.want {
			t.Errorf("%q: %v, %v; want %s", test.pickle, v, err, test.want)
		}
	}
	// A NumPy scalar is an array without axes.
	scalar := "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nU\x02f4\x89\x88\x87R(K\x03U\x01>NNNtb" + pkBytes("\x3f\x80\x00\x00") + "\x86R"
	v, err := unpickleString(pickled(scalar))
	if a, ok := v.(*pickleArray); err != nil || !ok {
		t.Errorf("scalar: %v, %v", v, err)
	} else if n, err := a.numbers(&budget{left: 4}); err != nil || fmt.Sprint(n.Shape, n.Data) != "[] [1]" {
		t.Errorf("scalar: %v, %v", n, err)
	}
	// Dictionaries are stepped over.
	v, err = unpickleString("\x80\x02](}" + pkUnicode("k") + "K\x01s}(" + pkUnicode("k") + "K\x01ue.")
	if list, ok := v.(*pickleList); err != nil || !ok || len(list.items) != 2 {
		t.Errorf("list of two dictionaries: %v, %v", v, err)
	}
}

func TestUnpickleRefuses(t *testing.T) {
	array := func(dtype, order, content string, shape ...int) string {
		return pickled(pkArray("numpy.core.multiarray", dtype, order, content, shape...))
	}
	tests := []struct{ name, pickle, want string }{
		{"empty", "", "without a STOP"},
		{"12 bytes asking for 17 GB", "\x80\x04\x8e\x00\x00\x00\x00\x04\x00\x00\x00.", "needs 17179869184 bytes, 1 remain"},
		{"BINBYTES of 4 GB", "\x80\x03B\xff\xff\xff\xff.", "needs 4294967295 bytes"},
		{"BINUNICODE8 of 2^64-1", "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "needs 18446744073709551615 bytes"},
		{"BINSTRING of 4 GB", "\x80\x02T\xff\xff\xff\xff.", "needs 4294967295 bytes"},
		{"frame of 2^64-1", "\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "frame"},
		{"protocol 6", "\x80\x06N.", "protocol 6"},
		{"os.system", pickled("cos\nsystem\n" + pkUnicode("true") + "\x85R"), `global "system" of module "os" is refused`},
		{"os.system, STACK_GLOBAL", pickled(pkUnicode("os") + pkUnicode("system") + "\x93"), "is refused"},
		{"eval", pickled("cbuiltins\neval\n"), "is refused"},
		{"numpy.load", pickled("cnumpy\nload\n"), "is refused"},
		{"global without end", "\x80\x02c" + strings.Repeat("x", 300), "does not end"},
		{"global of numbers", pickled("K\x01K\x02\x93"), "not a string"},
		{"INST", pickled("(ios\nsystem\n"), "opcode 0x69"},
		{"NEWOBJ", pickled("cnumpy\nndarray\n)\x81"), "opcode 0x81"},
		{"persistent id", pickled("K\x01Q"), "opcode 0x51"},
		{"unknown opcode", pickled("\xff"), "opcode 0xff"},
		{"no such memo", pickled("h\x09"), "no entry 9"},
		{"no mark", pickled("K\x01t"), "no mark"},
		{"mark as value", pickled("(q\x00"), "mark"},
		{"only a mark", pickled("("), "mark"},
		{"empty stack", pickled("\x85"), "stack is empty"},
		{"two values", pickled("NN"), "2 values"},
		{"no value", pickled(""), "0 values"},
		{"more behind", pickled("N") + "x", "goes on for 1 bytes"},
		{"call of a number", pickled("K\x01)R"), "not a function"},
		{"append to a number", pickled("K\x01K\x02a"), "does not fit"},
		{"append to a dictionary", pickled("}K\x02a"), "does not fit"},
		{"odd dictionary", pickled("}(K\x02u"), "does not fit"},
		{"build a number", pickled("K\x01)b"), "neither"},
		{"tensor of nothing", pickled("ctensorflow.python.framework.ops\nconvert_to_tensor\n)R"), "unusual arguments"},
		{"codec utf-8", pickled("c_codecs\nencode\n" + pkUnicode("x") + pkUnicode("utf-8") + "\x86R"), "latin1"},
		{"not latin1", pickled("c_codecs\nencode\n" + pkUnicode("\u0100") + pkUnicode("latin1") + "\x86R"), "not in latin1"},
		{"not UTF-8", pickled("X\x01\x00\x00\x00\xff"), "UTF-8"},
		{"integer of 9 bytes", pickled("\x8a\x09123456789"), "integer of 9"},
		{"shape larger than content", array("f4", "<", pkBytes("1234"), 2), "with 4 bytes"},
		{"shape overflows", array("f4", "<", pkBytes("1234"), 1<<30, 1<<30, 1<<30, 1<<30), "with 4 bytes"},
		{"negative axis", array("f4", "<", pkBytes("1234"), -1), "with 4 bytes"},
		{"nine axes", array("f4", "<", pkBytes("1234"), 1, 1, 1, 1, 1, 1, 1, 1, 1), "9 axes"},
		{"strings", array("S3", "|", pkBytes("abc"), 1, 2), "with 3 bytes"},
		{"content is a list", array("f4", "<", "]", 0), "without bytes"},
		{"objects are bytes", array("O8", "|", pkBytes("1234"), 1), "without a list"},
		{"objects are too few", array("O8", "|", "]", 1), "holds 0 objects"},
		{"odd byte order", array("f4", "?", pkBytes("1234"), 1), "byte order"},
		{"built twice", pickled(pkFloats([]float64{1}, 1) + "(K\x01)Nt" + "b"), "built twice"},
		{"million opcodes", "\x80\x02" + strings.Repeat("N", maxPickleSteps+1), "more than"},
	}
	for _, test := range tests {
		v, err := unpickleString(test.pickle)
		if err == nil {
			t.Errorf("%s: gave %T, want an error", test.name, v)
			continue
		}
		if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %q, want one line with %q", test.name, err, test.want)
		}
	}
}

// A small file that names one long string many times must not become many
// copies of it.
func TestUnpickleBudget(t *testing.T) {
	const times = 100
	text := pkUnicode(strings.Repeat("x", 1000)) + "q\x00"
	call := "c_codecs\nencode\nh\x00" + pkUnicode("latin1") + "\x86R"
	if _, err := unpickleString(pickled(pkList(text, strings.Repeat(call, times)))); err == nil || !strings.Contains(err.Error(), "repeats data") {
		t.Errorf("encode: error %v, want one about repeated data", err)
	}
	array := pkFloats(make([]float64, 1000), 1000) + "q\x00"
	file := []byte(pickled(pkList(array, strings.Repeat("h\x00", times))))
	if _, err := parsePickle(held(file)); err == nil || !strings.Contains(err.Error(), "repeats data") {
		t.Errorf("array: error %v, want one about repeated data", err)
	}
}

func TestUnpickleEveryPrefix(t *testing.T) {
	whole := []byte(pickled(pkObjects(smallArrays()...)))
	if _, err := parsePickle(held(whole)); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := parsePickle(held(whole[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes were read as a posterior", n, len(whole))
		}
	}
}

func FuzzUnpickle(f *testing.F) {
	f.Add([]byte(pickled(pkList(smallArrays()...))))
	f.Add([]byte(pickled(pkObjects(smallArrays()...))))
	a := smallArrays()
	means, spreads := pkList(pkList(a[0], a[1]), pkList(a[2], a[3])), pkList(pkList(a[4], a[5]), pkList(a[6], a[7]))
	f.Add([]byte(pickled(pkList(means, spreads))))
	f.Add([]byte(pickled(pkList("ctensorflow.python.framework.ops\nconvert_to_tensor\n" + a[0] + "\x85R"))))
	f.Add([]byte(pickled(pkArray("numpy._core.multiarray", "f4", "<", pkEncoded(float32Bytes(1, -300)), 2))))
	f.Add([]byte(pickled(pkList(fromBuffers()...))))
	f.Add([]byte("\x80\x04\x8e\x00\x00\x00\x00\x04\x00\x00\x00."))
	f.Add([]byte("\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06system\x93."))
	f.Add([]byte("\x80\x02}(K\x01G\x3f\xf8\x00\x00\x00\x00\x00\x00\x8a\x02\x00\xffus."))
	f.Fuzz(func(t *testing.T, file []byte) {
		n, err := parsePickle(held(file))
		if err == nil {
			numbers := 0
			for _, l := range n.layers {
				numbers += len(l.weight.Data) + len(l.bias.Data) + len(l.weightSpread.Data) + len(l.biasSpread.Data)
			}
			if numbers > 2*len(file) {
				t.Fatalf("%d numbers from %d bytes", numbers, len(file))
			}
			_, err = n.assemble(Options{Scale: posterior.ScaleVariance, Activations: []network.Activation{{Kind: network.Tanh}}})
		}
		if err != nil && bytes.ContainsAny([]byte(err.Error()), "\n\r") {
			t.Fatalf("error of several lines: %q", err)
		}
	})
}
