package campaign

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// strange are names of folders that mean something to a shell, to YAML, to Slurm or to a
// template, and are names all the same.
var strange = []string{
	"plain", "two words", `it's "quoted"`, "$HOME $(touch x) `touch x`", `back\slash \n`, "%A_%a 100%", "- a: b # c", "{{.Dir}}", "'''", "&&;|<>*?[~!", "é 日本 \u2028", "{a: [b]}",
	"zero\u200cwidth next\u0085line \u202egpj.exe\u2066", "\ufefftag\U000e0041\u00a0", "$$ $(HOME) $$(X) $é $", "$(", "=ls^{a,b}~", "no",
}

func submission(dir string) Submission {
	return Submission{
		Manifest: &Manifest{Campaign: "0123456789abcdef", Tasks: 1000, Base: ".."},
		Dir:      dir, Shards: 16, GPUs: 1, CPUs: 4, Memory: "8G", MergeMemory: "1G", Retries: 3, Out: dir + "/results.jsonl",
	}
}

func onKubernetes(name string) Kubernetes {
	return Kubernetes{Submission: submission("/campaign/" + name), Image: "registry.example/psafe:1", Claim: "data", Mount: "/campaign", GPUResource: "nvidia.com/gpu", Word: "00ff", Deadline: time.Hour}
}

// expanded returns what Kubernetes makes of an argument of a container: $$ is $, and a variable
// that it knows replaces $(NAME). What else follows a $ comes out as it is, but byte by byte: so is
// third_party/forked/golang/expansion of Kubernetes.
func expanded(text string, variables map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch end := strings.IndexByte(text[i:], ')'); {
		case text[i] == '$':
			b.WriteByte('$')
		case text[i] != '(':
			b.WriteString("$" + string(rune(text[i])))
		case end < 0:
			b.WriteString("$(")
		default:
			value, known := variables[text[i+1:i+end]]
			if !known {
				value = "$" + text[i:i+end+1]
			}
			b.WriteString(value)
			i += end
		}
	}
	return b.String()
}

// asGiven are the arguments that the program in a container gets.
func asGiven(t *testing.T, job any) []string {
	t.Helper()
	var got []string
	for _, arg := range fieldOf(t, job, append(container, "args")...).([]any) {
		got = append(got, expanded(arg.(string), map[string]string{"HOME": "/root", "X": "x", "": "nothing"}))
	}
	return got
}

// documents returns the documents of a YAML text.
func documents(t *testing.T, text string) []map[string]any {
	t.Helper()
	var list []map[string]any
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var doc map[string]any
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		list = append(list, doc)
	}
}

// fieldOf returns what lies in maps and lists below each other.
func fieldOf(t *testing.T, v any, way ...any) any {
	t.Helper()
	for _, step := range way {
		switch s := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				t.Fatalf("no %v", way)
			}
			v = l[s]
		}
	}
	return v
}

// container is the way to the only container of a Job.
var container = []any{"spec", "template", "spec", "containers", 0}

