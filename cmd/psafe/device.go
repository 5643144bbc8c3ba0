package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"psafe/fallback"
	"psafe/gpu"
	"psafe/host/bound"
	"psafe/host/job/certify"
)

// deviceFlags choose where to compute.
type deviceFlags struct {
	device, precision, memory string
	profile                   bool
	// passes counts those of concentration LBP, for the profile.
	passes atomic.Int64
	// opening, if it is set, is called before devices are opened.
	opening func()
	// chain says that nothing but a chain of dense layers is to be bounded.
	chain bool
	// again says that the command opens devices again and again, and gives them back between. What opens
	// them once leaves that to the end of the process: a driver that crashed or hung in it would
	// have the last word when all is done.
	again bool
}

// add adds the flags, and what is hardly ever used to the keys of --options.
func (d *deviceFlags) add(f, keys *pflag.FlagSet) {
	d.addPlace(f)
	f.StringVar(&d.precision, "precision", "float32", "number format of the bounds, float32 or float64; both are sound")
	d.addRest(keys)
}

// addWithout leaves out the flag that decides numbers, for what is given those.
func (d *deviceFlags) addWithout(f, keys *pflag.FlagSet) {
	d.addPlace(f)
	d.addRest(keys)
}

func (d *deviceFlags) addPlace(f *pflag.FlagSet) {
	f.StringVar(&d.device, "device", defaultDevice(), "auto (a GPU if there is one and the work is not short, with the CPU beside it in bulk, else the CPU), cpu, "+strings.TrimPrefix(strings.ReplaceAll(gpu.Selectors, "`", ""), "auto, ")+", alone or with +cpu behind; default from PSAFE_DEVICE")
}

func (d *deviceFlags) addRest(f *pflag.FlagSet) {
	f.StringVar(&d.memory, "memory", "", "most memory on each OpenCL device, such as 4GiB (default three quarters of a GPU's, a quarter of a CPU's)")
	f.BoolVar(&d.profile, "profile", false, "print the time of each OpenCL kernel at the end")
}

// number is the precision.
func (d *deviceFlags) number() (bound.Precision, error) {
	p, err := bound.ParsePrecision(d.precision)
	if err != nil {
		return p, fmt.Errorf("--precision: %w", didYouMean(err, d.precision, precisionWords))
	}
	return p, nil
}

// begin has a job open the devices that the flags name, and tell how far it is, as word and quiet say.
func (d *deviceFlags) begin(job *certify.Job, stderr io.Writer, word string, quiet bool) *progress {
	job.Version, job.Open = version(), d.opener(stderr)
	job.Opening = func(chain bool) { d.chain = chain }
	p := newProgress(stderr, word)
	if word == progressJSON || !quiet {
		job.Progress = p.update
	}
	if !quiet {
		job.Note = func(n certify.Note) { note(stderr, n) }
	}
	return p
}

// opener opens these devices.
func (d *deviceFlags) opener(stderr io.Writer) certify.Opener {
	return func(p bound.Precision) (*certify.Devices, error) {
		opened, err := d.openIn(p)
		if err != nil {
			return nil, err
		}
		dev := &certify.Devices{
			List: opened.list, Spare: opened.spare, Beside: opened.beside, Blame: d.blame,
			Done: func() error {
				if !d.profile {
					return nil // a device that was lost has been replaced, and the records say so
				}
				return opened.printProfile(stderr, d.passes.Load())
			},
		}
		if d.again {
			dev.Close = opened.close
		}
		return dev, nil
	}
}

// blame says what to tell of a device that failed while a posterior was put on it.
func (d *deviceFlags) blame(err error, file string) error {
	if d.memory != "" && gpu.IsOutOfMemory(err) {
		return fmt.Errorf("--options memory=%s is too little for the posterior %s: %w", d.memory, file, err)
	}
	return fmt.Errorf("--device %s: %w", d.device, err)
}

func defaultDevice() string {
	if d := os.Getenv("PSAFE_DEVICE"); d != "" {
		return d
	}
	return "auto"
}

// devices are what a run computes on.
type devices struct {
	list []bound.Device
	// spare makes the device of last resort, nil on the CPU itself.
	spare func() bound.Device
	// beside is the CPU's cores where they take work off the list.
	beside bound.Device
	opencl []*gpu.Device
}

// close gives the devices back.
func (d *devices) close() {
	for _, g := range d.opencl {
		g.Close()
	}
}

