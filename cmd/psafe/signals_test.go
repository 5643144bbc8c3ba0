package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"psafe/host/job/certify"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/internal/testscale"
)

// deepNet writes a network of so many layers, each of width neurons, and a file of points.
func deepNet(t *testing.T, layers, width int) (net, points string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	params := func(n int, size float64) posterior.Params {
		p := posterior.Params{Mean: make([]float64, n), Spread: make([]float64, n), SdLo: make([]float64, n), SdHi: make([]float64, n)}
		for i := range n {
			p.Mean[i], p.Spread[i], p.SdLo[i], p.SdHi[i] = size*rng.NormFloat64(), 1e-4, 1e-4, 1e-4
		}
		return p
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := range layers {
		activation := network.Activation{Kind: network.ReLU}
		if k == layers-1 {
			activation.Kind = network.Identity
		}
		post.Layers = append(post.Layers, posterior.Layer{
			Layer: network.DenseLayer(width, width, activation), Weight: params(width*width, 0.3), Bias: params(width, 0),
		})
	}
	dir := t.TempDir()
	net, points = filepath.Join(dir, "deep.npz"), filepath.Join(dir, "points.csv")
	var b bytes.Buffer
	if err := format.WriteNPZ(&b, post); err != nil {
		t.Fatal(err)
	}
	writeTest(t, net, b.String())
	writeTest(t, points, strings.Repeat(strings.TrimSuffix(strings.Repeat("0.5,", width), ",")+"\n", 3))
	return net, points
}

// noSignals skips a test where a program cannot be sent signals.
func noSignals(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
}

// ending describes how a program ended.
type ending struct {
	status int
	signal bool // by the signal itself, which it had not asked for yet
	after  time.Duration
	text   string // standard error
}

// signalled starts psafe, sends it signals after a delay, all at once, and says how it
// ended. Its standard output is a pipe that nobody reads.
func signalled(t *testing.T, delay time.Duration, args []string, signals ...syscall.Signal) ending {
	t.Helper()
	unread, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	cmd := exec.Command("psafe", args...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	err = cmd.Start()
	stdout.Close()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(delay)
	start := time.Now()
	for _, s := range signals {
		_ = cmd.Process.Signal(s) // it may have ended
	}
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	err = cmd.Wait()
	e := ending{after: time.Since(start), text: stderr.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		e.status, e.signal = exit.ExitCode(), exit.ExitCode() < 0
	} else if err != nil {
		t.Fatal(err)
	}
	return e
}

// interrupted demands that psafe answers a signal by status 4, soon, and says so. The delay
// is tried shorter where the program had ended and longer where it had not begun.
func interrupted(t *testing.T, delay time.Duration, args []string, signals ...syscall.Signal) ending {
	t.Helper()
	var e ending
	for range 12 {
		e = signalled(t, delay, args, signals...)
		switch {
		case e.after > 20*time.Second:
			t.Fatalf("psafe %q: %v: answered after %v", args, signals, e.after)
		case e.signal:
			delay *= 2
		case e.status == exitDone:
			delay = delay * 2 / 3
		default:
			if e.status != exitInterrupted || !strings.Contains(e.text, "psafe: interrupted") {
				t.Fatalf("psafe %q: %v: status %d, %q", args, signals, e.status, e.text)
			}
			return e
		}
	}
	t.Fatalf("psafe %q: %v: never in time; last after %v: %+v", args, signals, delay, e)
	return e
}

// TestSignals: SIGINT, SIGTERM and SIGHUP end certify as interrupted, soon, also within one
// pass over a network of 2,000 layers, which takes a minute.
func TestSignals(t *testing.T) {
	noSignals(t)
	net, points := deepNet(t, 2000, 8)
	for i, s := range testscale.Few(t, []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}, 2) {
		out := filepath.Join(t.TempDir(), "r.jsonl")
		args := []string{"certify", "--device", "cpu", "--posterior", net, "--inputs", points, "--eps", "0.001", "--quiet", "--out", out}
		e := interrupted(t, time.Duration(i+1)*150*time.Millisecond, args, s)
		if e.text != "psafe: interrupted\n" {
			t.Errorf("%v: %q", s, e.text)
		}
		if names, err := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); err != nil || len(names) > 0 {
			t.Errorf("%v: without a record there is %q, %v", s, names, err)
		}
		t.Logf("%v: answered after %v", s, e.after)
	}
}

