//go:build linux

package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/read/npy"
	"psafe/host/record"
)

// bomb is a file that is small on disk and large in memory, or a large one that is read for
// no longer than it takes to see that it is not what it should be.
type bomb struct {
	name string
	// command reads FILE; NET, POINTS and OUT are other files.
	command string
	make    func(t *testing.T, dir string) (path string)
	// want is what the error says, empty if the file is read; peak bounds the memory in MiB.
	want string
	peak int64
	// deep says that the bomb is for make deep.
	deep bool
}

const (
	asInputs    = "certify --posterior NET --eps 0.1 --inputs FILE"
	asLabels    = "certify --posterior NET --eps 0.1 --inputs POINTS --label FILE"
	asProperty  = "certify --posterior NET --property FILE"
	asPosterior = "inspect FILE"
	asONNX      = "inspect --sd 0 FILE"
	asData      = "train --task regression --data FILE --out OUT"
	asResults   = "plot eps FILE --out OUT.svg"
)

func bombs() []bomb {
	zeros, ones := strings.Repeat("\x00", 1<<20), strings.Repeat("1,", 1<<19)
	lines, digits := strings.Repeat("1\n", 1<<19), strings.Repeat("1", 1<<20)
	return []bomb{
		{"gzip of zeros, 16 GiB", asInputs, gzipOf("", zeros, 16<<10), "type 0x00 at byte 2", 50, false},
		{"gzip of IDX, 16 GiB", asInputs, gzipOf(idxHead(8, 1<<24, 1024), zeros, 16<<10), "promises more than", 50, false},
		{"gzip of IDX, other width", asInputs, gzipOf(idxHead(8, 1<<21, 1023), zeros, 2<<10), "points have 1023 coordinates, the network takes 2", 50, false},
		{"gzip of IDX of floats", asData, gzipOf(idxHead(13, 1<<20, 257), zeros, 1<<10), "holds 269484032 numbers, the limit is 268435456", 50, false},
		{"gzip of IDX, points", asInputs, gzipOf(idxHead(8, 1<<24+1, 2), zeros, 33), "holds 16777217 points", 50, false},
		{"gzip of .npy", asInputs, gzipOf(npyHead("<f4", 1<<29, 2), zeros, 4<<10), "needs more than", 50, false},
		{"gzip of labels", asLabels, gzipOf(npyHead("|u1", 1<<25), zeros, 32), "holds 33554432 labels", 50, false},
		{"gzip of bytes, 2 GiB, all read", asData, gzipOf(idxHead(8, 1<<22, 511), zeros, 1<<11-4), "training on 2143289344 numbers", 2300, true},
		{"gzip of .npz", asInputs, gzipOf("PK\x03\x04", zeros, 4<<10), "a .npz of more than 268435456 bytes", 450, false},
		{"gzip of one line", asInputs, gzipOf("", ones, 4<<10), "line 1: has more than 1048576 columns", 150, false},
		{"gzip of one number", asInputs, gzipOf("", digits, 4<<10), "line 1: is longer than 33554432 bytes", 250, false},
		{"gzip of one quoted field", asInputs, gzipOf("\"", lines, 4<<10), "line 1: is longer than 33554432 bytes", 250, true},
		{"gzip of lines", asInputs, gzipOf("1,1\n", strings.Repeat("1,1\n", 1<<18), 1<<10), "may have 16777216 points", 1000, true},
		{"CSV of wide lines", asInputs, write(func() string { return "1" + strings.Repeat(",1", 1<<20) + "\n" }), "line 1: has more than 1048576 columns", 150, false},
		{"CSV of other width", asInputs, write(func() string { return "1" + strings.Repeat(",1", 1<<19) + "\n" }), "points have 524289 coordinates", 150, false},
		{"CSV as wide as can be", asData, write(func() string { return strings.Repeat("1"+strings.Repeat(",0.1", 1<<20-1)+"\n", 60) }), "--hidden makes a network", 2700, true},
		{"sparse inputs", asInputs, sparse("", 4<<30), "limit of 2147483648 bytes", 50, false},
		{".npz of 1 GiB as inputs", asInputs, zipped("x.npy", npyHead("<f8", 1<<26, 2), 1<<30), "claims to unpack", 50, false},
		{".npz of zeros as inputs", asInputs, zipped("x.npy", npyHead("<f8", 1<<23, 15), 15<<26), "points have 15 coordinates", 50, false},
		{".npz of a million members", asInputs, write(func() string { return manyMembers(1 << 20) }), "list of its members is longer", 100, false},

		{"property of brackets", asProperty, write(func() string { return strings.Repeat("[", 60<<20) }), "nest deeper than the limit of 100", 120, false},
		{"property of objects", asProperty, write(func() string { return strings.Repeat(`{"a":`, 12<<20) }), "nest deeper than the limit of 100", 120, false},
		{"property of numbers", asProperty, write(func() string { return `{"properties":[` + strings.Repeat("1,", 30<<20) + "1]}" }), "about 31457283 values: takes 4.1 GB of memory", 120, false},
		{"property of lists", asProperty, write(func() string { return `{"properties":[` + strings.Repeat("[],", 20<<20) + "1]}" }), "about 41943043 values: takes 5.5 GB of memory", 120, true},
		{"property of as many values as can be", asProperty, write(func() string { return `{"note":[` + strings.Repeat("1,", 1<<23-20) + "1]}" }), `"properties" is missing`, 2500, true},
		{"property of one text", asProperty, write(func() string { return `{"note":"` + strings.Repeat("a", 60<<20) + `"}` }), `"properties" is missing`, 600, true},
		{"property of many rows", asProperty, write(func() string { return manyRows(24) }), "", 2500, true},
		{"sparse property", asProperty, sparse("{", 4<<30), "the limit for such a file is 1073741824", 50, false},

		{"query in gzip, 16 GiB", asProperty, gzipOf("(", zeros, 16<<10), "more than 1073741824 bytes unpacked", 700, true},
		{"query of brackets", asProperty, write(func() string { return strings.Repeat("(", 60<<20) }), "nest deeper than 100", 200, false},
		{"query of words", asProperty, write(func() string { return "(assert (and" + strings.Repeat(" a", 30<<20) + "))" }), "words and brackets of this statement: beside ", 3000, true},
		{"query of alternatives", asProperty, write(func() string {
			return "(declare-const X_0 Real)(declare-const Y_0 Real)" + strings.Repeat("(assert (or (<= X_0 1) (>= Y_0 2)))", 1000)
		}), "boxes, and takes", 50, false},
		{"query of inputs", asProperty, write(func() string {
			return "(vnnlib-version <2.0>)(declare-network f (declare-input X Real [4000000]) (declare-output Y Real [1]))(assert (>= Y[0] 0))" +
				strings.Repeat("(assert (or (<= X[0] 1) (>= X[0] 2)))", 10)
		}), "boxes, and takes", 300, false},
		{"query of digits", asProperty, write(func() string {
			return "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= Y_0 (+" + strings.Repeat(" "+strings.Repeat("7", 1000)+"."+digits[:100], 50<<10) + ")))"
		}), "more digits than psafe is ready for", 300, true},

		{"safetensors of brackets", asPosterior, write(func() string { return safetensorsHead(20<<20) + `{"a":` + strings.Repeat("[", 20<<20-5) }), "at most 16777216 are allowed", 50, false},
		{"safetensors of brackets, 16 MiB", asPosterior, write(func() string { return safetensorsHead(1<<24) + `{"a":` + strings.Repeat("[", 1<<24-5) }), "nest deeper", 80, false},
		{"safetensors of values", asPosterior, write(func() string { return safetensorsHead(1<<24) + `{"a":[` + strings.Repeat("1,", 1<<23-3) }), "more than 1048576 values", 80, false},
		{"safetensors of as many values as can be", asPosterior, write(manyTensors), "has no entry", 900, true},
		{"safetensors, sparse", asPosterior, sparse(tensorHead(1<<28), 4<<30), "takes", 50, false},
		{"sparse posterior", asPosterior, sparse("", 4<<30), "not a posterior", 50, false},
		{"sparse zip", asPosterior, sparse("PK\x03\x04", 4<<30), "damaged zip", 50, false},
		{"sparse pickle", asPosterior, sparse("\x80\x02", 4<<30), "opcode 0x00", 50, false},
		{"sparse pickle of one string", asPosterior, sparse("\x80\x04\x8e\x00\x00\x00\xf0\x00\x00\x00\x00", 4<<30), "opcode 0x00", 50, false},
		{"sparse .npy", asPosterior, sparse(npy.Magic, 4<<30), "a lone .npy file", 50, false},
		{".npz of zeros, 1 GiB", asPosterior, zeroPosterior(11584), "numbers in a file of", 50, false},
		{".npz of as many zeros as can be", asPosterior, zeroPosterior(2895), "", 700, true},
		{".npz of as many counts as can be", asPosterior, write(manyCounts), "is missing", 500, true},
		{".npz of one header", asPosterior, zipped("__meta__.npy", npyHead("|u1", 1<<30-128), 1<<30-128), "at most 4194304 are allowed", 50, false},
		{".npz of objects, 1 GiB", asPosterior, zipped("arr_0.npy", npyHead("|O", 1), 1<<30-128), "a pickle of 1073741696 bytes", 50, false},
		{"pickle of nothings", asPosterior, write(func() string { return "\x80\x02" + strings.Repeat("N", 1<<21) }), "more than 1048576 opcodes", 150, false},
		{"pickle of marks", asPosterior, write(func() string { return "\x80\x02" + strings.Repeat("(", 1<<19) + strings.Repeat("t", 1<<19) }), "opcodes", 250, false},
		{"pickle of a memo", asPosterior, write(func() string { return "\x80\x02N" + memo(1<<20) }), "opcodes", 250, true},
		{"pickle of lists", asPosterior, write(func() string { return "\x80\x02" + strings.Repeat("]q\x00h\x00h\x00h\x00\x87", 1<<18) }), "opcodes", 250, true},
		{"arch.json of brackets", asPosterior, folder("arch.json", func() string { return strings.Repeat("[", 4<<20) }), "nest deeper", 50, false},
		{"arch.json of layers", asPosterior, folder("arch.json", func() string {
			return `{"class_name":"Sequential","config":{"layers":[` + strings.Repeat("{},", 1<<20) + "{}]}}"
		}), "more than 262144 values", 50, false},

		{"gzip of ONNX, 1 GiB", asONNX, gzipOf("\x08\x08\x3a\xff\xff\xff\xff\x03", zeros, 1<<10), "it unpacks to more than 1073741824 bytes", 50, false},
		{"sparse ONNX", asONNX, sparse("\x08\x08\x3a\xff\xff\xff\xff\x0f", 4<<30), "the limit for such a file is 1073741824", 50, false},
		{"ONNX of a chain of Concat", asONNX, write(concats), "the network is too large", 1300, true},
		{"ONNX of a billion places of windows", asONNX, write(func() string { return slowConv(512) }), " of memory, and this process may have ", 200, false},

		{"sparse results", asResults, sparse("{", 4<<30), "the limit for such a file is 1073741824", 50, false},
		{"results of one line", asResults, sparse("{", 1<<30), "a line has more than 16777216 bytes", 100, false},
		{"results of as many records as can be", asResults, write(manyRecords), "line ", 2500, true},
		{"results of brackets", asResults, write(func() string { return `{"a":` + strings.Repeat("[", 15<<20) }), "no result record", 150, false},
	}
}

