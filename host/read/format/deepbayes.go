package format

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// A deepbayes directory holds arch.json (a Keras Sequential), mean.npy and
// var.npy (object arrays W0, b0, W1, b1, ..., weights (in, out)). The activations
// are in arch.json; what var.npy means depends on the optimiser that wrote it, so
// the scale is not in the directory. A directory of samples is read by hmc.go.

// maxArch bounds arch.json, in bytes, and maxArchValues what it holds; a layer has about
// fifty.
const (
	maxArch       = 4 << 20
	maxArchDepth  = 64
	maxArchValues = 1 << 18
)

// readDeepbayes reads a directory.
func readDeepbayes(dir string, opt Options) (*posterior.Posterior, error) {
	parse := parseDeepbayes
	if exists(dir, samplesFolder) && !exists(dir, "var.npy") {
		parse = func(open opener) (*contents, error) { return readHMC(dir, open) }
	}
	digest := sha256.New()
	n, err := parse(func(name string, limit int64, use func(blob) error) error {
		sum, err := withFile(filepath.Join(dir, filepath.FromSlash(name)), limit, use)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(digest, "%s  %s\n", sum, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	p, err := n.assemble(opt)
	if err != nil {
		return nil, err
	}
	p.Source.SHA256 = hex.EncodeToString(digest.Sum(nil))
	return p, nil
}

// opener hands use the file of that name in a directory. Its errors name the file.
type opener func(name string, limit int64, use func(blob) error) error

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// parseDeepbayes joins the three files, in the order of the digest, and checks that they
// agree on shapes.
func parseDeepbayes(open opener) (*contents, error) {
	net, err := readArch(open)
	if err != nil {
		return nil, err
	}
	var means, spreads []*npy.Array
	for _, file := range []struct {
		name string
		to   *[]*npy.Array
	}{{"mean.npy", &means}, {"var.npy", &spreads}} {
		err := open(file.name, maxFile, func(b blob) (err error) {
			*file.to, err = objectArray(b)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if net.plan != nil {
		return net.gaussian(means, spreads)
	}
	layers, err := pair(means, spreads)
	if err != nil {
		return nil, err
	}
	if len(layers) != len(net.dense) {
		return nil, fmt.Errorf("arch.json has %d dense layers, mean.npy has %d", len(net.dense), len(layers))
	}
	n := &contents{format: "deepbayes", layers: layers}
	for k, d := range net.dense {
		if err := d.fits(k, layers[k].weight); err != nil {
			return nil, err
		}
		n.activations = append(n.activations, d.activation)
	}
	return n, nil
}

// readArch reads arch.json.
func readArch(open opener) (net *kerasNet, err error) {
	err = open("arch.json", maxArch, func(b blob) error {
		text, err := b.all(maxArch)
		if err == nil {
			net, err = parseKeras(text)
		}
		return err
	})
	return net, err
}

// fits compares the layer with its weight matrix.
func (d kerasDense) fits(k int, weight *npy.Array) error {
	if len(weight.Shape) == 2 && weight.Shape[1] == d.units && (d.inputs == 0 || weight.Shape[0] == d.inputs) {
		return nil
	}
	return fmt.Errorf("arch.json gives layer %d %d units, but its weight has the shape %v", k, d.units, weight.Shape)
}