// TestSignalsEverywhere: so does every other command, whatever it waits for: here, a reader of
// its standard output that never comes, a long training, a device that computes.
func TestSignalsEverywhere(t *testing.T) {
	noSignals(t)
	net, points := deepNet(t, 2000, 8)
	wide, _ := deepNet(t, 40, 300)
	dir := t.TempDir()
	records := filepath.Join(dir, "r.jsonl")
	certifyTo(t, records, "--device", "cpu", "--posterior", testFile("tiny-2-3-2-tanh.npz"), "--inputs", pointsOf(t, "0,1\n"), "--eps", "0.05", "--method", "clbp", "--quiet")
	record := readTest(t, records)
	var many strings.Builder
	for i := range 10_000 {
		many.WriteString(resealed(strings.TrimSuffix(record, "\n"), `"index":0`, fmt.Sprintf(`"index":%d`, i)) + "\n")
	}
	writeTest(t, records, many.String())
	out := func(name string) string { return filepath.Join(t.TempDir(), name) }
	for _, c := range []struct {
		args    []string
		signals []syscall.Signal
	}{
		{[]string{"inspect", net}, []syscall.Signal{syscall.SIGINT}},
		{[]string{"convert", wide, "--out", out("c.npz"), "--overwrite"}, []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM}},
		{[]string{"train", "--data", "cubic", "--samples", "100000", "--epochs", "100000", "--out", out("t.npz"), "--overwrite"}, []syscall.Signal{syscall.SIGINT}},
		{[]string{"train", "--data", "cubic", "--samples", "100000", "--epochs", "100000", "--out", out("t.npz"), "--overwrite"}, []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}},
		{[]string{"bench", "--device", "cpu", "--seconds", "100"}, []syscall.Signal{syscall.SIGTERM}},
		{[]string{"crosscheck", "--posterior", net, "--inputs", points, "--eps", "0.001", "--against", "cpu"}, []syscall.Signal{syscall.SIGINT}},
		{[]string{"plot", "eps", records, "--out", out("f.svg"), "--overwrite"}, []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM}},
		{[]string{"paper", "regression", "--quick", "--device", "cpu", "--out", out("paper")}, []syscall.Signal{syscall.SIGTERM}},
	} {
		e := interrupted(t, 200*time.Millisecond, c.args, c.signals...)
		t.Logf("%s: %v: answered after %v", c.args[0], c.signals, e.after)
		if i := slices.Index(c.args, "--out") + 1; i > 0 {
			if names, err := filepath.Glob(filepath.Join(filepath.Dir(c.args[i]), ".psafe-*")); err != nil || len(names) > 0 {
				t.Errorf("psafe %q: left %q, %v", c.args, names, err)
			}
		}
	}
}

// pointsOf writes a file of points.
func pointsOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "points.csv")
	writeTest(t, path, text)
	return path
}

// TestSecondSignal: a second signal does not wait for the program to end in order: here, it
// cannot, since nobody reads what it prints.
func TestSecondSignal(t *testing.T) {
	noSignals(t)
	net, _ := deepNet(t, 2000, 2)
	var first, second time.Duration
	for range 10 { // a busy machine may take long for anything
		first = interrupted(t, 400*time.Millisecond, []string{"inspect", net}, syscall.SIGINT).after
		second = interrupted(t, 400*time.Millisecond, []string{"inspect", net}, syscall.SIGINT, syscall.SIGTERM).after
		if first >= respite && second < respite {
			return
		}
	}
	t.Errorf("one signal: answered after %v; two: %v", first, second)
}

// TestSignalDuringCompile: what a device says of a signal that reached its compiler too is no
// fault of the device.
func TestSignalDuringCompile(t *testing.T) {
	testscale.DeepOnly(t)
	noSignals(t)
	if _, err := exec.Command("psafe", "crosscheck", "--posterior", testFile("one-weight.npz"), "--precision", "float32").Output(); err != nil {
		t.Skip("OpenCL has no device here")
	}
	net, points := deepNet(t, 4, 8)
	for try := range testscale.Costly(t, 20) {
		t.Setenv("POCL_CACHE_DIR", t.TempDir())
		cmd := exec.Command("psafe", "certify", "--device", "0:0", "--posterior", net, "--inputs", points, "--eps", "0.001")
		cmd.SysProcAttr = ownGroup
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200*time.Millisecond + time.Duration(rand.IntN(1000))*time.Millisecond)
		_ = signalGroup(cmd, syscall.SIGINT) // as a terminal does
		err := cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != exitInterrupted && got != exitDone && got >= 0 {
			t.Errorf("%d: status %d, %v, %q", try, got, err, stderr.String())
		}
	}
}

// TestHangup: nohup is obeyed.
func TestHangup(t *testing.T) {
	noSignals(t)
	net, points := deepNet(t, 2000, 8)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(shell, "-c", `trap "" HUP; echo ignored; exec psafe "$@"`, "sh", "certify", "--device", "cpu", "--posterior", net, "--inputs", points, "--eps", "0.001")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil { // from now on it is ignored
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range 8 {
		_ = cmd.Process.Signal(syscall.SIGHUP)
		time.Sleep(50 * time.Millisecond)
	}
	select {
	case err := <-ended:
		t.Errorf("SIGHUP, which it was to ignore, ended it: %v", err)
	default:
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; cmd.ProcessState.ExitCode() != exitInterrupted {
			t.Errorf("SIGTERM after it: %v", err)
		}
	}
}

// TestDeviceErrorAfterSignal: a device that fails once a signal has come is not to blame.
func TestDeviceErrorAfterSignal(t *testing.T) {
	broken := &certify.DeviceError{Err: errors.New("clBuildProgram failed")}
	ctx, cancel := context.WithCancel(t.Context())
	if got := status(blameless(ctx, broken), io.Discard); got != exitDevice {
		t.Errorf("without a signal: status %d", got)
	}
	cancel()
	if got := status(blameless(ctx, broken), io.Discard); got != exitInterrupted {
		t.Errorf("after a signal: status %d", got)
	}
	for _, err := range []error{nil, errors.New("--eps is missing"), &statusError{exitUnder, errors.New("under")}} {
		if got := blameless(ctx, err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
