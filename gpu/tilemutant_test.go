package gpu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/internal/testscale"
)

// tileMutants are mistakes that could be made in kernels that GPUs alone have: tiled ones, and those of
// sums in two stages.
var tileMutants = []struct{ what, file, old, new string }{
	{noMistake, "tiles", "", ""},
	{"affine does not wait for the stage", "affinetiles", "barrier(CLK_LOCAL_MEM_FENCE); /* the stage is there */", ""},
	{"back-substitution does not wait", "backtiles", "barrier(CLK_LOCAL_MEM_FENCE); /* the stage is there */", ""},
	{"rows staged without their pitch", "tiles", "to[stagedRow(k) * PITCH +", "to[stagedRow(k) * STAGE +"},
	{"columns staged as rows", "tiles", "to[stagedPlace(k) * SIDE + (int)get_local_id(0) % SIDE]", "to[(int)get_local_id(0) % SIDE * STAGE + stagedPlace(k)]"},
	{"a row of another work-item", "tiles", "+ k * (GROUP / STAGE); }", "+ k * (GROUP / STAGE) / 2; }"},
	{"upper weights staged as lower", "affinetiles", "loadColumns(copy[1], wHi + w", "loadColumns(copy[1], wLo + w"},
	{"lower inputs staged as upper", "affinetiles", "loadRows(copy[2], zLo + j0", "loadRows(copy[2], zHi + j0"},
	{"staged weights swapped", "backtiles", "backStage(HI, l, h, v, wl, wh);", "backStage(HI, l, h, v, wh, wl);"},
	{"half of the largest inputs", "affinetiles", "k < GROUP / SIDE; k++) {\n            zMax", "k < GROUP / SIDE / 2; k++) {\n            zMax"},
	{"largest inputs of one stage", "affinetiles", "zMax = stageMax(zMax, yLo", "zMax = stageMax(R(0.0), yLo"},
	{"largest inputs of all blocks", "affinetiles", "            zMax = R(0.0);\n", ""},
	{"affine's blocks of 16", "affinetiles", "closes = j0 % BLOCK + STAGE == BLOCK || j0 + n == in;", "closes = 1;"},
	{"back-substitution's blocks of 16", "backtiles", "closes = i0 % BLOCK + STAGE == BLOCK || i0 + n == out;", "closes = 1;"},
	{"norm not cleared", "affinetiles", "        norm[v] = R(0.0);\n", ""},
	{"tiles of items overlap", "affinetiles", "+ group * SIDE;", "+ group * GROUP_Y;"},
	{"inputs of another item", "affinetiles", "min(p0 + stagedRow(k), pEnd - 1), inputs)", "min(p0 + stagedRow(k), pEnd - 1), inputs) / 2"},
	{"weights of the first box", "backtiles", "const size_t w = box * in * out,", "const size_t w = 0,"},
	{"row of another column", "backtiles", "a + p * out * rows + r", "a + p * out * rows"},
	{"one live row decides", "backtiles", "live |= a[u]", "live = a[u]"},
	{"biases swapped", "backtiles", "wl[SIDE * PITCH + i] : wh[SIDE * PITCH + i]", "wh[SIDE * PITCH + i] : wl[SIDE * PITCH + i]"},
	{"no zeros behind the end of columns", "tiles", "stride];\n        copy[k] = j < n ? x : R(0.0);", "stride];\n        copy[k] = x;"},
	{"bias of another column", "backtiles", "v[i * SIDE + get_local_id(0)]", "v[i * SIDE]"},
	{"a block of the first neurons", "relaxrows", "j0 = (int)modulo(block, blocks) * BLOCK", "j0 = 0"},
	{"a block of splits with the first neurons", "splitrows", "j0 = (int)modulo(block, blocks) * BLOCK", "j0 = 0"},
	{"constants added up as charges", "relaxrows", "charge += sumCharge[", "charge += sumC["},
	{"constant of another row", "relaxrows", "-cHi[box + row - cols]", "-cHi[box]"},
	{"inputs of another item in a block", "concretize", "modulo(p, inputs) * in, rows);", "0, rows);"},
	{"magnitudes of one block", "concretize", "magnitude += magnitudes[", "magnitude = magnitudes["},
	{"blocks added up twice", "noiserows", "v += variances[from + (size_t)b * rows]", "v += variances[from]"},
	{"noise of other rows", "noiserows", "p * cols + modulo(r, cols)", "p * cols"},
	{"one channel of a block", "sharedvar", "block += sums[from + (size_t)o * rows]", "block = sums[from + (size_t)o * rows]"},
	{"parts of another item", "sharedvar", "a + p * positions * step + modulo(t, step)", "a + modulo(t, step)"},
	{"one part of the positions", "sharedvar", "totalMag += magnitudes[b * step];", "totalMag = magnitudes[b * step];"},
	{"a block of the first taps", "sharedvar", "k0 = (int)modulo(block, blocks) * BLOCK", "k0 = 0"},
	{"taps of one block", "sharedvar", "channel += taps[from + b * step];", "channel = taps[from + b * step];"},
	{"bias of another channel", "sharedvar", "vb[quotient(at, rows)]", "vb[0]"},
	{"greatest square of another input", "sharedvar", "greatestRoot(greatest + modulo(p, inputs) * in, in)", "greatestRoot(greatest, in)"},
	{"greatest square of the first block", "sharedvar", "squares + quotient(t, blocks) * in + j0", "squares + quotient(t, blocks) * in"},
	{"weights of the first box", "sharebox", "quotient(p, perBox) * size * channels + quotient(at, rows), channels, 1);", "quotient(at, rows), channels, 1);"},
	{"weights of one block of taps", "sharebox", "k0 = (int)modulo(block, blocks) * BLOCK", "k0 = 0"},
	{"costs of one block", "sharebox", "channel += costs[from + k * step];", "channel = costs[from + k * step];"},
	{"biases of the first box", "sharebox", "b = quotient(p, perBox) * channels + quotient(at, rows);", "b = quotient(at, rows);"},
	{"biases added up to nearest", "sharebox", "bias = down(bias + biases[from + (size_t)o * rows]);", "bias += biases[from + (size_t)o * rows];"},
	{"costs of one channel", "sharebox", "block += channelCosts[from + (size_t)o * rows];", "block = channelCosts[from + (size_t)o * rows];"},
	{"a block of the first inputs", "affine", "j0 = (int)modulo(block, blocks) * BLOCK, n", "j0 = 0, n"},
	{"inputs of the first item in blocks", "affine", "z = modulo(p, inputs) * in + j0;", "z = j0;"},
	{"magnitudes added up once", "affine", "m += sumMag[from + (size_t)b * out];", "m = sumMag[from + (size_t)b * out];"},
	{"a block of the first outputs", "mergerows", "i0 = (int)modulo(block, blocks) * BLOCK", "i0 = 0"},
	{"biases merged as weights", "mergerows", "(j < in ? weightLo : biasLo) + weight", "weightLo + weight"},
	{"merged blocks added up once", "mergerows", "lo += sumLo[from + b * step];", "lo = sumLo[from + b * step];"},
	{"a block of the first pre-activations", "backsubstitute", "i0 = (int)modulo(block, blocks) * BLOCK", "i0 = 0"},
	{"rows of the first item in blocks", "backsubstitute", "*from = a + p * out * rows + modulo(t, rows);", "*from = a + modulo(t, rows);"},
	{"upper sums of one block", "backsubstitute", "hi += sumHi[from + b * step];", "hi = sumHi[from + b * step];"},
	{"a block of the first taps of pairs", "pairnoise", "k0 = (int)modulo(block, blocks) * BLOCK;", "k0 = 0;"},
	{"pairs added up once", "pairnoise", "total += sums[from + (size_t)b * rows];", "total = sums[from + (size_t)b * rows];"},
}

