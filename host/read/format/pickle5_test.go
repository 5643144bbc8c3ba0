package format

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// pkByteArray writes a Python bytearray.
func pkByteArray(s string) string {
	return "\x96" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(s)))) + s
}

// pkFromBuffer writes a float32 array as NumPy does in protocol 5.
func pkFromBuffer(module, content, order string, shape ...int) string {
	axes := "("
	for _, n := range shape {
		axes += pkInt(n)
	}
	return "c" + module + ".numeric\n_frombuffer\n(" + content +
		"cnumpy\ndtype\n" + pkUnicode("f4") + "\x89\x88\x87R(K\x03" + pkUnicode("<") + "NNN" + pkInt(-1) + pkInt(-1) + "K\x00tb" +
		axes + "t" + pkUnicode(order) + "tR"
}

// fromBuffers are smallArrays in protocol 5.
func fromBuffers() []string {
	f := func(values []float64, shape ...int) string {
		return pkFromBuffer("numpy._core", pkByteArray(float32Bytes(values...)), "C", shape...)
	}
	return []string{
		pkFromBuffer("numpy.core", pkBytes(float32Bytes(1, 4, 2, 5, 3, 6))+"\x98", "F", 2, 3), f([]float64{-1, 0, 1}, 3),
		f([]float64{7, 8, 9}, 3, 1), f([]float64{0.5}, 1),
		f([]float64{.1, .2, .3, .4, .5, .6}, 2, 3), f([]float64{0, 0, 0}, 3),
		f([]float64{.7, .8, .9}, 3, 1), f([]float64{2}, 1),
	}
}

func TestReadProtocol5(t *testing.T) {
	want, _, err := readBytes(t, []byte(pickled(pkList(smallArrays()...))), reluSD)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := readBytes(t, []byte("\x80\x05"+pkList(fromBuffers()...)+"."), reluSD)
	if err != nil || !reflect.DeepEqual(got.Layers, want.Layers) {
		t.Errorf("%+v, want %+v; %v", got, want, err)
	}
	// Long content stays in the file, and is taken out of the budget.
	values := make([]float64, 100)
	raw := float32Bytes(values...)
	v, err := unpickleString(pickled(pkFromBuffer("numpy.core", pkByteArray(raw), "C", 100)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.(*pickleArray).numbers(&budget{left: 399}); err == nil {
		t.Error("no budget was taken")
	}
}

func TestUnpickle5Errors(t *testing.T) {
	four := pkByteArray("1234")
	for _, c := range []struct{ name, pickle, want string }{
		{"out of band", "\x97", "save it without buffer_callback"},
		{"read-only out of band", "\x97\x98", "outside of the pickle"},
		{"read-only number", "K\x01\x98", "READONLY_BUFFER"},
		{"read-only nothing", "\x98", "stack is empty"},
		{"bytearray too long", "\x96\xff\xff\xff\xff\xff\xff\xff\xffab", "remain"},
		{"a list for bytes", pkFromBuffer("numpy.core", "]", "C", 1), "not bytes"},
		{"text for bytes", pkFromBuffer("numpy.core", pkUnicode("1234"), "C", 1), "not bytes"},
		{"shape", pkFromBuffer("numpy.core", four, "C", 2), "with 4 bytes"},
		{"negative shape", pkFromBuffer("numpy.core", four, "C", -1), "with 4 bytes"},
		{"order", pkFromBuffer("numpy.core", four, "K", 1), `order "K"`},
		{"three arguments", "cnumpy.core.numeric\n_frombuffer\nNNN\x87R", "with 3 arguments"},
		{"no dtype", "cnumpy.core.numeric\n_frombuffer\n(" + four + "N)" + pkUnicode("C") + "tR", "array state"},
		{"built again", pkFromBuffer("numpy.core", four, "C", 1) + "(K\x01)Ntb", "built twice"},
		{"objects", strings.ReplaceAll(pkFromBuffer("numpy.core", four, "C", 1), "\x02\x00\x00\x00f4", "\x02\x00\x00\x00O8"), "without a list"},
		{"another function", "cnumpy.core.numeric\nfromfile\nN\x85R", "is refused"},
	} {
		if v, err := unpickleString(pickled(c.pickle)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v, want an error with %q", c.name, v, err, c.want)
		}
	}
}

// numpyPickles is a program that writes the arrays of smallArrays in the ways that pickles
// come in, with protocol 5, to files p0, p1, ... of the current directory.
const numpyPickles = `
import pickle, numpy as np
def a(*v): return np.array(v, dtype="f4")
def net(x): return [a(1,2,3,4,5,6).reshape(2,3), a(-1,0,1), a(7,8,9).reshape(3,1), a(.5), a(.1,.2,.3,.4,.5,.6).reshape(2,3), a(0,0,0), a(.7,.8,.9).reshape(3,1), a(2)]
l = net(0)
fortran = [np.asfortranarray(v) for v in l]
fixed = net(0)
for v in fixed: v.setflags(write=False)
objects = np.empty(8, dtype=object)
objects[:] = l
halves = [[l[0:2], l[2:4]], [l[4:6], l[6:8]]]
sliced = [np.repeat(v, 2, axis=0)[::2] for v in l]
for i, v in enumerate([l, fortran, fixed, objects, halves, sliced, tuple(l)]):
    with open("p%d" % i, "wb") as f:
        pickle.dump(v, f, protocol=5)
`

// TestNumPyProtocol5 reads what NumPy itself writes: the pickles in testdata, which NumPy
// 1.24 made, and those of the NumPy that is here.
func TestNumPyProtocol5(t *testing.T) {
	want, _, err := readBytes(t, []byte(pickled(pkList(smallArrays()...))), reluSD)
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) {
		got, err := Read(path, reluSD)
		if err != nil {
			t.Error(err)
		} else if !reflect.DeepEqual(got.Layers, want.Layers) {
			t.Errorf("%s: %+v, want %+v", path, got.Layers, want.Layers)
		}
	}
	kept, err := filepath.Glob("testdata/protocol5/p*")
	if err != nil || len(kept) != 7 {
		t.Fatalf("%v, %v", kept, err)
	}
	for _, path := range kept {
		read(path)
	}
	python := cmp.Or(os.Getenv("PSAFE_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		t.Skipf("no NumPy: PSAFE_PYTHON may name a Python that has it (%v)", err)
	}
	dir := t.TempDir()
	run := exec.Command(python, "-c", numpyPickles)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i := range 7 {
		read(filepath.Join(dir, fmt.Sprintf("p%d", i)))
	}
	if file, err := os.ReadFile(filepath.Join(dir, "p0")); err != nil || !bytes.Contains(file, []byte("_frombuffer")) {
		t.Errorf("no _frombuffer in what NumPy wrote (%v)", err)
	}
}
