package campaign

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"psafe/host/job/certify"
)

// Submission describes how the shards of a campaign are to be started, whatever starts them. Its
// errors, and those of Slurm and Kubernetes, name the flags of psafe submit.
type Submission struct {
	*Manifest
	// Dir is the campaign's folder where the shards run, an absolute path.
	Dir    string
	Shards int
	// Parallel is how many shards run at a time, 0 for as many as there is room for.
	Parallel int
	// GPUs and CPUs are those of one shard. Memory is of one shard too, and MergeMemory of the job
	// that merges: a whole number and K, M, G or T, in powers of 1024.
	GPUs, CPUs          int
	Memory, MergeMemory string
	// Retries is how often a shard is started again that ended by what may pass.
	Retries int
	// Out holds what the merged results are written to, an absolute path. Overwrite replaces what
	// is there by then.
	Out       string
	Overwrite bool
	// Run are more flags of psafe run.
	Run []string
}

// Again is the flag with which merging may be started again after it has written Out.
func (s Submission) Again() string {
	if s.Overwrite {
		return "--overwrite"
	}
	return "--resume"
}

// Last is the number of the last shard.
func (s Submission) Last() int { return s.Shards - 1 }

var (
	campaignWord = regexp.MustCompile(`^[0-9a-f]{16}$`)
	memorySize   = regexp.MustCompile(`^[1-9][0-9]{0,8}[KMGT]$`)
	control      = regexp.MustCompile(`[[:cntrl:]]`)
)

func (s *Submission) check() error {
	for _, c := range []struct {
		flag        string
		value, from int
	}{{"shards", s.Shards, 1}, {"parallel", s.Parallel, 0}, {"gpus", s.GPUs, 0}, {"cpus", s.CPUs, 1}, {"retries", s.Retries, 0}} {
		if c.value < c.from {
			return fmt.Errorf("--%s %d: give a whole number from %d", c.flag, c.value, c.from)
		}
	}
	switch {
	case !campaignWord.MatchString(s.Campaign):
		return fmt.Errorf("%s: campaign %.40q is not what psafe plan writes: plan it again", ManifestName, s.Campaign)
	case s.Shards > s.Tasks:
		return fmt.Errorf("--shards %d: the campaign has %d tasks: give no more shards than that", s.Shards, s.Tasks)
	case !memorySize.MatchString(s.Memory):
		return fmt.Errorf("--mem %.40q: give a whole number and K, M, G or T, such as 8G", s.Memory)
	case !memorySize.MatchString(s.MergeMemory):
		return fmt.Errorf("--merge-mem %.40q: give a whole number and K, M, G or T, such as 1G", s.MergeMemory)
	}
	for _, text := range append([]string{s.Dir, s.Out}, s.Run...) {
		if control.MatchString(text) || !utf8.ValidString(text) {
			return fmt.Errorf("%.80q has a line break, or another character that is no text: rename it", text)
		}
	}
	return nil
}

// onDevice adds to flags of psafe run the devices of a shard, unless they name some.
func (s *Submission) onDevice(flags []string) []string {
	for _, word := range flags {
		if word == "--device" || strings.HasPrefix(word, "--device=") {
			return flags
		}
	}
	device := "cpu"
	if s.GPUs == 1 {
		device = "gpu"
	} else if s.GPUs > 1 {
		device = "all-gpus"
	}
	return append([]string{"--device", device}, flags...)
}

// Slurm is a submission to Slurm.
type Slurm struct {
	Submission
	// Program is the path of psafe on the nodes.
	Program string
	// Time, Partition and Account are those of sbatch, left to the cluster if empty.
	Time, Partition, Account string
}

var (
	slurmTime = regexp.MustCompile(`^[0-9]+(-[0-9]+)?(:[0-9]+){0,2}$`)
	slurmName = regexp.MustCompile(`^[A-Za-z0-9_.,@+-]*$`)
)

// Script is a text for sh on a login node that submits an array of shards and, depending on
// it, a job that merges.
func (s Slurm) Script() (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	switch {
	case s.Program == "" || control.MatchString(s.Program):
		return "", fmt.Errorf("--psafe %.80q: name the program's path on the nodes", s.Program)
	case s.Time != "" && !slurmTime.MatchString(s.Time):
		return "", fmt.Errorf("--time %.40q: give a time as sbatch takes it, such as 4:00:00 or 2-00:00:00", s.Time)
	case !slurmName.MatchString(s.Partition):
		return "", fmt.Errorf("--partition %.40q is no name of a partition: sinfo lists them", s.Partition)
	case !slurmName.MatchString(s.Account):
		return "", fmt.Errorf("--account %.40q is no name of an account", s.Account)
	}
	s.Run = s.onDevice(s.Run)
	return fill("slurm.sh", s)
}

// Kubernetes is a submission to Kubernetes.
type Kubernetes struct {
	Submission
	// Image is the container's image, whose entry point is psafe.
	Image string
	// Claim names the claim of a volume that holds the campaign and what it reads, Mount is
	// where it is in the container: Dir and Out lie there.
	Claim, Mount string
	// Namespace may be empty. GPUResource is what the cluster calls a GPU.
	Namespace, GPUResource string
	// Word sets this start of the campaign apart from others: what has failed before, and is
	// mended, does not end the Job that merges.
	Word string
	// Deadline is how long that Job may wait.
	Deadline time.Duration
}

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	resourceName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)
	plainLabel   = regexp.MustCompile(`^[0-9a-f]+$`)
	imageName    = regexp.MustCompile(`^[^\s[:cntrl:]]+$`)
)