// write makes a file of that content, which is made then.
func write(content func() string) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string {
		path := filepath.Join(dir, "bomb")
		writeTest(t, path, content())
		return path
	}
}

// sparse makes a file of that length which begins with head and takes no room on the disk.
func sparse(head string, length int64) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string {
		path := write(func() string { return head })(t, dir)
		if err := os.Truncate(path, length); err != nil {
			t.Skipf("no sparse files here: %v", err)
		}
		return path
	}
}

// gzipOf makes a gzip file of head and then so many times the piece. The piece is
// compressed once: a gzip file may have many parts.
func gzipOf(head, piece string, times int) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string {
		pack := func(text string) string {
			var b bytes.Buffer
			w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
			_, _ = io.WriteString(w, text)
			_ = w.Close()
			return b.String()
		}
		return write(func() string { return pack(head) + strings.Repeat(pack(piece), times) })(t, dir)
	}
}

// idxHead is the header of an IDX file.
func idxHead(kind byte, shape ...uint32) string {
	b := []byte{0, 0, kind, byte(len(shape))}
	for _, d := range shape {
		b = binary.BigEndian.AppendUint32(b, d)
	}
	return string(b)
}

// npyHead is the header of a .npy file, of 128 bytes.
func npyHead(descr string, shape ...int) string {
	axes := strings.NewReplacer("[", "(", "]", ",)", " ", ", ").Replace(fmt.Sprint(shape))
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, axes)
	return npy.Magic + "\x01\x00\x76\x00" + dict + strings.Repeat(" ", 117-len(dict)) + "\n"
}

