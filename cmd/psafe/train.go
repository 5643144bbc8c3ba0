package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/lab/train"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

// trainJob holds what the flags of psafe train ask for.
type trainJob struct {
	train.Settings
	out outFlags
}

// trainFlags maps fields of train.Config to flags, for messages.
var trainFlags = map[string]string{
	"Hidden": "hidden", "Layers": "layers", "Image": "image", "Activation": "activation", "Epochs": "epochs", "Batch": "batch", "LearningRate": "learning-rate",
	"KLWeight": "kl-weight", "PriorSD": "prior-sd", "InitSD": "init-sd", "Noise": "noise",
}

const trainAbout = `psafe train makes a small Bayesian neural network by Bayes by Backprop, dense or
convolutions and pools of images, and writes its posterior: independent normal
weights, standard deviations, float32.

  psafe train --data cubic --hidden 128 --out cubic.npz
  psafe train --data x.gz --labels y.gz --task classification --out digits.npz
  psafe train --data x.gz --labels y.gz --task classification \
      --layers conv:8x3x3,pool:2 --out digits.npz`

// run trains a small Bayesian neural network and writes its posterior. Errors are one line that
// names the flag or the file; no output file is left behind by one. An interrupt ends it with
// context.Canceled.
func (j *trainJob) run(ctx context.Context, stdout, stderr io.Writer) error {
	// Everything that can be refused is, before the long part.
	if err := trainFlagError(j.Check(1, 1)); err != nil {
		return err
	}
	file, err := j.out.create(property.FileOf(j.Data), property.FileOf(j.Labels))
	if err != nil {
		return err
	}
	defer file.Discard()
	loss := math.NaN()
	_, watched := isTerminal(stderr)
	j.Progress = func(epoch int, l float64) {
		loss = l
		if every := max(1, j.Epochs/20); watched && epoch%every == 0 {
			fmt.Fprintf(stderr, "epoch %d of %d: loss %.5g\n", epoch, j.Epochs, l)
		}
	}
	p, data, err := j.Train(ctx)
	if err != nil {
		return trainFlagError(err)
	}
	write := format.WriteNPZ
	if filepath.Ext(j.out.path) == ".safetensors" {
		write = format.WriteSafetensors
	}
	if err := write(file, p); err != nil {
		return j.out.unwritten(err)
	}
	if err := j.out.commit(file); err != nil {
		return err
	}
	return j.report(stdout, p, data, loss)
}

func trainCommand() *cobra.Command {
	j := &trainJob{}
	cmd, f := newCommand("train", "Bayes by Backprop for small networks, dense or with convolutions", trainAbout, 0)
	f.StringVar(&j.Data, "data", "", "cubic (y = x^3 plus noise on [-4, 4]), or a `FILE`: CSV with the target or class in the last column, IDX or NumPy, also .gz (./cubic for a file of that name)")
	f.StringVar(&j.Labels, "labels", "", "`FILE` of the classes, IDX or NumPy; without it they are the last column of a CSV")
	task := f.String("task", "", "regression or classification; cubic is a regression")
	f.IntVar(&j.Samples, "samples", 1000, "number of points of cubic")
	hidden := f.String("hidden", "128", "`WIDTHS` of the hidden layers, for example 64,32")
	f.StringVar(&j.Layers, "layers", "", "`LAYERS` in place of --hidden, for images: conv:FILTERSxHEIGHTxWIDTH/STRIDE, pool:SIZE/STRIDE, average:SIZE/STRIDE, dense:WIDTH, for example conv:8x3x3,pool:2,dense:32")
	image := f.String("image", "", "`SHAPE` of the images, HEIGHTxWIDTHxCHANNELS, channels last; without it a square of one channel")
	activation := f.String("activation", "relu", strings.TrimSuffix(network.Words(), ", "+network.Identity.String()))
	f.IntVar(&j.Epochs, "epochs", 200, "passes over the data")
	f.IntVar(&j.Batch, "batch", 50, "examples of one step")
	f.Float64Var(&j.LearningRate, "learning-rate", 0.01, "step of Adam at the start; it falls linearly to 0")
	f.Float64Var(&j.KLWeight, "kl-weight", 1, "factor of the KL term; less than 1 makes smaller standard deviations")
	f.Float64Var(&j.PriorSD, "prior-sd", 1, "standard deviation of the prior")
	f.BoolVar(&j.PriorFanIn, "prior-fan-in", false, "divide the prior's standard deviation of a weight by the root of its layer's inputs")
	f.Float64Var(&j.InitSD, "init-sd", 0.05, "standard deviation of every weight before training")
	f.Float64Var(&j.Noise, "noise", 1, "standard deviation of the targets of a regression; for cubic the root of 5")
	f.Uint64Var(&j.Seed, "seed", 1, "seed of all randomness")
	j.out.add(f, "`FILE` to write: .npz or .safetensors")
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		if err := j.settle(f, *task, *hidden, *activation, *image); err != nil {
			return err
		}
		return j.run(ctx, stdout, stderr)
	})
}

