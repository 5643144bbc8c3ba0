package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
)

// handmade is a posterior written by hand: standard deviations, weights as rows
// of the matrix (in, out).
type handmade struct {
	Note   string `json:"note"`
	Layers []struct {
		Activation string      `json:"activation"`
		Weight     [][]float64 `json:"weight"`
		WeightSD   [][]float64 `json:"weight_sd"`
		Bias       []float64   `json:"bias"`
		BiasSD     []float64   `json:"bias_sd"`
	} `json:"layers"`
}

// writeHandmade turns every handmade/NAME.json of dir into NAME.npz.
func writeHandmade(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "handmade", "*.json"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		p, err := readHandmade(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json") + ".npz"
		if err := writeNPZ(filepath.Join(dir, name), p); err != nil {
			return err
		}
	}
	return nil
}

func readHandmade(path string) (*posterior.Posterior, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var h handmade
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return nil, err
	}
	p := &posterior.Posterior{Scale: posterior.ScaleSD, Source: posterior.Source{Note: h.Note}}
	for k, l := range h.Layers {
		a, err := network.ParseActivation(l.Activation)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", k, err)
		}
		p.Layers = append(p.Layers, posterior.Layer{Layer: network.DenseLayer(len(l.Weight), len(l.Bias), a), Weight: gaussian(flat(l.Weight), flat(l.WeightSD)), Bias: gaussian(l.Bias, l.BiasSD)})
	}
	return p, p.Validate()
}

func flat(rows [][]float64) []float64 {
	var all []float64
	for _, row := range rows {
		all = append(all, row...)
	}
	return all
}

// gaussian rounds to float32, as psafe train does.
func gaussian(mean, sd []float64) posterior.Params {
	for _, list := range [][]float64{mean, sd} {
		for i, v := range list {
			list[i] = float64(float32(v))
		}
	}
	return posterior.NewParams(mean, sd, posterior.ScaleSD)
}

func writeNPZ(path string, p *posterior.Posterior) error {
	var b bytes.Buffer
	if err := format.WriteNPZ(&b, p); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
