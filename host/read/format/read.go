// Package format reads and writes posteriors: one file for each format that they come in,
// and the table of them in this one. A reader makes arrays and says what the file says about
// them (contents); what is common, checking shapes and settling what a file leaves open,
// is done once, in assemble.go. Nothing here runs what a file contains: pickles are read by
// a reader that can only make arrays.
package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/npy"
	"psafe/host/read/onnx"
	"psafe/internal/infile"
)

// Options says what a file may leave open.
type Options struct {
	// Scale says what the file's spread is; ScaleUnknown leaves it to the file.
	Scale posterior.Scale
	// Activations holds the activations of the hidden layers, first layer first; one entry
	// stands for all of them, none leaves it to the file.
	Activations []network.Activation
	// SD, SDRelative and SDFile say what the standard deviations of an ONNX network are; one
	// of them is needed for such a file, and none is allowed for others. SD is a decimal, the
	// standard deviation of every number that Gemm, MatMul and Add take; 0 makes a finite
	// posterior of the one network. SDRelative is a decimal, which times |mean| is the standard
	// deviation. SDFile is a .npz or safetensors file with an array for each initialiser that
	// is random, by its name and of its shape; Scale says what it holds.
	SD, SDRelative, SDFile string
	// OneNetwork takes an ONNX network for which none of the three is given as if SD were 0.
	OneNetwork bool
}

// maxFile bounds, in bytes, the files that are read.
const maxFile = 4 << 30

// Read reads a posterior from a file or a directory, in any of the formats of
// docs/files.md; the content decides which, never the name. The result is
// valid (see Posterior.Validate). Means and spreads are exactly those of the
// file; the bounds of the standard deviations are rounded outward.
//
// Errors are one line that begins with path. An option that says what the file
// also says must say the same.
//
// Source.SHA256 is the digest of the file. For a directory it is the digest of
// what sha256sum prints in it for the files that are read: "sha256sum arch.json
// mean.npy var.npy", or "sha256sum arch.json freq.npy samples/sample_0.npy
// samples/sample_1.npy ..." in the order of their numbers.
func Read(path string, opt Options) (*posterior.Posterior, error) {
	p, err := readAny(path, opt)
	if err != nil {
		return nil, &oneLine{path, err}
	}
	p.Source.Path = path
	return p, nil
}

// ReadExact reads a file that says all of itself, of which no numbers have to be rounded; an ONNX file is one network.
func ReadExact(path string) (*posterior.Posterior, error) {
	p, err := Read(path, Options{OneNetwork: true})
	if err != nil && strings.Contains(err.Error(), ": add --") {
		return nil, fmt.Errorf("%w to psafe convert, and name the file that it writes", err)
	}
	if err != nil {
		return nil, err
	}
	if p.Source.Rounded != "" {
		return nil, &oneLine{path, fmt.Errorf("%s: bounds would be about the rounded network, not about the one of the file", p.Source.Rounded)}
	}
	return p, nil
}

// oneLine is an error about a file. Errors of package json may have several lines, and
// quote numbers of any length.
type oneLine struct {
	path string
	err  error
}

func (e *oneLine) Error() string {
	const longest = 600
	text := strings.NewReplacer("\n", " ", "\r", " ").Replace(e.err.Error())
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return e.path + ": " + text
}

func (e *oneLine) Unwrap() error { return e.err }