// TestJobsAreValid holds the Jobs to what Kubernetes publishes.
func TestJobsAreValid(t *testing.T) {
	s := readSchemas(t, jobSchema)
	full := onKubernetes("run")
	full.Parallel, full.Namespace, full.GPUs, full.Run = 4, "123", 2, []string{"--recheck", "--total-time-limit=1h"}
	bare := onKubernetes("run")
	bare.GPUs, bare.Retries = 0, 0
	for _, k := range []Kubernetes{full, bare} {
		text, err := k.YAML()
		if err != nil {
			t.Fatal(err)
		}
		docs := documents(t, text)
		if len(docs) != 2 {
			t.Fatalf("%d documents", len(docs))
		}
		for _, doc := range docs {
			for _, v := range s.violations(s[jobKind].(map[string]any), doc, "Job") {
				t.Error(v)
			}
			// What clusters ask for that let no pod be more than it must.
			if fieldOf(t, doc, append(container, "securityContext", "allowPrivilegeEscalation")...) != false || fieldOf(t, doc, append(container, "securityContext", "capabilities", "drop", 0)...) != "ALL" ||
				fieldOf(t, doc, "spec", "template", "spec", "securityContext", "runAsNonRoot") != true || fieldOf(t, doc, "spec", "template", "spec", "securityContext", "seccompProfile", "type") != "RuntimeDefault" {
				t.Errorf("more rights than needed: %v", doc)
			}
			if fieldOf(t, doc, "spec", "podFailurePolicy", "rules", 0, "action") != "Ignore" {
				t.Errorf("a drained node counts: %v", doc)
			}
			// What the schema says in its descriptions only.
			if doc["apiVersion"] != "batch/v1" || doc["kind"] != "Job" || fieldOf(t, doc, "spec", "template", "spec", "restartPolicy") != "Never" {
				t.Errorf("%v", doc)
			}
		}
		// The Job that merges does not wait for ever.
		merges := docs[1]["spec"]
		if fieldOf(t, merges, "activeDeadlineSeconds") != 3600 || fieldOf(t, merges, "podFailurePolicy", "rules", 1, "action") != "FailJob" ||
			fieldOf(t, merges, "podFailurePolicy", "rules", 1, "onExitCodes", "containerName") != fieldOf(t, docs[1], append(container, "name")...) {
			t.Errorf("%v", merges)
		}
		for _, doc := range docs {
			if fieldOf(t, doc, append(container, "env", 0, "name")...) != "PSAFE_SUBMISSION" || fieldOf(t, doc, append(container, "env", 0, "value")...) != "00ff" {
				t.Errorf("no word of the submission: %v", doc)
			}
		}
		spec := docs[0]["spec"]
		if fieldOf(t, spec, "completionMode") != "Indexed" || fieldOf(t, spec, "completions") != 16 || fieldOf(t, spec, "parallelism") != max(k.Parallel, 4*(4-k.Parallel)) || fieldOf(t, spec, "backoffLimitPerIndex") != k.Retries ||
			fieldOf(t, spec, "podFailurePolicy", "rules", 0, "action") != "Ignore" || fieldOf(t, spec, "podFailurePolicy", "rules", 1, "action") != "FailIndex" ||
			fieldOf(t, spec, "podFailurePolicy", "rules", 1, "onExitCodes", "operator") != "In" ||
			fieldOf(t, spec, "podFailurePolicy", "rules", 1, "onExitCodes", "containerName") != fieldOf(t, docs[0], append(container, "name")...) {
			t.Errorf("%v", spec)
		}
		if got, want := fieldOf(t, docs[0], append(container, "resources", "limits", "nvidia.com/gpu")...), map[int]any{0: nil, 2: 2}[k.GPUs]; got != want {
			t.Errorf("%v GPUs, want %v", got, want)
		}
		if final := fieldOf(t, spec, "podFailurePolicy", "rules", 1, "onExitCodes", "values"); !reflect.DeepEqual(final, []any{1, 2, 5, 7}) {
			t.Errorf("a shard ends for good by %v", final)
		}
		if fieldOf(t, docs[0], "metadata", "namespace") != map[string]any{"": nil, "123": "123"}[k.Namespace] {
			t.Errorf("%v", docs[0]["metadata"])
		}
	}
	// The schema refuses what is spoilt.
	text, err := full.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"completionMode:", "completionmode:"}, {"completions: 16", "completions: many"}, {"completions: 16", "completions: 16000000000"}, {"image:", "images:"},
		{"mountPath:", "path:"}, {"operator: In", ""}, {"- name: psafe", "- title: psafe"}, {"cpu: 4", "cpu: [4]"}, {"action: FailIndex", "ation: FailIndex"},
		{"claimName:", "claim:"}, {"apiVersion: batch/v1", "apiVersion: 1"}, {"values: [1, 2, 5, 7]", "values: 2"},
	} {
		spoilt := strings.Replace(text, change[0], change[1], 1)
		if spoilt == text {
			t.Errorf("no %q", change[0])
		}
		if doc := documents(t, spoilt)[0]; len(s.violations(s[jobKind].(map[string]any), doc, "Job")) == 0 {
			t.Errorf("%q for %q is valid", change[1], change[0])
		}
	}
}

// TestJobsSayWhatIsMeant: whatever a folder is called, the containers get it as it is, and the
// Jobs are the same but for it.
func TestJobsSayWhatIsMeant(t *testing.T) {
	for _, name := range strange {
		k := onKubernetes(name)
		k.Run = []string{"--recheck", "--profile=" + name}
		k.Mount = "/campaign/" + strings.ReplaceAll(name, ":", ";")
		k.Dir = k.Mount + "/" + name
		k.Out = k.Dir + "/results.jsonl"
		text, err := k.YAML()
		if err != nil {
			t.Fatal(err)
		}
		docs := documents(t, text)
		for i, want := range [][]string{
			{"run", k.Dir, "--shards", "16", "--device", "gpu", "--recheck", "--profile=" + name},
			{"merge", k.Dir, "--wait", "--retries", "3", "--out", k.Dir + "/results.jsonl", "--resume"},
		} {
			if got := asGiven(t, docs[i]); !slices.Equal(got, want) {
				t.Errorf("%q: args %q", name, got)
			}
			if got := fieldOf(t, docs[i], append(container, "volumeMounts", 0, "mountPath")...); got != k.Mount {
				t.Errorf("%q: mounted at %q", name, got)
			}
			fieldOf(t, docs[i], container...).(map[string]any)["args"] = nil
			fieldOf(t, docs[i], append(container, "volumeMounts", 0)...).(map[string]any)["mountPath"] = nil
		}
		plain, err := onKubernetes("plain").YAML()
		if err != nil {
			t.Fatal(err)
		}
		others := documents(t, plain)
		for i := range others {
			fieldOf(t, others[i], container...).(map[string]any)["args"] = nil
			fieldOf(t, others[i], append(container, "volumeMounts", 0)...).(map[string]any)["mountPath"] = nil
			a, errA := yaml.Marshal(others[i])
			b, errB := yaml.Marshal(docs[i])
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("%q: another Job:\n%s\n%s", name, a, b)
			}
		}
	}
}

func TestSubmitRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Slurm, *Kubernetes)
		want   string
	}{
		{func(s *Slurm, k *Kubernetes) { s.Shards, k.Shards = 0, 0 }, "--shards 0"},
		{func(s *Slurm, k *Kubernetes) { s.Shards, k.Shards = 1001, 1001 }, "has 1000 tasks"},
		{func(s *Slurm, k *Kubernetes) { s.CPUs, k.CPUs = 0, -1 }, "--cpus"},
		{func(s *Slurm, k *Kubernetes) { s.Memory, k.Memory = "8Gi", "" }, "--mem"},
		{func(s *Slurm, k *Kubernetes) { s.MergeMemory, k.MergeMemory = "1Gi", "" }, "--merge-mem"},
		{func(s *Slurm, k *Kubernetes) { s.Dir, k.Dir = "/a\nb", "/campaign/a\x00" }, "line break"},
		{func(s *Slurm, k *Kubernetes) { s.Run, k.Run = []string{"a\r"}, []string{"\xff"} }, "line break"},
		{func(s *Slurm, k *Kubernetes) { s.Time, k.Image = "1h", "a b" }, "--time/--image"},
		{func(s *Slurm, k *Kubernetes) { s.Time, k.Image = "1\n#SBATCH --x", "" }, "--time/--image"},
		{func(s *Slurm, k *Kubernetes) { s.Partition, k.Claim = "a b", "a: b" }, "--partition/--claim"},
		{func(s *Slurm, k *Kubernetes) { s.Account, k.Namespace = "a\n", "A" }, "--account/--namespace"},
		{func(s *Slurm, k *Kubernetes) { s.Program, k.Mount = "", "campaign" }, "--psafe/--mount"},
		{func(s *Slurm, k *Kubernetes) { s.Program, k.GPUResource = "a\nb", "gpu" }, "--psafe/--gpu-resource"},
		{func(s *Slurm, k *Kubernetes) { s.Program, k.Base = "", "../.." }, "--psafe/not in the volume"},
		{func(s *Slurm, k *Kubernetes) { s.Program, k.Out = "", "/elsewhere/r.csv" }, "--psafe/not in the volume"},
		{func(s *Slurm, k *Kubernetes) { s.Program, k.Deadline = "", time.Millisecond }, "--psafe/--deadline"},
		{func(s *Slurm, k *Kubernetes) { s.Program, k.Deadline = "", 1<<63-1 }, "--psafe/--deadline"},
		{func(s *Slurm, k *Kubernetes) { s.Manifest, k.Manifest = &Manifest{Tasks: 20}, &Manifest{Tasks: 20} }, "plan it again"},
	} {
		s, k := Slurm{Submission: submission("/data/run"), Program: "psafe"}, onKubernetes("run")
		c.change(&s, &k)
		_, slurm := s.Script()
		_, kubernetes := k.YAML()
		first, second, two := strings.Cut(c.want, "/")
		if !two {
			second = first
		}
		for want, err := range map[string]error{first: slurm, second: kubernetes} {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}

// stand puts programs of sh into a folder, which goes in front of PATH.
func stand(t *testing.T, programs map[string]string) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	dir = t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir
}

// sh runs a script of sh and returns what it printed.
func sh(t *testing.T, script string, env ...string) string {
	t.Helper()
	cmd := exec.Command("sh")
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out)
}

// A stand-in for sbatch, which keeps the script, and for psafe, which says what it got.
const (
	sbatchStandIn = `n=$(ls "${0%/*}" | grep -c '^job'); cat > "${0%/*}/job$n"; echo "$@" >> "${0%/*}/sbatch.log"; pwd >> "${0%/*}/sbatch.log"; echo "$((n + 41));cluster"`
	psafeStandIn  = `for a; do printf '<%s>\n' "$a"; done; exit ${STATUS:-0}`
)