// zipped makes a zip of one member: head and so many zeros.
func zipped(name, head string, zeros int64) func(*testing.T, string) string {
	return zippedAll([]member{{name, head, zeros}})
}

// member is head and so many zeros.
type member struct {
	name, head string
	zeros      int64
}

func zippedAll(members []member) func(*testing.T, string) string {
	return write(func() string { return zipText(members) })
}

func zipText(members []member) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		packed, sum := deflated(m)
		w, err := z.CreateRaw(&zip.FileHeader{Name: m.name, Method: zip.Deflate, CRC32: sum,
			CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(len(m.head)) + uint64(m.zeros)})
		if err == nil {
			_, err = w.Write(packed)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// deflated compresses a member without going through its zeros a second time: what deflate
// makes of a piece of zeros after another is the same each time.
func deflated(m member) (packed []byte, sum uint32) {
	zeros := make([]byte, 1<<20)
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	add := func(piece []byte) []byte {
		from := b.Len()
		_, _ = w.Write(piece)
		_ = w.Flush()
		return b.Bytes()[from:]
	}
	sum = crc32.ChecksumIEEE([]byte(m.head))
	add([]byte(m.head))
	pieces, again := m.zeros>>20, ""
	for k := range pieces {
		switch sum = crc32.Update(sum, crc32.IEEETable, zeros); {
		case k < 2:
			again = string(add(zeros))
		default:
			b.WriteString(again)
		}
	}
	rest := zeros[:m.zeros&(1<<20-1)]
	sum = crc32.Update(sum, crc32.IEEETable, rest)
	_, _ = w.Write(rest)
	_ = w.Close()
	return b.Bytes(), sum
}

// zeroPosterior makes a psafe .npz of a layer of n times n weights, all of them zeros.
func zeroPosterior(n int) func(*testing.T, string) string {
	meta := fmt.Sprintf(`{"format":"psafe-posterior","version":1,"scale":"sd","layout":"in,out","layers":[{"kind":"dense","activation":"identity","in":%d,"out":%d}]}`, n, n)
	size := int64(4 * n)
	return zippedAll([]member{
		{"__meta__.npy", npyHead("|u1", len(meta)) + meta, 0},
		{"layers.0.weight.mean.npy", npyHead("<f4", n, n), size * int64(n)},
		{"layers.0.weight.scale.npy", npyHead("<f4", n, n), size * int64(n)},
		{"layers.0.bias.mean.npy", npyHead("<f4", n), size},
		{"layers.0.bias.scale.npy", npyHead("<f4", n), size},
	})
}

// manyMembers is a zip whose list of members is long, written by hand.
func manyMembers(n int) string {
	var b bytes.Buffer
	one := []byte("PK\x01\x02\x14\x00\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	one = append(one, make([]byte, 12)...)
	one = append(one, 12, 0)
	one = append(one, make([]byte, 16)...)
	b.WriteString("PK\x03\x04")
	start := b.Len()
	for i := range n {
		b.Write(one)
		fmt.Fprintf(&b, "%08x.npy", i)
	}
	length, end := b.Len()-start, b.Len()
	b.WriteString("PK\x06\x06")
	for _, v := range []any{uint64(44), uint32(45<<16 | 45), uint32(0), uint32(0), uint64(n), uint64(n), uint64(length), uint64(start)} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString("PK\x06\x07")
	for _, v := range []any{uint32(0), uint64(end), uint32(1)} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString("PK\x05\x06" + strings.Repeat("\x00", 4) + strings.Repeat("\xff", 12) + "\x00\x00")
	return b.String()
}

// safetensorsHead is the length that a safetensors file begins with.
func safetensorsHead(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }

// tensorHead is the header of a safetensors file of one layer with n weights, nearly: of
// 16 n bytes with its numbers.
func tensorHead(n int) string {
	const length = 1 << 10
	n -= length / 16
	meta, err := json.Marshal(fmt.Sprintf(`{"format":"psafe-posterior","version":1,"scale":"sd","layout":"in,out","layers":[{"kind":"dense","activation":"identity","in":1,"out":%d}]}`, n))
	if err != nil {
		panic(err)
	}
	header := fmt.Sprintf(`{"__metadata__":{"psafe":%s}`, meta)
	for k, name := range []string{"weight.mean", "weight.scale", "bias.mean", "bias.scale"} {
		shape := []string{"1,", ""}[k/2] + fmt.Sprint(n)
		header += fmt.Sprintf(`,"layers.0.%s":{"dtype":"F32","shape":[%s],"data_offsets":[%d,%d]}`, name, shape, 4*n*k, 4*n*(k+1))
	}
	return safetensorsHead(length-8) + header + strings.Repeat(" ", length-9-len(header)) + "}"
}

// manyTensors is a safetensors file of about a million values in its header.
func manyTensors() string {
	var b strings.Builder
	for i := range 1<<20/16 - 2 {
		fmt.Fprintf(&b, `,"%d":{"dtype":"F32","shape":[1,1,1,1,0],"data_offsets":[0,0]}`, i)
	}
	header := "{" + b.String()[1:] + "}"
	return safetensorsHead(uint64(len(header))) + header
}

// manyCounts is a psafe .npz whose header is nearly as long as it may be.
func manyCounts() string {
	meta := `{"format":"psafe-posterior","version":1,"kind":"samples","layout":"in,out","layers":[{"kind":"dense","activation":"identity","in":1,"out":1}],"counts":[1` +
		strings.Repeat(",1", 2<<20-200) + `]}`
	return zipText([]member{{"__meta__.npy", npyHead("|u1", len(meta)) + meta, 0}})
}

// manyRecords is a result file of as many records as there may be.
func manyRecords() string {
	rec := fmt.Sprintf(`{"index":0,"eps":"0.1","p_lower":0.5,"p_upper":1,"method":"ibp","posterior":"a","posterior_sha256":"x","guarantee":%q}`+"\n", record.Guarantee)
	return strings.Repeat(rec, 1<<20)
}

// memo puts one value into n places.
func memo(n uint32) string {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(append(b, 'r'), i)
	}
	return string(b)
}

// manyRows is a property file of n properties with 2000 rows each, in an AND of an AND and an OR.
func manyRows(n int) string {
	var rows []string
	for i := range 2000 {
		rows = append(rows, fmt.Sprintf(`{"row":[1,%d]}`, i))
	}
	list := strings.Join(rows, ",")
	one := fmt.Sprintf(`{"kind":"rows","safe":{"and":[{"and":[%s]},{"or":[%s]}]},"boxes":[[[0,1],[0,1]]]}`, list, list)
	return `{"properties":[` + one + strings.Repeat(","+one, n-1) + `]}`
}

// folder makes a directory with one file.
func folder(name string, content func() string) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string {
		path := filepath.Join(dir, "bomb")
		if err := os.Mkdir(path, 0o777); err != nil {
			t.Fatal(err)
		}
		writeTest(t, filepath.Join(path, name), content())
		return path
	}
}
