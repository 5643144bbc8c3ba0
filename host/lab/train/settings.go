package train

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/infile"
)

// CubicData is the Settings.Data of the built-in example.
const CubicData = "cubic"

// CubicNoise is the noise of the cubic. The paper writes y = x^3 + N(0, 5), and
// N(mu, Sigma) with a variance everywhere else, so 5 is read as the variance here too.
var CubicNoise = math.Sqrt(5)

// Settings describe what psafe train does: data and how to train on them. Errors name the settings
// by their flags.
type Settings struct {
	Config
	Task Task
	// Data is CubicData, of which Samples points are drawn, or a file as ReadFile wants
	// it, with Labels.
	Data, Labels string
	Samples      int
}

// Train reads the data and trains on them. The posterior's note says how to make it again.
func (j *Settings) Train(ctx context.Context) (*posterior.Posterior, *Data, error) {
	data, err := j.read()
	if err != nil {
		return nil, nil, err
	}
	note, err := j.Note()
	if err != nil {
		return nil, nil, err
	}
	p, err := Run(ctx, data, j.Config)
	if err != nil {
		return nil, nil, err
	}
	p.Source.Note = note
	return p, data, nil
}

// read makes or reads the data.
func (j *Settings) read() (*Data, error) {
	if j.Data == CubicData {
		return Cubic(j.Samples, j.Noise, j.Seed), nil
	}
	data, err := j.readFiles()
	switch {
	case err == nil:
		return data, nil
	case j.Labels != "" && strings.HasPrefix(err.Error(), j.Labels+":"):
		return nil, fmt.Errorf("--labels %w", err)
	}
	return nil, fmt.Errorf("--data %w", err)
}

// readFiles reads the data from files that can be read again: Note has their digests.
func (j *Settings) readFiles() (*Data, error) {
	for _, path := range []string{j.Data, j.Labels} {
		if path == "" {
			continue
		}
		if err := infile.Regular(property.FileOf(path)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return ReadFile(j.Data, j.Labels, j.Task)
}

// digest is the SHA-256 of a file.
func digest(path string) ([]byte, error) {
	file, err := infile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h.Sum(nil), nil
}

// Note is the text that goes with the posterior: the command that makes it
// again. Files are named by their last element and their digest, so that the
// bytes written do not depend on where they lie.
func (j *Settings) Note() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "psafe train --data %s", filepath.Base(j.Data))
	files := []string{}
	if j.Data == CubicData {
		fmt.Fprintf(&b, " --samples %d", j.Samples)
	} else {
		files = append(files, j.Data)
	}
	if j.Labels != "" {
		fmt.Fprintf(&b, " --labels %s", filepath.Base(j.Labels))
		files = append(files, j.Labels)
	}
	hidden := "--hidden " + strings.ReplaceAll(strings.Trim(fmt.Sprint(j.Hidden), "[]"), " ", ",")
	if j.Layers != "" {
		hidden = "--layers " + j.Layers
		if j.Image != (network.Image{}) {
			hidden += fmt.Sprintf(" --image %v", j.Image)
		}
	}
	fmt.Fprintf(&b, " --task %v %s --activation %v --epochs %d --batch %d --learning-rate %v --kl-weight %v --prior-sd %v --prior-fan-in=%v --init-sd %v",
		j.Task, hidden, j.Activation, j.Epochs, j.Batch, j.LearningRate, j.KLWeight, j.PriorSD, j.PriorFanIn, j.InitSD)
	if j.Task == Regression {
		fmt.Fprintf(&b, " --noise %v", j.Noise)
	}
	fmt.Fprintf(&b, " --seed %d", j.Seed)
	for _, path := range files {
		sum, err := digest(property.FileOf(path))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "; sha256 of %s is %x", filepath.Base(path), sum)
	}
	return b.String(), nil
}
