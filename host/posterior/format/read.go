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
	"io/fs"
	"os"
	"strings"

	"psafe/host/network"
	"psafe/host/npy"
	"psafe/host/posterior"
)

// Options says what a file may leave open.
type Options struct {
	// Scale says what the file's spread is; ScaleUnknown leaves it to the file.
	Scale posterior.Scale
	// Activations are those of the hidden layers, first layer first; one entry
	// stands for all of them, none leaves it to the file.
	Activations []network.Activation
}

// maxFile bounds, in bytes, the files that are read, because they are held in
// memory.
const maxFile = 4 << 30

// Read reads a posterior from a file or a directory, in any of the formats of
// docs/formats.md; the content decides which, never the name. The result is
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
		return nil, fmt.Errorf("%s: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	p.Source.Path = path
	return p, nil
}

func readAny(path string, opt Options) (*posterior.Posterior, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, bare(err)
	}
	if info.IsDir() {
		return readDeepbayes(path, opt)
	}
	file, err := readFile(path)
	if err != nil {
		return nil, err
	}
	n, err := parse(file)
	if err != nil {
		return nil, err
	}
	p, err := n.assemble(opt)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(file)
	p.Source.SHA256 = hex.EncodeToString(sum[:])
	return p, nil
}

// readFile reads a regular file of at most maxFile bytes.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, bare(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("not a regular file of at most %d bytes", int64(maxFile))
	}
	file, err := os.ReadFile(path)
	return file, bare(err)
}

// bare drops the path from an error of package os: Read puts it in front.
func bare(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// fileFormat is a format of single files: how to tell it, and its reader. A directory is
// deepbayes's.
type fileFormat struct {
	name      string
	recognise func(file []byte) bool
	parse     func(file []byte) (*contents, error)
}

// fileFormats are asked in this order. What .npz and pickles hold, their readers find out.
var fileFormats = []fileFormat{
	{"safetensors", looksLikeSafetensors, parseSafetensors},
	{"psafe .npz", begins("PK\x03\x04"), parseZip},
	{"a NumPy pickle", begins("\x80"), parsePickle},
	{"", begins(npy.Magic), refuse("a lone .npy file is not a posterior: name the directory with arch.json, mean.npy and var.npy")},
	{"", begins("\x89HDF\r\n\x1a\n"), refuse("HDF5 files are not read: convert it to a psafe .npz as docs/formats.md shows")},
}

func begins(magic string) func([]byte) bool {
	return func(file []byte) bool { return bytes.HasPrefix(file, []byte(magic)) }
}

func refuse(why string) func([]byte) (*contents, error) {
	return func([]byte) (*contents, error) { return nil, errors.New(why) }
}

// parse recognises a file by its content and reads it.
func parse(file []byte) (*contents, error) {
	if len(file) == 0 {
		return nil, fmt.Errorf("the file is empty")
	}
	var names []string
	for _, f := range fileFormats {
		if f.recognise(file) {
			return f.parse(file)
		}
		if f.name != "" {
			names = append(names, f.name)
		}
	}
	return nil, fmt.Errorf("not a posterior: neither %s nor a deepbayes directory (see docs/formats.md)", strings.Join(names, ", "))
}

// parseZip tells psafe's own .npz from those of the uai2020 repository.
func parseZip(file []byte) (*contents, error) {
	// The first member of a torch checkpoint is NAME/data.pkl.
	if bytes.Contains(file[:min(len(file), 512)], []byte("/data.pkl")) {
		return nil, fmt.Errorf("torch checkpoints are not read: convert it to a psafe .npz or safetensors as docs/formats.md shows")
	}
	members, err := npy.ReadZip(file)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if m.Name == metaName {
			return parseNPZ(members)
		}
	}
	for _, m := range members {
		if m.Name == "arr_0" {
			return parseObjectNPZ(m.File)
		}
	}
	return nil, fmt.Errorf("the .npz has neither %s (psafe) nor arr_0 (uai2020)", metaName)
}