// TestTileMutants builds the kernels with each mistake and demands that TestTiles or TestStages
// would show it.
func TestTileMutants(t *testing.T) {
	const p = bound.Float32
	info := devices(t)[0]
	for _, m := range testscale.Few(t, tileMutants, 2) {
		d := open(t, info, p, Options{sources: mutate(t, m.file, m.old, m.new), shape: onGPUs, build: quick, untested: true})
		differ := tilesDiffer
		if !strings.Contains(m.file, "tiles") {
			differ = func(t *testing.T, d *Device, _ string) bool { return !stagesAgree(t, d) }
		}
		if caught := differ(t, d, m.file); caught != (m.what != noMistake) {
			t.Errorf("%s: a kernel with %q in place of %q: caught %v", m.what, m.new, m.old, caught)
		}
	}
}

// tilesDiffer reports whether the kernels of a file, or all, have other bits than the fallback for
// one of tileShapes.
func tilesDiffer(t *testing.T, d *Device, file string) bool {
	for _, s := range tileShapes {
		for what, run := range tileRuns(s) {
			if file != "tiles" && !strings.HasPrefix(file, what[:4]) {
				continue
			}
			want, err := run(fallback.New(d.precision))
			check(t, err)
			if got, err := run(d); err != nil || differs(got, want) != "" {
				return true
			}
		}
	}
	return false
}

