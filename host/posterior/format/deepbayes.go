package format

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"psafe/host/network"
	"psafe/host/npy"
	"psafe/host/posterior"
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
	if exists(dir, samplesFolder) && !exists(dir, "var.npy") {
		return readHMC(dir, opt)
	}
	digest := sha256.New()
	n, err := parseDeepbayes(func(name string, limit int64, use func(blob) error) error {
		sum, err := withFile(filepath.Join(dir, name), limit, use)
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
	dense, err := readArch(open)
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
	layers, err := pair(means, spreads)
	if err != nil {
		return nil, err
	}
	if len(layers) != len(dense) {
		return nil, fmt.Errorf("arch.json has %d dense layers, mean.npy has %d", len(dense), len(layers))
	}
	n := &contents{format: "deepbayes", layers: layers}
	for k, d := range dense {
		if err := d.fits(k, layers[k].weight); err != nil {
			return nil, err
		}
		n.activations = append(n.activations, d.activation)
	}
	return n, nil
}

// readArch reads arch.json.
func readArch(open opener) (dense []kerasDense, err error) {
	err = open("arch.json", maxArch, func(b blob) error {
		text, err := b.all(maxArch)
		if err == nil {
			dense, err = parseKeras(text)
		}
		return err
	})
	return dense, err
}

// kerasDense is a dense layer of arch.json; inputs is 0 where it does not say.
type kerasDense struct {
	inputs, units int
	activation    network.Activation
}

// fits compares the layer with its weight matrix.
func (d kerasDense) fits(k int, weight *npy.Array) error {
	if len(weight.Shape) == 2 && weight.Shape[1] == d.units && (d.inputs == 0 || weight.Shape[0] == d.inputs) {
		return nil
	}
	return fmt.Errorf("arch.json gives layer %d %d units, but its weight has the shape %v", k, d.units, weight.Shape)
}

// kerasModel is the part of a Keras model description that is used.
type kerasModel struct {
	ClassName string `json:"class_name"`
	Config    struct {
		Layers []struct {
			ClassName string `json:"class_name"`
			Config    struct {
				Shape      []*int `json:"batch_input_shape"`
				Units      int    `json:"units"`
				Activation string `json:"activation"`
				UseBias    *bool  `json:"use_bias"`
			} `json:"config"`
		} `json:"layers"`
	} `json:"config"`
}

// parseKeras reads the dense layers of a Sequential. Any other kind of layer is
// an error. A softmax at the end is dropped: properties speak of logits.
func parseKeras(file []byte) ([]kerasDense, error) {
	if err := checkJSON(file, maxArchDepth, maxArchValues); err != nil {
		return nil, err
	}
	var model kerasModel
	if err := json.Unmarshal(file, &model); err != nil {
		return nil, err
	}
	if model.ClassName != "Sequential" {
		return nil, fmt.Errorf("model is %.40q: only Keras Sequential is supported", model.ClassName)
	}
	var dense []kerasDense
	inputs := 0
	for i, layer := range model.Config.Layers {
		c := layer.Config
		switch layer.ClassName {
		case "InputLayer":
			if n := len(c.Shape); n > 0 && c.Shape[n-1] != nil {
				inputs = *c.Shape[n-1]
			}
		case "Dense":
			if c.UseBias != nil && !*c.UseBias {
				return nil, fmt.Errorf("layer %d: Dense layers without bias are not supported yet", i)
			}
			a, err := kerasActivation(c.Activation, i == len(model.Config.Layers)-1)
			if err != nil {
				return nil, fmt.Errorf("layer %d: %w", i, err)
			}
			dense = append(dense, kerasDense{inputs: inputs, units: c.Units, activation: a})
			inputs = c.Units
		default:
			name := strings.Trim(fmt.Sprintf("%.40q", layer.ClassName), `"`)
			return nil, fmt.Errorf("layer %d: %s layers are not supported yet", i, name)
		}
	}
	return dense, nil
}

// kerasActivation translates Keras's name of an activation.
func kerasActivation(name string, last bool) (network.Activation, error) {
	switch {
	case name == "linear", name == "softmax" && last:
		return network.Activation{Kind: network.Identity}, nil
	case name == "relu" && !last:
		return network.Activation{Kind: network.ReLU}, nil
	case name == "tanh" && !last:
		return network.Activation{Kind: network.Tanh}, nil
	case name == "sigmoid" && !last:
		return network.Activation{Kind: network.Sigmoid}, nil
	case name == "softplus" && !last:
		return network.Activation{Kind: network.Softplus}, nil
	case name == "elu" && !last:
		return network.Activation{Kind: network.ELU, Slope: 1}, nil
	case last:
		return network.Activation{}, fmt.Errorf("last activation is %.40q: only softmax and linear are supported", name)
	}
	return network.Activation{}, fmt.Errorf("activation %.40q is none of relu, tanh, sigmoid, softplus, elu, linear", name)
}
