package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/prove/verify"
	"psafe/host/read/vnnlib"
	"psafe/internal/fault"
)

const verifyAbout = `psafe verify answers a VNN-LIB query (version 1.0 or 2) about a network: is
there an input for which the output is as the query asserts, so unsafe?

  psafe verify query.vnnlib --network f=net.onnx --timeout 60
  psafe verify pair.vnnlib --network f=net.onnx --network g=pruned.onnx
  psafe verify query.vnnlib --posterior net.npz --require 0.99

The first line on standard output is sat, unsat, unknown or timed-out; after sat
comes the counterexample, all digits of it, which has been evaluated again in
exact arithmetic. Everything else goes to standard error. The status is 0 for
all four.

With --posterior the answer is about P_safe, the probability over the posterior
that there is no such input: unsat if it is proved to be at least --require, sat
(without a counterexample) if it is proved to be less.`

// verifyFlags are the flags of verify.
type verifyFlags struct {
	network           []string
	posterior         string
	post              posteriorFlags
	timeout           float64
	cells             int
	require           string
	asReal, asRounded bool
	device            deviceFlags
	strict, quiet     bool
}

func (v *verifyFlags) add(f *pflag.FlagSet) {
	f.StringArrayVar(&v.network, "network", nil, "the file of a network that the query declares, as `NAME=FILE`; FILE alone will do if only one is needed. Once for each, but not for those that are equal-to another")
	f.StringVar(&v.posterior, "posterior", "", "a posterior in place of a network (docs/files.md)")
	v.post.add(f)
	v.post.addFactor(f)
	f.StringVar(&v.require, "require", certify.DefaultRequire, "with --posterior: unsat needs p_lower at least this, sat p_upper less")
	f.Float64Var(&v.timeout, "timeout", 0, "seconds until the answer is timed-out (default: no limit)")
	f.IntVar(&v.cells, "cells", 0, "with --network: how many cells the input boxes may be cut into (default 65536, with --timeout no limit)")
	f.BoolVar(&v.asReal, "as-real", false, "take float32 and the like in the query for Real: answers are about real arithmetic")
	f.BoolVar(&v.asRounded, "as-rounded", false, "with --network: take an ONNX network in which numbers had to be rounded (psafe inspect names them) as rounded")
	keys := newOptions()
	v.device.add(f, keys)
	addOptions(f, keys)
	f.BoolVar(&v.strict, "strict", false, "make errors of doubts about the network or posterior, which certify tells as notes")
	f.BoolVar(&v.quiet, "quiet", false, "nothing on standard error but errors")
}

// defaultCells is how many cells verify cuts without a time limit.
const defaultCells = 1 << 16

func verifyCommand() *cobra.Command {
	var v verifyFlags
	cmd, f := newCommand("verify", "a VNN-LIB query about a network or posterior: sat, unsat, unknown", verifyAbout, 1)
	v.add(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		began := time.Now()
		if err := v.check(f); err != nil {
			return err
		}
		if done, err := v.device.supervised(ctx, newSupervised(ctx, stdout, stderr, "")); done || err != nil {
			return err
		}
		if v.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, began.Add(v.limit()))
			defer cancel()
		}
		say, late, err := within(ctx, func() (func() error, error) { return v.answer(ctx, f.Arg(0), stdout, stderr) })
		switch {
		case late: // devices and readers are at work still, until the program ends
			_, err = fmt.Fprintln(stdout, verify.TimedOut)
			return err
		case err != nil:
			return err
		}
		return say()
	})
}

// answer reads the query, finds its answer, and gives what prints it.
func (v *verifyFlags) answer(ctx context.Context, path string, stdout, stderr io.Writer) (say func() error, err error) {
	query, err := vnnlib.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := v.fits(path, query); err != nil {
		return nil, err
	}
	if v.posterior != "" {
		return v.ofPosterior(ctx, path, stdout, stderr)
	}
	return v.ofNetworks(ctx, path, query, stdout, stderr)
}

// limit is --timeout, less what the program needs to end: answers that come too late are
// worth nothing to who asked.
func (v *verifyFlags) limit() time.Duration {
	limit := time.Duration(min(v.timeout, 1e9) * float64(time.Second))
	return limit - min(limit/20, 200*time.Millisecond)
}