// maxDeadline is ten years.
const maxDeadline = 87600 * time.Hour

// YAML is an Indexed Job of the shards, and a Job that merges when they are done, and fails when
// one of them has failed for good.
func (k Kubernetes) YAML() (string, error) {
	if err := k.check(); err != nil {
		return "", err
	}
	switch {
	case k.Image == "":
		return "", errors.New("--image is missing: name the image that has psafe, such as registry.example/psafe:1")
	case k.Claim == "":
		return "", errors.New("--claim is missing: name the PersistentVolumeClaim with the campaign's files: kubectl get pvc lists them")
	case !imageName.MatchString(k.Image):
		return "", fmt.Errorf("--image %.60q is no name of an image: give one such as registry.example/psafe:1", k.Image)
	case !dnsSubdomain.MatchString(k.Claim):
		return "", fmt.Errorf("--claim %.60q is no name of a PersistentVolumeClaim, which has small letters, digits, - and . : kubectl get pvc lists them", k.Claim)
	case k.Namespace != "" && !dnsLabel.MatchString(k.Namespace):
		return "", fmt.Errorf("--namespace %.60q is no name of a namespace", k.Namespace)
	case !resourceName.MatchString(k.GPUResource):
		return "", fmt.Errorf("--gpu-resource %.60q: give what the cluster calls a GPU, such as nvidia.com/gpu", k.GPUResource)
	case !plainLabel.MatchString(k.Word):
		panic(fmt.Sprintf("campaign: Kubernetes: the word of a submission is %q", k.Word))
	case k.Deadline < time.Second || k.Deadline > maxDeadline:
		return "", fmt.Errorf("--deadline %v: give a time from 1s to %v, such as 72h", k.Deadline, maxDeadline)
	case !path.IsAbs(k.Mount) || strings.Contains(k.Mount, ":") || control.MatchString(k.Mount):
		return "", fmt.Errorf("--mount %.60q: give an absolute path in the container, without a colon", k.Mount)
	}
	for _, place := range []struct{ what, path string }{{"the campaign", k.Dir}, {"the campaign's posteriors and inputs", k.base()}, {"--out", k.Out}} {
		if !within(k.Mount, place.path) {
			return "", fmt.Errorf("%s: %.80q is not in the volume, which is at %s: change --mount, or --dir, which says where in the container the campaign is", place.what, place.path, k.Mount)
		}
	}
	return fill("kubernetes.yaml", k)
}

// base is the folder in the container that paths of jobs start from.
func (k Kubernetes) base() string {
	base := filepath.ToSlash(k.Base)
	if path.IsAbs(base) {
		return base
	}
	return path.Join(k.Dir, base)
}

// Outside are the files that jobs read from places in the container that are not in the
// volume: the image, or what the user adds to the Jobs, has to have them.
func (k Kubernetes) Outside() []string {
	var list []string
	for _, job := range k.Jobs {
		for _, file := range job.Files {
			place := filepath.ToSlash(file.Path)
			if !path.IsAbs(place) {
				place = path.Join(k.base(), place)
			}
			if !within(k.Mount, place) && !slices.Contains(list, place) {
				list = append(list, place)
			}
		}
	}
	return list
}

// within reports whether a path is a folder or in it.
func within(folder, file string) bool {
	folder = strings.TrimSuffix(path.Clean(folder), "/")
	return folder == path.Clean(file) || strings.HasPrefix(path.Clean(file), folder+"/")
}

// RunArgs are the arguments of the container of a shard.
func (k Kubernetes) RunArgs() []string {
	return append([]string{"run", k.Dir, "--shards", fmt.Sprint(k.Shards)}, k.onDevice(k.Run)...)
}

// MergeArgs are the arguments of the container that merges.
func (k Kubernetes) MergeArgs() []string {
	return []string{"merge", k.Dir, "--wait", "--retries", fmt.Sprint(k.Retries), "--out", k.Out, k.Again()}
}

// Variable returns the name of the variable in which the containers find Word.
func (k Kubernetes) Variable() string { return SubmissionVariable }

// DeadlineSeconds is Deadline as Kubernetes takes it.
func (k Kubernetes) DeadlineSeconds() int64 { return int64(k.Deadline / time.Second) }

// Final are the exit statuses after which no shard is started again.
func (k Kubernetes) Final() string {
	return strings.ReplaceAll(fmt.Sprint(finalStatuses), " ", ", ")
}

//go:embed templates
var templates embed.FS

// fill is a template with the values of a Slurm or Kubernetes. Every text of a user in it goes
// through words or yaml, or is of a pattern above without special characters.
func fill(name string, values any) (string, error) {
	// What strconv quotes is a double-quoted scalar of YAML, which knows its escapes: in text that
	// is valid UTF-8, \x is below \x80, where bytes and characters are the same.
	t := template.New(name).Funcs(template.FuncMap{"words": shellWords, "yaml": strconv.Quote, "literally": literally})
	var b strings.Builder
	if err := template.Must(t.ParseFS(templates, "templates/"+name)).Execute(&b, values); err != nil {
		return "", err
	}
	return b.String(), nil
}

// shellWords are strings, and lists of them, as words of sh: each stays one word, with the same
// bytes.
func shellWords(values ...any) string {
	var words []string
	for _, v := range values {
		switch v := v.(type) {
		case string:
			words = append(words, v)
		case []string:
			words = append(words, v...)
		}
	}
	return certify.Shell(words)
}

// literally is an argument of a container such that Kubernetes, which puts variables in place
// of $(NAME) and reads $$ as $, gives the program the text.
func literally(text string) string { return strings.ReplaceAll(text, "$", "$$") }