// TestSlurmScript runs the printed script, and the scripts that it submits, in sh: every word
// comes to psafe as it was.
func TestSlurmScript(t *testing.T) {
	for _, name := range strange {
		bin := stand(t, map[string]string{"sbatch": sbatchStandIn, "psafe": psafeStandIn})
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		s := Slurm{Submission: submission(dir), Program: filepath.Join(bin, "psafe")}
		s.Run, s.Parallel, s.Time, s.Partition = []string{"--profile=" + name, name}, 4, "1-00:00:00", "gpu,big"
		script, err := s.Script()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := sh(t, script), "job 41: 16 shards; job 42: merges them\n"; got != want {
			t.Fatalf("%q: said %q, want %q", name, got, want)
		}
		log, err := os.ReadFile(filepath.Join(bin, "sbatch.log"))
		if want := "--parsable\n" + dir + "\n--parsable --dependency=afterany:41\n" + dir + "\n"; err != nil || string(log) != want {
			t.Errorf("%q: %v, sbatch got %q, want %q", name, err, log, want)
		}
		if info, err := os.Stat(filepath.Join(dir, "logs")); err != nil || !info.IsDir() {
			t.Errorf("%q: %v", name, err)
		}
		for i, want := range []string{
			"<run>\n<" + dir + ">\n<--device>\n<gpu>\n<--profile=" + name + ">\n<" + name + ">\n",
			"<merge>\n<" + dir + ">\n<--out>\n<" + dir + "/results.jsonl>\n<--resume>\n",
		} {
			job, err := os.ReadFile(filepath.Join(bin, "job"+string(rune('0'+i))))
			if err != nil || !strings.HasPrefix(string(job), "#!/bin/sh\n#SBATCH ") {
				t.Fatalf("%q: %v, %s", name, err, job)
			}
			if got := sh(t, string(job)); got != want {
				t.Errorf("%q: psafe got %q, want %q", name, got, want)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
			t.Errorf("%q: the name of the folder ran", name)
		}
	}
}

// shard is the script of the array of a submission to Slurm.
func shard(t *testing.T, s Slurm) string {
	t.Helper()
	script, err := s.Script()
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ = strings.Cut(script, "END_OF_SHARDS'\n")
	script, _, found := strings.Cut(script, "END_OF_SHARDS\n")
	if !found {
		t.Fatal("no script of shards")
	}
	return script
}

// TestSlurmRequeue: a shard starts again after status 3 and 6, and after 4 if time was up, and not
// after an end of another kind, such as 7, and not for ever.
func TestSlurmRequeue(t *testing.T) {
	bin := stand(t, map[string]string{
		"scontrol": `echo "scontrol $*"`,
		// Slurm's signal of late: USR1 to the shell alone; psafe gets TERM from the shell, once.
		"late":  `trap 'echo TERM; exit 4' TERM; sleep 0.2; kill -USR1 $PPID; i=0; while [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done`,
		"ended": `trap 'echo TERM; sleep 0.3; exit 4' TERM; sleep 0.2; kill -TERM $PPID; kill -TERM $$; sleep 1; exit 9`,
		"done":  `trap : TERM; sleep 0.2; kill -USR1 $PPID; sleep 0.2; exit 0`,
		"psafe": psafeStandIn,
	})
	array := []string{"SLURM_ARRAY_JOB_ID=41", "SLURM_ARRAY_TASK_ID=7", "SLURM_JOB_ID=48"}
	for _, c := range []struct{ program, status, restarts, want string }{
		{"psafe", "0", "", "0"}, {"psafe", "1", "", "1"}, {"psafe", "2", "", "2"}, {"psafe", "4", "", "4"}, {"psafe", "137", "", "137"},
		{"psafe", "3", "", "scontrol requeue 41_7\n3"}, {"psafe", "3", "2", "scontrol requeue 41_7\n3"}, {"psafe", "3", "3", "3"},
		{"psafe", "6", "", "scontrol requeue 41_7\n6"}, {"psafe", "6", "3", "6"}, {"psafe", "7", "", "7"},
		{"late", "", "", "TERM\nscontrol requeue 41_7\n4"}, {"late", "", "3", "TERM\n4"}, {"ended", "", "", "TERM\n4"}, {"done", "", "", "0"},
	} {
		s := Slurm{Submission: submission(t.TempDir()), Program: filepath.Join(bin, c.program)}
		env := append(slices.Clone(array), "STATUS="+c.status)
		if c.restarts != "" {
			env = append(env, "SLURM_RESTART_COUNT="+c.restarts)
		}
		got := sh(t, "sh -s <<'JOB'\n"+shard(t, s)+"JOB\necho $?\n", env...)
		if i := strings.LastIndex(got, ">\n"); i >= 0 {
			got = got[i+2:]
		}
		if got != c.want+"\n" {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
