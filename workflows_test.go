package psafe_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is what matters here of a workflow of the forge.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []struct{ Uses, Run string }
	}
}

// TestWorkflows: every action is pinned by the digest of a commit, with its tag beside it, and no
// job that may write runs what the tree or a module has: it checks nothing out and makes nothing.
func TestWorkflows(t *testing.T) {
	paths, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d workflows, %v", len(paths), err)
	}
	uses := regexp.MustCompile(`(?m)^ *(?:- )?uses:(.*)$`)
	pinned := regexp.MustCompile(`^ [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	writers := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s uses%s: name a commit, and its tag behind #", path, m[1])
			}
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if w.Permissions == nil {
			t.Errorf("%s leaves permissions to the forge", path)
		}
		for name, job := range w.Jobs {
			permissions := job.Permissions
			if permissions == nil {
				permissions = w.Permissions
			}
			may := false
			for _, p := range permissions {
				may = may || p != "read" && p != "none"
			}
			if !may {
				continue
			}
			writers++
			for _, step := range job.Steps {
				if strings.Contains(step.Uses, "/checkout@") || step.Run != "" && !strings.HasPrefix(step.Run, "gh release create ") {
					t.Errorf("%s: job %s may write, and does more than upload: %s%s", path, name, step.Uses, step.Run)
				}
			}
		}
	}
	if writers != 1 {
		t.Errorf("%d jobs may write", writers)
	}
}
