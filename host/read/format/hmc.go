package format

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// A deepbayes directory of Hamiltonian Monte Carlo, or of an ensemble, holds
// arch.json, freq.npy (a list of N counts) and samples/sample_0.npy to
// samples/sample_(N-1).npy, each an object array W0, b0, W1, b1, ... with weights
// (in, out). mean.npy is not read: in published directories it is the last sample,
// not the mean.

// samplesFolder is where the samples are, and what tells such a directory.
const samplesFolder = "samples"

// sampleFile is the name of sample i within the directory.
func sampleFile(i int) string { return fmt.Sprintf("%s/sample_%d.npy", samplesFolder, i) }

// maxSamples bounds the samples of a directory.
const maxSamples = 1 << 20

// readHMC reads a directory of samples.
func readHMC(dir string, opt Options) (*posterior.Posterior, error) {
	digest := sha256.New()
	left := int64(maxFile)
	read := func(name string, limit int64, use func(blob) error) error {
		sum, err := withFile(filepath.Join(dir, filepath.FromSlash(name)), limit, func(file blob) error {
			if left -= file.size; left < 0 {
				return fmt.Errorf("the files up to this one have more than %d bytes", int64(maxFile))
			}
			return use(file)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(digest, "%s  %s\n", sum, name)
		return nil
	}
	n, err := parseHMC(read)
	if err != nil {
		return nil, err
	}
	if err := noOtherSamples(filepath.Join(dir, samplesFolder), len(n.counts)); err != nil {
		return nil, err
	}
	p, err := n.assemble(opt)
	if err != nil {
		return nil, err
	}
	p.Source.SHA256 = hex.EncodeToString(digest.Sum(nil))
	return p, nil
}

// noOtherSamples refuses a directory with a sample that has no count: to leave it
// out would change every probability.
func noOtherSamples(folder string, n int) error {
	entries, err := os.ReadDir(folder)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // Read puts the path in front
	}
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for i := range n {
		known[filepath.Base(sampleFile(i))] = true
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "sample_") && !known[e.Name()] {
			return fmt.Errorf("%.80q is none of the %d samples that freq.npy counts: take it away or give it a count", samplesFolder+"/"+e.Name(), n)
		}
	}
	return nil
}

// parseHMC asks for the files, always in the same order.
func parseHMC(open opener) (*contents, error) {
	net, err := readArch(open)
	if err != nil {
		return nil, err
	}
	n := &contents{format: "deepbayes", kind: posterior.KindFinite, plan: net.plan, inputShape: net.inputShape()}
	err = open("freq.npy", maxFile, func(b blob) (err error) {
		n.counts, err = parseCounts(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range n.counts {
		err := open(sampleFile(i), maxFile, func(b blob) error {
			list, err := objectArray(b)
			if err == nil {
				err = n.push(net, list)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, d := range net.dense {
		n.activations = append(n.activations, d.activation)
	}
	for k := range n.layers {
		for _, stack := range []*npy.Array{n.layers[k].weightStack, n.layers[k].biasStack} {
			stack.Shape[0] = len(n.counts)
		}
	}
	return n, nil
}

// parseCounts reads freq.npy: a list of whole numbers, of any type.
func parseCounts(file blob) ([]int64, error) {
	r, err := npy.NewReader(file.from(0, file.size), file.size, true)
	if err != nil {
		return nil, err
	}
	shape := r.Header.Shape
	if r.Header.IsObject() {
		return nil, fmt.Errorf("array of Python objects where a list of counts is needed: save whole numbers")
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	if len(shape) != 1 || shape[0] == 0 {
		return nil, fmt.Errorf("shape %v where a list of counts is needed", shape)
	}
	if shape[0] > maxSamples {
		return nil, fmt.Errorf("%d counts: at most %d samples are read", shape[0], maxSamples)
	}
	a, err := r.Array()
	if err != nil {
		return nil, err
	}
	counts := make([]int64, len(a.Data))
	for i, v := range a.Data {
		if !(v >= 1 && v <= posterior.MaxTotal && v == float64(int64(v))) {
			return nil, fmt.Errorf("sample %d has count %v: counts are whole numbers from 1; leave samples out that do not count", i, v)
		}
		counts[i] = int64(v)
	}
	return counts, nil
}

// push puts the arrays W0, b0, W1, ... of one sample behind those of the samples
// before; they must have the shapes of the first.
func (n *contents) push(net *kerasNet, list []*npy.Array) error {
	layers, err := net.sample(list)
	if err != nil {
		return err
	}
	first := n.layers == nil
	if first {
		if err := n.affordSamples(list); err != nil {
			return err
		}
	}
	for k := range layers {
		a := &layers[k]
		if first {
			stack := func(of *npy.Array) *npy.Array {
				return &npy.Array{Shape: append([]int{0}, of.Shape...), Data: make([]float64, 0, len(n.counts)*len(of.Data))}
			}
			n.layers = append(n.layers, arrays{weightStack: stack(a.weight), biasStack: stack(a.bias), noBias: a.noBias})
		}
		to := &n.layers[k]
		if is, had := a.weight.Shape, to.weightStack.Shape[1:]; !slices.Equal(is, had) {
			return fmt.Errorf("layer %d takes %d inputs, in the first sample %d", k, is[0], had[0])
		}
		to.weightStack.Data = append(to.weightStack.Data, a.weight.Data...)
		to.biasStack.Data = append(to.biasStack.Data, a.bias.Data...)
	}
	return nil
}

// affordSamples returns an error unless as many samples as there are counts can be held, if all are
// like the first.
func (n *contents) affordSamples(first []*npy.Array) error {
	one := int64(0)
	for _, a := range first {
		one += int64(len(a.Data))
	}
	if all := int64(len(n.counts)); one > maxFile/all { // a number takes a byte or more
		return fmt.Errorf("%d samples of %d numbers have more than %d bytes", all, one, int64(maxFile))
	}
	return afford(one*int64(len(n.counts)), maxFile)
}