// check refuses flags that contradict each other.
func (v *verifyFlags) check(f *pflag.FlagSet) error {
	switch {
	case (len(v.network) == 0) == (v.posterior == ""):
		return errors.New("verify: give one of --network NAME=FILE and --posterior FILE")
	case v.posterior == "" && (f.Changed("require") || f.Changed("scale-factor")):
		return errors.New("verify: --require and --scale-factor are for --posterior: a network is safe or not")
	case v.posterior != "" && (f.Changed("cells") || v.asRounded):
		return errors.New("verify: --cells and --as-rounded are for --network")
	case f.Changed("timeout") && !(v.timeout > 0):
		return fmt.Errorf("verify: --timeout %v is no number of seconds above 0", v.timeout)
	case f.Changed("cells") && v.cells < 1:
		return fmt.Errorf("verify: --cells %d is less than 1", v.cells)
	}
	_, err := probabilityOf("require", v.require)
	return err
}

// fits refuses a query about another arithmetic.
func (v *verifyFlags) fits(path string, q *vnnlib.Query) error {
	for i := range q.Networks {
		for _, t := range []vnnlib.Variable{q.Networks[i].Input, q.Networks[i].Output} {
			if !strings.EqualFold(t.Type, "Real") && !v.asReal {
				return fmt.Errorf("%s: %s is declared as %s: psafe proves statements about real arithmetic; write Real in the query, or give --as-real", path, t.Name, t.Type)
			}
		}
	}
	return nil
}

// named is one --network as name and file; the name may be missing.
func named(flag string) (name, file string) {
	name, file, both := strings.Cut(flag, "=")
	if !both || strings.ContainsAny(name, "/.") {
		return "", flag
	}
	return name, file
}

// files are the files of the networks that a query declares.
func (v *verifyFlags) files(path string, q *vnnlib.Query) ([]string, error) {
	files, needed := make([]string, len(q.Networks)), 0
	for k := range q.Networks {
		if q.Networks[k].Equal < 0 {
			needed++
		}
	}
	for _, flag := range v.network {
		name, file := named(flag)
		k := slices.IndexFunc(q.Networks, func(n vnnlib.Network) bool { return n.Name == name })
		if name == "" && needed == 1 || len(files) == 1 && q.Networks[0].Name == "" {
			k = 0 // copies are of networks before
		}
		switch {
		case k < 0 && len(files) == 1:
			return nil, fmt.Errorf("%s: the query declares network %s, --network names %.40q: write --network %s=FILE", path, q.Networks[0].Name, name, q.Networks[0].Name)
		case k < 0:
			var names []string
			for _, n := range q.Networks {
				names = append(names, n.Name)
			}
			return nil, fmt.Errorf("%s: the query declares %d networks, --network %.80q names none of them: write --network NAME=FILE with a name of %.200s", path, len(files), flag, strings.Join(names, ", "))
		case files[k] != "":
			return nil, fmt.Errorf("%s: --network names network %.40q twice: give it once", path, name)
		}
		files[k] = file
	}
	for k := range files {
		if files[k] == "" && q.Networks[k].Equal >= 0 {
			files[k] = files[q.Networks[k].Equal]
		}
		if files[k] == "" {
			return nil, fmt.Errorf("%s: the query declares network %s: write --network %s=FILE", path, q.Networks[k].Name, q.Networks[k].Name)
		}
	}
	return files, nil
}

// readNetworks are the networks of a query, each file read once.
func (v *verifyFlags) readNetworks(path string, q *vnnlib.Query) (nets []*posterior.Posterior, err error) {
	files, err := v.files(path, q)
	if err != nil {
		return nil, err
	}
	for k, file := range files {
		same := slices.Index(files[:k], file)
		if same >= 0 {
			nets = append(nets, nets[same])
			continue
		}
		net, err := v.readNetwork(file, len(files) > 1)
		if err != nil {
			return nil, err
		}
		if of := q.Networks[k].Equal; of >= 0 && net.Source.SHA256 != nets[of].Source.SHA256 {
			return nil, fmt.Errorf("%s: network %s is declared to be equal to %s, but %s has other content than %s: name one file for both", path, q.Networks[k].Name, q.Networks[of].Name, file, files[of])
		}
		nets = append(nets, net)
	}
	return nets, nil
}