func readAny(path string, opt Options) (*posterior.Posterior, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return readDeepbayes(path, opt)
	}
	var p *posterior.Posterior
	sum, err := withFile(path, maxFile, func(file blob) error {
		n, err := parse(file)
		if err == nil {
			p, err = n.assemble(opt)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	p.Source.SHA256 = sum
	return p, nil
}

// withFile hands use a regular file of at most limit bytes, and returns its digest.
func withFile(path string, limit int64, use func(blob) error) (digest string, err error) {
	file, err := infile.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if err := infile.Fits(file.Size(), limit); err != nil {
		return "", err
	}
	all := blob{file, file.Size()}
	if err := use(all); err != nil {
		return "", err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, all.from(0, all.size)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), file.Unchanged()
}

// fileFormat is a format of single files: how to tell it by its first bytes, and its
// reader. A directory is deepbayes's.
type fileFormat struct {
	name      string
	recognise func(head []byte) bool
	parse     func(file blob) (*contents, error)
}

// fileFormats are asked in this order. What .npz and pickles hold, their readers find out.
var fileFormats = []fileFormat{
	{"safetensors", looksLikeSafetensors, parseSafetensors},
	{"psafe .npz", begins("PK\x03\x04"), parseZip},
	// What torch.save wrote before it wrote zips begins with this number.
	{"", begins("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19"), refuse("torch checkpoints are not read: " + elsewhere)},
	{"a NumPy pickle", begins("\x80"), parsePickle},
	{"ONNX", onnx.Looks, parseONNX},
	{"", begins("\x1f\x8b"), parseGzip},
	{"", begins(npy.Magic), refuse("a lone .npy file is not a posterior: name the directory with arch.json, mean.npy and var.npy")},
	{"", begins("\x89HDF\r\n\x1a\n"), refuse("HDF5 files are not read: " + elsewhere)},
	{"", looksLikeNNet, refuse(".nnet files are not read: make ONNX of it, in Python by nnet2onnx of the converters of github.com/sisl/NNet (with normalizeNetwork=True for inputs that are not normalised), and give that with --sd")},
}

// elsewhere holds what to do about files that only the framework itself should read.
const elsewhere = "write it from Python by the file that psafe exporter prints"

func begins(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// nnetSizes is the first line of a .nnet file that is no comment: layers, inputs, outputs, widest.
var nnetSizes = regexp.MustCompile(`^(//[^\n]*\n)*[0-9]+, *[0-9]+, *[0-9]+, *[0-9]+,?\s*\n`)

func looksLikeNNet(head []byte) bool { return nnetSizes.Match(head) }

func refuse(why string) func(blob) (*contents, error) {
	return func(blob) (*contents, error) { return nil, errors.New(why) }
}

// headBytes is how much of a file is read to tell its format.
const headBytes = 512

// head reads the first bytes.
func (b blob) head() ([]byte, error) {
	head := make([]byte, min(b.size, headBytes))
	_, err := io.ReadFull(b.from(0, b.size), head)
	return head, err
}

// parse recognises a file by its content and reads it.
func parse(file blob) (*contents, error) {
	if file.size == 0 {
		return nil, fmt.Errorf("the file is empty")
	}
	head, err := file.head()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range fileFormats {
		if f.recognise(head) {
			return f.parse(file)
		}
		if f.name != "" {
			names = append(names, f.name)
		}
	}
	return nil, fmt.Errorf("not a posterior: neither %s nor a deepbayes directory (see docs/files.md)", strings.Join(names, ", "))
}

// parseZip tells psafe's own .npz from those of the uai2020 repository.
func parseZip(file blob) (*contents, error) {
	// The first member of a torch checkpoint is NAME/data.pkl.
	if head, err := file.head(); err != nil || bytes.Contains(head, []byte("/data.pkl")) {
		return nil, fmt.Errorf("torch checkpoints are not read: %s", elsewhere)
	}
	members, err := npy.OpenZip(file, file.size)
	if err != nil {
		return nil, fmt.Errorf("%w: save it again, or get it again", err)
	}
	for i := range members {
		if members[i].Name == metaName {
			return parseNPZ(members, file.size)
		}
	}
	for i := range members {
		if members[i].Name == "arr_0" {
			return parseObjectNPZ(&members[i], file.size)
		}
	}
	return nil, fmt.Errorf("the .npz has neither %s (psafe) nor arr_0 (uai2020): name its arrays in Python, by save_gaussian of the file that psafe exporter prints", metaName)
}
