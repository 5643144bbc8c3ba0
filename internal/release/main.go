// Release builds the files of a release: for each platform an archive with the program, the
// licences, README.md, CHANGELOG.md, docs, manual pages, completions, psafe_export.py and what
// README's first run takes, a wheel with the program and the module psafe, and SHA256SUMS for all
// of them.
//
//	go run ./internal/release [-out FOLDER] [-wheels] [-licences FILE] [platform ...]
//
// A platform is OS/ARCH, or OS/ARCH/static for a program without OpenCL that needs no
// shared library at all (on Linux, opening OpenCL takes the C library). With -wheels, no
// archives are built. With -licences, only that file is written: the licences of what the
// first platform's program links.
//
// The same commit, or the same source archive, gives the same bytes with the same version
// of Go, in whatever folder, on whatever system: times are the commit's, owners and modes
// are fixed, paths are trimmed, and settings of the environment that change the code are
// overruled.
package main

import (
	"crypto/sha256"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	out := flag.String("out", "dist", "folder for archives and wheels")
	wheels := flag.Bool("wheels", false, "no archives")
	licences := flag.String("licences", "", "write only this file, with the licences of the modules in the program")
	flag.Parse()
	if err := run(*out, *wheels, *licences, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(out string, wheels bool, licences string, words []string) error {
	if len(words) == 0 {
		words = []string{runtime.GOOS + "/" + runtime.GOARCH}
	}
	var platforms []platform
	for _, w := range words {
		p, err := parsePlatform(w)
		if err != nil {
			return err
		}
		platforms = append(platforms, p)
	}
	if licences != "" {
		text, err := thirdParty(platforms[0])
		if err != nil {
			return err
		}
		return os.WriteFile(licences, text, 0o666)
	}
	src, err := describe()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	if !wheels {
		pages, err := src.generated()
		if err == nil {
			src.beside, err = documents()
		}
		if err != nil {
			return err
		}
		src.beside = append(src.beside, pages...)
	}
	var sums []string
	for _, p := range platforms {
		lines, err := src.release(out, wheels, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		fmt.Print(strings.Join(lines, ""))
		sums = append(sums, lines...)
	}
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(strings.Join(sums, "")), 0o666)
}

// platform describes what a program is built for.
type platform struct {
	os, arch string
	static   bool // without OpenCL, and so without the C library
}

func parsePlatform(s string) (platform, error) {
	f := strings.Split(s, "/")
	if len(f) < 2 || len(f) > 3 || len(f) == 3 && f[2] != "static" {
		return platform{}, fmt.Errorf("platform %q: write OS/ARCH or OS/ARCH/static", s)
	}
	return platform{f[0], f[1], len(f) == 3}, nil
}

func (p platform) String() string {
	if p.static {
		return p.os + "-" + p.arch + "-static"
	}
	return p.os + "-" + p.arch
}

// goTool is a command of the go tool for p, free of what the environment may say about code.
func (p platform) goTool(args ...string) *exec.Cmd {
	flags := "GOFLAGS=-mod=readonly"
	if p.static {
		flags += " -tags=noopencl"
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT="+p.experiment(), "GOWORK=off", flags)
	return cmd
}

// experiment is what has the vector loops of package fallback.
func (p platform) experiment() string {
	if p.arch == "amd64" {
		return "simd"
	}
	return ""
}

// source is the tree that is released.
type source struct {
	version      string
	commit, when string // empty outside of a repository
	date         time.Time
	beside       []file // what archives have beside the program
}

// describe reads the tree in the current folder. In a repository it must be as
// committed, since the program will say that it is; a source archive has no commit, and
// its program goes by its digest. The date of all files in the archives is
// SOURCE_DATE_EPOCH, else the commit's, else that of go.mod, which an archive made by
// git has from its commit.
func describe() (source, error) {
	version, err := os.ReadFile(filepath.Join("cmd", "psafe", "VERSION"))
	if err != nil {
		return source{}, fmt.Errorf("run this in the root of the source tree: %w", err)
	}
	info, err := os.Stat("go.mod")
	if err != nil {
		return source{}, err
	}
	src := source{version: strings.TrimSpace(string(version)), date: info.ModTime()}
	if _, err := os.Stat(".git"); err == nil {
		changes, err := git("status", "--porcelain")
		if err != nil {
			return source{}, err
		}
		if changes != "" {
			return source{}, errors.New("the tree has changes that are in no commit (git status lists them): commit or remove them")
		}
		if src.commit, err = git("rev-parse", "HEAD"); err != nil {
			return source{}, err
		}
		seconds, err := git("log", "-1", "--format=%ct")
		if err != nil {
			return source{}, err
		}
		if src.date, err = unix(seconds); err != nil {
			return source{}, err
		}
		src.when = src.date.Format(time.RFC3339)
	}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		if src.date, err = unix(epoch); err != nil {
			return source{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
	}
	src.date = src.date.UTC().Truncate(2 * time.Second) // the grain of zip
	return src, nil
}

func git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

func unix(seconds string) (time.Time, error) {
	n, err := strconv.ParseInt(seconds, 10, 64)
	return time.Unix(n, 0).UTC(), err
}

// release writes the wheel of one platform and, unless only wheels are asked for, its archive. It
// returns a line of SHA256SUMS for each.
func (src source) release(out string, wheels bool, p platform) (lines []string, err error) {
	program, err := src.build(p)
	if err != nil {
		return nil, err
	}
	licences, err := thirdParty(p)
	if err != nil {
		return nil, err
	}
	packs := []func(p platform, program, licences []byte) (string, []byte, error){src.wheel}
	if !wheels {
		packs = append(packs, src.archive)
	}
	for _, pack := range packs {
		name, content, err := pack(p, program, licences)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(out, name), content, 0o666); err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name))
	}
	return lines, nil
}

// exe is the name of the program on p.
func (p platform) exe() string {
	if p.os == "windows" {
		return "psafe.exe"
	}
	return "psafe"
}

// archive returns the archive for p and its name.
func (src source) archive(p platform, program, licences []byte) (string, []byte, error) {
	ending, pack := ".tar.gz", tarGz
	if p.os == "windows" {
		ending, pack = ".zip", zipped
	}
	files := append([]file{{p.exe(), 0o755, program}, {"THIRD_PARTY_LICENSES", 0o644, licences}}, src.beside...)
	folder := "psafe-" + src.version + "-" + p.String()
	content, err := pack(folder, files, src.date)
	return folder + ending, content, err
}

// build returns the program for p.
func (src source) build(p platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "psafe-release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "psafe")
	stamp := fmt.Sprintf("-s -w -X main.stampedCommit=%s -X main.stampedDate=%s", src.commit, src.when)
	if p.experiment() != "" {
		stamp += " -X runtime.godebugDefault=asyncpreemptoff=1" // Makefile says why
	}
	if err := p.goTool("build", "-trimpath", "-buildvcs=false", "-ldflags="+stamp, "-o", path, "./cmd/psafe").Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	if p.static && p.os == "linux" {
		if err := needsNothing(path); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(path)
}

// needsNothing refuses a program that asks for a loader or a shared library.
func needsNothing(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC }) {
		libraries, _ := f.ImportedLibraries()
		return fmt.Errorf("is not static: it asks for a loader and for %v", libraries)
	}
	return nil
}