// settle turns the words of flags into values and refuses combinations that
// mean nothing.
func (j *trainJob) settle(f *pflag.FlagSet, task, hidden, activation, image string) (err error) {
	if j.Data == "" {
		return errors.New("--data is missing; give cubic or a file")
	}
	if j.out.path == "" {
		return errors.New("--out is missing; give a file to write, for example posterior.npz")
	}
	if ext := filepath.Ext(j.out.path); ext != ".npz" && ext != ".safetensors" {
		return fmt.Errorf("--out %s: name the file .npz or .safetensors", j.out.path)
	}
	cubic := j.Data == train.CubicData
	switch {
	case task == "" && !cubic:
		return errors.New("--task is missing; give regression or classification")
	case task != "":
		if j.Task, err = train.ParseTask(task); err != nil {
			return fmt.Errorf("--task: %w", err)
		}
	}
	switch {
	case cubic && j.Task != train.Regression:
		return errors.New("--task: cubic is a regression; leave --task out or name a file in --data")
	case cubic && j.Samples < 1:
		return fmt.Errorf("--samples is %d; give a whole number from 1", j.Samples)
	case cubic && j.Samples > 10_000_000:
		return fmt.Errorf("--samples is %d; give at most 10000000", j.Samples)
	case !cubic && f.Changed("samples"):
		return errors.New("--samples is for --data cubic; leave it out")
	case j.Labels != "" && j.Task == train.Regression:
		return errors.New("--labels are for --task classification; targets of a regression are the last column of --data")
	case j.Task == train.Classification && f.Changed("noise"):
		return errors.New("--noise is for a regression; leave it out")
	}
	switch {
	case j.Layers != "" && f.Changed("hidden"):
		return errors.New("--layers stand in place of --hidden; leave one of them out")
	case f.Changed("layers") && j.Layers == "":
		return errors.New("--layers is empty; give layers, for example conv:8x3x3,pool:2,dense:32")
	case image != "" && j.Layers == "":
		return errors.New("--image is for --layers; leave it out")
	case image != "":
		if j.Image, err = imageShape(image); err != nil {
			return err
		}
	}
	if cubic && !f.Changed("noise") {
		j.Noise = train.CubicNoise
	}
	for word := range strings.SplitSeq(hidden, ",") {
		width, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return fmt.Errorf("--hidden: %.40q is not a whole number; give widths joined by commas, for example 64,32", word)
		}
		j.Hidden = append(j.Hidden, width)
	}
	if j.Activation, err = network.ParseActivation(activation); err != nil {
		return fmt.Errorf("--activation: %w", didYouMean(err, activation, activationWords()))
	}
	return nil
}

// imageShape reads HEIGHTxWIDTHxCHANNELS.
func imageShape(words string) (network.Image, error) {
	var sizes []int
	for word := range strings.SplitSeq(words, "x") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > 1<<12 {
			sizes = nil
			break
		}
		sizes = append(sizes, n)
	}
	if len(sizes) != 3 {
		return network.Image{}, fmt.Errorf("--image: %.40q is no shape; give HEIGHTxWIDTHxCHANNELS, for example 28x28x1", words)
	}
	return network.Image{Height: sizes[0], Width: sizes[1], Channels: sizes[2]}, nil
}

// trainFlagError names a flag where the training package names a field.
func trainFlagError(err error) error {
	if e, ok := errors.AsType[*train.FieldError](err); ok {
		return fmt.Errorf("--%s %s", trainFlags[e.Field], e.Problem)
	}
	return err
}

// report writes the line of results.
func (j *trainJob) report(w io.Writer, p *posterior.Posterior, data *train.Data, loss float64) error {
	var sd []float64
	for _, l := range p.Layers {
		sd = append(append(sd, l.Weight.SdHi...), l.Bias.SdHi...)
	}
	score := train.Evaluate(p, data, j.Noise)
	result := fmt.Sprintf("RMSE %.4g", score.RMSE)
	if j.Task == train.Classification {
		result = fmt.Sprintf("accuracy %.2f%%", 100*score.Accuracy)
	}
	q := posterior.Quantiles(sd)
	_, err := fmt.Fprintf(w, "%s: %d weights; training loss %.4g; mean network on the %d training examples: loss %.4g, %s; sigma min %.3g, quartiles %.3g %.3g %.3g, max %.3g\n",
		plain(j.out.path), p.Weights(), loss, data.N(), score.Loss, result, q[0], q[1], q[2], q[3], q[4])
	return err
}