// readNetwork reads the file of one network, which may be one of several.
func (v *verifyFlags) readNetwork(file string, several bool) (*posterior.Posterior, error) {
	named, err := v.post.of(file)
	if err != nil {
		return nil, err
	}
	named.Options.OneNetwork = true
	post, err := named.Read()
	if err != nil {
		return nil, err
	}
	switch normalised, certain := post.Input.Mean != nil || post.Input.Std != nil, verify.Certain(post); {
	case several && normalised:
		return nil, fmt.Errorf("%s: says that its inputs are normalised, and a query speaks of what the network takes: save it without input.mean and input.std", file)
	case several && !certain:
		return nil, fmt.Errorf("%s: is a distribution of networks, not one: a query about several is of networks without a spread: save the one of the means", file)
	case normalised:
		return nil, fmt.Errorf("%s: says that its inputs are normalised, and a query speaks of what the network takes: name it with --posterior, which normalises, or save it without input.mean and input.std", file)
	case !certain:
		return nil, fmt.Errorf("%s: is a distribution of networks, not one: name it with --posterior", file)
	}
	if post.Source.Rounded != "" && !v.asRounded {
		return nil, fmt.Errorf("%s: %s: answers would be about the rounded network, not about the one of the file; give --as-rounded to have them", file, post.Source.Rounded)
	}
	if err := certify.Doubted(certify.Doubts(post)); err != nil && v.strict {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return post, nil
}

// ofNetworks answers about the networks whose files it reads.
func (v *verifyFlags) ofNetworks(ctx context.Context, path string, query *vnnlib.Query, stdout, stderr io.Writer) (say func() error, err error) {
	nets, err := v.readNetworks(path, query)
	if err != nil {
		return nil, err
	}
	q := verify.Question{Query: query, Networks: nets, Cells: v.cells, Fine: func() bound.Device { return fallback.New(bound.Float64) }}
	if q.Cells == 0 && v.timeout > 0 {
		q.Cells = 1 << 60
	} else if q.Cells == 0 {
		q.Cells = defaultCells
	}
	tasks, err := q.Tasks()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	opened, err := v.device.open()
	if err != nil {
		return nil, err
	}
	result, err := q.Ask(ctx, tasks, opened.list[0], opened.spare)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := printAnswer(stdout, query, &result); err != nil || v.quiet {
			return err
		}
		where := ""
		if result.Found != nil {
			where = "; the counterexample is " + result.Found.Where(query)
		}
		if slices.ContainsFunc(nets, func(n *posterior.Posterior) bool { return n.Source.Rounded != "" }) {
			where += "; this is about the rounded network"
		}
		cells := fmt.Sprintf("%d cells", result.Cells)
		if result.Problems > 0 {
			cells += fmt.Sprintf(" and %d sub-problems", result.Problems)
		}
		fmt.Fprintf(stderr, "psafe: %s after %s on %s%s\n", result.Answer, cells, opened.list[0].Name(), where)
		return nil
	}, nil
}

// lateness is how long after a deadline work may take to end by itself.
const lateness = 300 * time.Millisecond

// within is f, which ends when ctx does; if that takes it longer than lateness after a deadline,
// because a single operation does, it is late and left alone.
func within[T any](ctx context.Context, f func() (T, error)) (result T, late bool, err error) {
	deadline, limited := ctx.Deadline()
	if !limited {
		result, err = f()
		return result, false, err
	}
	ended := make(chan struct{})
	var value T
	var failed error
	fault.Go(nil, func() {
		value, failed = f()
		close(ended)
	})
	select {
	case <-ended:
		return value, false, failed
	case <-time.After(time.Until(deadline) + lateness):
		return result, true, nil
	}
}

// printAnswer prints what VNN-LIB's command line demands: the answer, and for a
// counterexample each variable with its type and shape, and its numbers in row-major order.
func printAnswer(w io.Writer, q *vnnlib.Query, r *verify.Result) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, r.Answer)
	if c := r.Found; c != nil {
		input, output := 0, 0
		for i := range q.Networks {
			n := &q.Networks[i]
			printVariable(out, &n.Input)
			for range n.Input.Size {
				fmt.Fprintln(out, verify.Decimal(c.Input[input]))
				input++
			}
			printVariable(out, &n.Output)
			for range n.Output.Size {
				fmt.Fprintln(out, strconv.FormatFloat(c.OutputApprox(output), 'f', -1, 64))
				output++
			}
		}
	}
	return out.Flush()
}

func printVariable(w io.Writer, v *vnnlib.Variable) {
	axes := make([]string, len(v.Shape))
	for k, n := range v.Shape {
		axes[k] = strconv.Itoa(n)
	}
	fmt.Fprintf(w, "%s %s [%s]\n", v.Name, v.Type, strings.Join(axes, ","))
}
