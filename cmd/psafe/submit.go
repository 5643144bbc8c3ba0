package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/job/campaign"
	"psafe/host/record"
	"psafe/internal/nearest"
	"psafe/internal/outfile"
)

const submitAbout = `psafe submit prints what starts the shards of a campaign that psafe plan made,
and then merges their results: for Slurm a shell script that submits both, for
Kubernetes two Jobs. What it prints may be edited. Flags behind -- are of psafe
run.

  psafe submit slurm DIR --shards 16 | sh
  psafe submit slurm DIR --shards 100 -- --options recheck=1 > job.sh
  psafe submit kubernetes DIR --shards 16 --image IMAGE \
    --claim campaigns > jobs.yaml`

// submitFlags are all flags of submit as typed.
type submitFlags struct {
	campaign.Submission
	out        outFlags
	slurm      campaign.Slurm
	kubernetes campaign.Kubernetes
}

func (s *submitFlags) add(f *pflag.FlagSet) {
	f.IntVar(&s.Shards, "shards", 0, "how many shards the campaign is cut into; required")
	f.IntVar(&s.Parallel, "parallel", 0, "how many shards run at a time (default all that there is room for)")
	f.IntVar(&s.GPUs, "gpus", 0, "GPUs of a shard; 0 computes on the CPU")
	f.IntVar(&s.CPUs, "cpus", 2, "processor cores of a shard")
	f.StringVar(&s.Memory, "mem", "2G", "memory of a shard: a whole number and K, M, G or T")
	f.StringVar(&s.MergeMemory, "merge-mem", "1G", "memory of the job that merges")
	f.IntVar(&s.Retries, "retries", 3, "how often a shard is started again that ran out of time or whose device broke")
	s.out.add(f, "file of the merged results, .jsonl, .csv or .parquet (default results.jsonl in DIR)")
	f.StringVar(&s.slurm.Time, "time", "", "slurm: time limit of a shard, as of sbatch (default the partition's)")
	f.StringVar(&s.slurm.Partition, "partition", "", "slurm: as of sbatch")
	f.StringVar(&s.slurm.Account, "account", "", "slurm: as of sbatch")
	f.StringVar(&s.slurm.Program, "psafe", "", "slurm: `PATH` of psafe on the nodes (default this program's own)")
	f.StringVar(&s.kubernetes.Image, "image", "", "kubernetes: image whose entry point is psafe; required")
	f.StringVar(&s.kubernetes.Claim, "claim", "", "kubernetes: PersistentVolumeClaim of the volume with the campaign and the files that it names; required")
	f.StringVar(&s.kubernetes.Mount, "mount", "/campaign", "kubernetes: where the volume is in the container")
	f.StringVar(&s.Dir, "dir", "", "kubernetes: DIR as the container sees it (default its last part, in --mount)")
	f.StringVar(&s.kubernetes.Namespace, "namespace", "", "kubernetes: namespace of the Jobs (default that of kubectl)")
	f.StringVar(&s.kubernetes.GPUResource, "gpu-resource", "nvidia.com/gpu", "kubernetes: what the cluster calls a GPU")
	f.DurationVar(&s.kubernetes.Deadline, "deadline", 7*24*time.Hour, "kubernetes: how long the Job that merges waits for shards at most")
}

// engines are the engines that submit writes for, with the flags that not both take.
var engines = map[string][]string{
	"slurm":      {"time", "partition", "account", "psafe"},
	"kubernetes": {"image", "claim", "mount", "dir", "namespace", "gpu-resource", "deadline"},
}

var engineWords = []string{"slurm", "kubernetes"}

func submitCommand() *cobra.Command {
	var s submitFlags
	cmd, f := newCommand("submit", "a campaign for Slurm or Kubernetes, as a script or as Jobs", submitAbout, anyNumber)
	s.add(f)
	return does(cmd, func(_ context.Context, stdout, stderr io.Writer) error {
		dir, err := s.operands(f)
		if err != nil {
			return err
		}
		folder, err := campaign.Open(dir)
		if err != nil {
			return err
		}
		s.Manifest = &folder.Manifest
		text := ""
		if f.Arg(0) == "slurm" {
			text, err = s.forSlurm(dir, stderr)
		} else {
			text, err = s.forKubernetes(dir, stderr)
		}
		if err != nil {
			return err
		}
		if asked := []string{"gpus", "cpus", "mem"}; !slices.ContainsFunc(asked, f.Changed) {
			fmt.Fprintf(stderr, "psafe: note: a shard asks for %d cores, %s of memory and no GPU, which small nodes have: --cpus, --mem and --gpus ask for more\n", s.CPUs, s.Memory)
		}
		return printForProgram(text, stdout, stderr)
	})
}

