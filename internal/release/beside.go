package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// besides are patterns of the files that an archive has as they are in the tree.
var besides = []string{"CHANGELOG.md", "LICENSE", "README.md", "docs/*.md", "docs/figures/*.svg", "python/psafe_export.py",
	"testdata/README.md", "testdata/glyphs-64-24-24-10.npz", "testdata/glyphs-conv-8-10.npz", "testdata/glyphs-test-*.gz"}

// documents returns the files of besides, of the tree in the current folder. A pattern that no file has
// is an error.
func documents() ([]file, error) {
	var files []file
	for _, pattern := range besides {
		names, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("no file is %s: mend the list besides", pattern)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			files = append(files, file{filepath.ToSlash(name), 0o644, content})
		}
	}
	return files, nil
}

// generated returns the manual pages and the completions, which the program writes for this machine and
// which are the same for all.
func (src source) generated() ([]file, error) {
	dir, err := os.MkdirTemp("", "psafe-pages")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program, err := src.build(platform{runtime.GOOS, runtime.GOARCH, true})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "psafe.exe")
	if err := os.WriteFile(path, program, 0o777); err != nil {
		return nil, err
	}
	man := filepath.Join(dir, "man1")
	if err := os.Mkdir(man, 0o777); err != nil {
		return nil, err
	}
	if out, err := exec.Command(path, "man", man).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("psafe man: %w: %s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1"))
	if err != nil {
		return nil, err
	}
	var files []file
	for _, name := range pages {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"man/man1/" + filepath.Base(name), 0o644, content})
	}
	for shell, name := range map[string]string{"bash": "psafe.bash", "zsh": "_psafe", "fish": "psafe.fish"} {
		content, err := exec.Command(path, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("psafe completion %s: %w", shell, err)
		}
		files = append(files, file{"completions/" + name, 0o644, content})
	}
	return files, nil
}