// open opens the devices that the flags name.
func (d *deviceFlags) open() (*devices, error) {
	p, err := d.number()
	if err != nil {
		return nil, err
	}
	return d.openIn(p)
}

// openIn opens them in a precision.
func (d *deviceFlags) openIn(p bound.Precision) (*devices, error) {
	var err error
	opts := gpu.Options{Profile: d.profile, Patience: patience(0), Chains: d.chain, Programs: programs(), Slow: slowDriver}
	if opts.Memory, err = parseBytes(d.memory); err != nil {
		return nil, fmt.Errorf("--options memory: %w", err)
	}
	if d.opening != nil {
		d.opening()
	}
	return openDevices(d.device, p, opts)
}

// withCores is the end of words for devices beside which the CPU's cores work.
const withCores = "+cpu"

// coresBeside is how many of so many cores work beside a device, of which the host's share has the others: an image
// takes .4 ms of the host where a device bounds it, and 1.3 ms where the loops do.
func coresBeside(all int) int { return all - max(1, (all+3)/4) }

func openDevices(selector string, p bound.Precision, opts gpu.Options) (*devices, error) {
	cpu := func() bound.Device { return fallback.New(p) }
	// What auto means was decided before; it is left only where there is no OpenCL.
	if selector == "cpu" || selector == "auto" {
		return &devices{list: []bound.Device{cpu()}}, nil
	}
	selector, shared := strings.CutSuffix(selector, withCores)
	tell("opening")
	opened, err := gpu.OpenAll(selector, p, opts)
	refuseQuickly(err)
	tell("opened")
	if err != nil {
		return nil, &certify.DeviceError{Err: fmt.Errorf("--device %s: %w", selector, err)}
	}
	d := &devices{spare: cpu, opencl: opened}
	if n := coresBeside(runtime.GOMAXPROCS(0)); shared && n > 0 {
		d.beside = fallback.NewOn(p, n)
	}
	for _, g := range opened {
		d.list = append(d.list, g)
		if bound.Wide(g) && ballast == nil {
			ballast = make([]byte, ballastBytes)
		}
	}
	return d, nil
}

// ballast is memory that nothing touches, so that it takes none: the collector waits until there is as much
// garbage as all that is held. Beside a GPU a process makes garbage of what it transfers, as fast as memory
// can be copied, and holds little.
var ballast []byte

const ballastBytes = 64 << 20

// parseBytes reads 123, 64MiB, 4GiB or 4GB; empty is 0.
func parseBytes(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number, unit := text, int64(1)
	for suffix, n := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 1e3, "MB": 1e6, "GB": 1e9} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = rest, n
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v > 0) || v*float64(unit) > 1<<60 {
		return 0, fmt.Errorf("%q is no size: write a number with MiB or GiB", text)
	}
	return int64(v * float64(unit)), nil
}

// printProfile prints what each kernel cost, and what arrays did; passes is how many passes of
// concentration LBP there were, 0 if nobody counted.
func (d *devices) printProfile(w io.Writer, passes int64) error {
	for _, g := range d.opencl {
		times, err := g.Profile()
		if lost := g.Lost(); lost != nil {
			fmt.Fprintf(w, "psafe: profile: none: %s\n", plain(inLine(lost)))
			continue
		}
		if err != nil {
			return &certify.DeviceError{Err: err}
		}
		launches := 0
		for _, k := range times {
			launches += k.Launches
			fmt.Fprintf(w, "psafe: profile: %s: %-15s %6d launches %9.4f s %8.2f GB/s %8.2f GFLOP/s\n", g.Name(), k.Name, k.Launches,
				k.Seconds, float64(k.Bytes)/1e9/k.Seconds, float64(k.Flops)/1e9/k.Seconds)
		}
		a := g.Arrays()
		fmt.Fprintf(w, "psafe: profile: %s: %d launches; %d arrays in %d buffers of at most %.1f MiB together, %d filled (%.1f MiB)", g.Name(), launches,
			a.Made, a.Buffers, float64(a.MostBytes)/(1<<20), a.Fills, float64(a.FilledBytes)/(1<<20))
		if n := float64(passes); n > 0 {
			fmt.Fprintf(w, "; %d passes of clbp, each %.0f launches and %.0f arrays", passes, float64(launches)/n, float64(a.Made)/n)
		}
		waited, of := g.Waited()
		fmt.Fprintf(w, "; the host waited for it %.2f s of %.2f s\n", waited.Seconds(), of.Seconds())
	}
	return nil
}