// operands refuses what is missing or belongs to the other engine, keeps the flags of psafe
// run, and returns the campaign's folder.
func (s *submitFlags) operands(f *pflag.FlagSet) (dir string, err error) {
	own := f.Args()
	if n := f.ArgsLenAtDash(); n >= 0 {
		own, s.Run = own[:n], own[n:]
	}
	if len(own) == 0 {
		return "", errors.New("submit needs slurm or kubernetes, and the folder of a campaign: psafe submit slurm DIR --shards 16 | sh")
	}
	engine := own[0]
	if !slices.Contains(engineWords, engine) {
		return "", fmt.Errorf("submit: no engine %.40q: give slurm or kubernetes%s", engine, nearest.Hint(engine, engineWords))
	}
	if len(own) != 2 {
		return "", fmt.Errorf("submit %s needs the folder of one campaign, and has %d; flags of psafe run go behind --", engine, len(own)-1)
	}
	for other, flags := range engines {
		for _, flag := range flags {
			if other != engine && f.Changed(flag) {
				return "", fmt.Errorf("--%s is not for psafe submit %s: leave it out", flag, engine)
			}
		}
	}
	if !f.Changed("shards") {
		return "", errors.New("--shards is missing: say how many shards the campaign is cut into, as in --shards 20")
	}
	if s.out.path != "" && !slices.Contains([]string{".jsonl", ".csv", ".parquet"}, path.Ext(s.out.path)) {
		return "", fmt.Errorf("--out %.80q: ends in none of .jsonl, .csv and .parquet: name such a file", s.out.path)
	}
	s.Out, s.Overwrite = s.out.path, s.out.overwrite
	return own[1], s.checkRun()
}

// checkRun refuses flags behind -- that psafe run does not take, or that submit gives it.
func (s *submitFlags) checkRun() error {
	for _, word := range s.Run {
		if name, _, _ := strings.Cut(word, "="); name == "--shard" || name == "--shards" {
			return fmt.Errorf("%s behind --: every shard gets its own: leave it out", name)
		}
	}
	var r runFlags
	cmd, f := newCommand("run", "", runAbout, anyNumber)
	r.add(f)
	if err := readFlags(cmd, s.Run); errors.Is(err, pflag.ErrHelp) {
		return errors.New("--help behind --: psafe help run lists the flags of psafe run")
	} else if err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%.60q behind -- belongs to no flag of psafe run: psafe help run lists them", f.Arg(0))
	}
	return r.check(f)
}

// maxArray is the greatest number of tasks of an array of Slurm, where nobody changed its
// MaxArraySize.
const maxArray = 1000

func (s *submitFlags) forSlurm(dir string, stderr io.Writer) (string, error) {
	var err error
	if s.Dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if s.Out == "" {
		s.Out = filepath.Join(s.Dir, "results.jsonl")
	}
	if s.Out, err = filepath.Abs(s.Out); err != nil {
		return "", err
	}
	if err := s.refuse(s.Out); err != nil {
		return "", err
	}
	if s.slurm.Program == "" {
		if s.slurm.Program, err = os.Executable(); err != nil {
			return "", fmt.Errorf("--psafe is missing, and the system does not say where this program is: %w", err)
		}
		if builtByGoRun(s.slurm.Program) {
			return "", errors.New("--psafe is missing: go run made this program for this once, so nodes would not find it: make install, or name a psafe that they have")
		}
	}
	s.slurm.Submission = s.Submission
	text, err := s.slurm.Script()
	if err == nil && s.Shards > maxArray {
		fmt.Fprintf(stderr, "psafe: note: Slurm refuses arrays of more than %d unless its MaxArraySize is raised: scontrol show config\n", maxArray)
	}
	return text, err
}

// refuse returns an error, before shards run for hours, if what they prove would not be written.
func (s *submitFlags) refuse(out string) error {
	for _, file := range []string{out, record.RecordsFile(out)} {
		if err := outfile.Refuse(file, s.out.old()); err != nil {
			return ofOut(err)
		}
	}
	return nil
}

// builtByGoRun reports whether a program lies where go run puts one: a temporary folder or the
// build cache. A test's lies there too, and is none.
func builtByGoRun(program string) bool {
	return !strings.HasSuffix(program, ".test") && slices.ContainsFunc(strings.Split(filepath.ToSlash(program), "/"), func(part string) bool { return strings.HasPrefix(part, "go-build") })
}

// fewOf names the first of several, and says how many there are.
func fewOf(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return fmt.Sprintf("%s and %d more", list[0], len(list)-1)
}

func (s *submitFlags) forKubernetes(dir string, stderr io.Writer) (string, error) {
	if s.Dir == "" {
		full, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		s.Dir = path.Join(s.kubernetes.Mount, filepath.Base(full))
	}
	switch {
	case s.Out == "":
		s.Out = path.Join(s.Dir, "results.jsonl")
	case !path.IsAbs(s.Out):
		s.Out = path.Join(s.Dir, s.Out)
	}
	if in, inDir := strings.CutPrefix(path.Clean(s.Out), path.Clean(s.Dir)+"/"); inDir { // of the volume no more is known here
		if err := s.refuse(filepath.Join(dir, filepath.FromSlash(in))); err != nil {
			return "", err
		}
	}
	s.kubernetes.Submission = s.Submission
	var word [8]byte
	rand.Read(word[:])
	s.kubernetes.Word = hex.EncodeToString(word[:])
	text, err := s.kubernetes.YAML()
	if away := s.kubernetes.Outside(); err == nil && len(away) > 0 {
		fmt.Fprintf(stderr, "psafe: note: shards look for %s, which %s not in the volume: copy what the campaign reads beside it and plan it there, or add another volume to the Jobs\n",
			plain(fewOf(away)), map[bool]string{true: "is", false: "are"}[len(away) == 1])
	}
	return text, err
}