// raceMutants are mistakes that an order of work-items may hide: PoCL runs those of a
// group one after another from barrier to barrier, and each turn of a loop that has
// a barrier after the one before. Or that read what is not theirs, and do not use it.
var raceMutants = []struct{ what, file, old, new string }{
	{"affine does not wait for the stage", "affinetiles", "barrier(CLK_LOCAL_MEM_FENCE); /* the stage is there */", ""},
	{"affine overwrites the stage", "affinetiles", "barrier(CLK_LOCAL_MEM_FENCE); /* the stage is done with, and largest is there */", ""},
	{"back-substitution does not wait", "backtiles", "barrier(CLK_LOCAL_MEM_FENCE); /* the stage is there */", ""},
	{outOfBounds, "affinetiles", "w = box * in * out", "w = (box + 1000) * in * out"},
	{"back-substitution overwrites", "backtiles", "barrier(CLK_LOCAL_MEM_FENCE); /* the stage is done with */", ""},
	{"items of the next box", "affinetiles", "(int)min((size_t)items, (box + 1) * perBox)", "items"},
	{"columns of the next box", "backtiles", "(min((size_t)items, (box + 1) * perBox) - box * perBox)", "(items - box * perBox)"},
}

const (
	raceMutant  = "mutant "
	outOfBounds = "weights of a box that is not there"
)

// TestOclgrindMutants: Oclgrind reports each of raceMutants as what it is.
func TestOclgrindMutants(t *testing.T) {
	testscale.DeepOnly(t)
	if testing.Short() {
		t.Skip("starts many processes")
	}
	driver := oclgrindDriver(t)
	for i, m := range raceMutants {
		says := "race"
		if m.what == outOfBounds {
			says = "Invalid read"
		}
		log := filepath.Join(t.TempDir(), "log")
		c := oclgrindCommand("TestMutantUnderOclgrind", driver, raceMutant+fmt.Sprint(i), log)
		out, _ := c.CombinedOutput() // it may fail by the mutant's numbers
		if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), says) {
			t.Errorf("%s: Oclgrind reports no "+says+": %v\n%.1000s\n%.1000s", m.what, err, text, out)
		}
	}
}

// TestMutantUnderOclgrind is the child of TestOclgrindMutants.
func TestMutantUnderOclgrind(t *testing.T) {
	var i int
	if n, _ := fmt.Sscanf(os.Getenv(oclgrindChild), raceMutant+"%d", &i); n != 1 {
		t.Skip("runs in a process of TestOclgrindMutants'")
	}
	m := raceMutants[i]
	d := open(t, devices(t)[0], bound.Float32, Options{sources: mutate(t, m.file, m.old, m.new), shape: onGPUs, build: quick, untested: true})
	s := tileShape{items: 5, perBox: 3, terms: 33, outputs: 5}
	if m.file == "affinetiles" {
		_, err := affineTiles(d, s, true, 0)
		check(t, err)
	} else {
		_, err := backTiles(d, s, 3, true)
		check(t, err)
	}
}
