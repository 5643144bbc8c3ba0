package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var date = time.Date(2026, 11, 21, 18, 51, 6, 0, time.UTC)

// TestArchives: the same files give the same bytes, in whatever order and time zone, and
// what is in the archive is what went in, with fixed owners, modes and dates.
func TestArchives(t *testing.T) {
	files := []file{{"psafe", 0o755, bytes.Repeat([]byte("program "), 9999)}, {"LICENSE", 0o644, []byte("terms\n")}, {"README.md", 0o644, nil}}
	for name, pack := range map[string]func(string, []file, time.Time) ([]byte, error){"tar.gz": tarGz, "zip": zipped} {
		once, err := pack("psafe-1", files, date)
		if err != nil {
			t.Fatal(err)
		}
		turned := slices.Clone(files)
		slices.Reverse(turned)
		again, err := pack("psafe-1", turned, date.In(time.FixedZone("east", 5*3600)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once, again) {
			t.Errorf("%s: other bytes the second time", name)
		}
		if later, _ := pack("psafe-1", files, date.Add(time.Minute)); bytes.Equal(once, later) {
			t.Errorf("%s: the date is not in it", name)
		}
		got := readTarGz
		if name == "zip" {
			got = readZip
		}
		want := []string{
			"psafe-1/LICENSE -rw-r--r-- 2026-11-21T18:51:06Z 6",
			"psafe-1/README.md -rw-r--r-- 2026-11-21T18:51:06Z 0",
			"psafe-1/psafe -rwxr-xr-x 2026-11-21T18:51:06Z 79992"}
		if list, err := got(once); err != nil || !slices.Equal(list, want) {
			t.Errorf("%s holds %q (%v), want %q", name, list, err, want)
		}
	}
}

func readTarGz(b []byte) (list []string, err error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		return nil, fmt.Errorf("gzip's header has %v %q", z.ModTime, z.Name)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			return nil, fmt.Errorf("%s belongs to %d:%d %s:%s", h.Name, h.Uid, h.Gid, h.Uname, h.Gname)
		}
		n, err := io.Copy(io.Discard, r)
		if err != nil {
			return nil, err
		}
		list = append(list, fmt.Sprintf("%s %v %s %d", h.Name, h.FileInfo().Mode(), h.ModTime.UTC().Format(time.RFC3339), n))
	}
}

func readZip(b []byte) (list []string, err error) {
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	for _, f := range r.File {
		list = append(list, fmt.Sprintf("%s %v %s %d", f.Name, f.Mode(), f.Modified.UTC().Format(time.RFC3339), f.UncompressedSize64))
	}
	return list, nil
}

// TestWheels: each platform of the Makefile has a wheel of the same bytes every time, its RECORD has
// the digest and the size of every file, and its names are those of the binary distribution format.
func TestWheels(t *testing.T) {
	t.Chdir("../..")
	src := source{version: "1.2.3-dev", date: date}
	for _, word := range makefilePlatforms(t) {
		p, err := parsePlatform(word)
		if err != nil {
			t.Fatal(err)
		}
		name, content, err := src.wheel(p, []byte("program"), []byte("terms"))
		if err != nil {
			t.Errorf("%s: %v", word, err)
			continue
		}
		if _, again, _ := src.wheel(p, []byte("program"), []byte("terms")); !bytes.Equal(content, again) {
			t.Errorf("%s: other bytes the second time", word)
		}
		files, modes := wheelFiles(t, content)
		tag, ok := strings.CutPrefix(strings.TrimSuffix(name, ".whl"), "psafe-1.2.3.dev0-py3-none-")
		first, _, _ := strings.Cut(tag, ".")
		const info = "psafe-1.2.3.dev0.dist-info/"
		if !ok || !strings.Contains(files[info+"WHEEL"], "Tag: py3-none-"+first+"\n") || !strings.Contains(files[info+"METADATA"], "\nVersion: 1.2.3.dev0\n") {
			t.Errorf("%s: %s says %q", word, name, files[info+"WHEEL"])
		}
		if script := "psafe-1.2.3.dev0.data/scripts/" + p.exe(); files[script] != "program" || modes[script] != 0o755 {
			t.Errorf("%s: %s is %q, %v", word, script, files[script], modes[script])
		}
		for _, module := range []string{"psafe/__init__.py", "psafe/py.typed", "psafe/psafe_export.py"} {
			if _, ok := files[module]; !ok {
				t.Errorf("%s has no %s", name, module)
			}
		}
		for line := range strings.Lines(files[info+"RECORD"]) {
			f := strings.Split(strings.TrimSpace(line), ",")
			text, ok := files[f[0]]
			sum := sha256.Sum256([]byte(text))
			if want := "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]) + "," + strconv.Itoa(len(text)); !ok || f[0] != info+"RECORD" && strings.Join(f[1:], ",") != want {
				t.Errorf("%s: RECORD has %q, want %s", name, line, want)
			}
			delete(files, f[0])
		}
		if len(files) > 0 {
			t.Errorf("%s: RECORD is silent about %q", name, files)
		}
	}
	for _, version := range []string{"1.2", "1.2.3-rc1", "v1.2.3", ""} {
		if p, err := pythonVersion(version); err == nil {
			t.Errorf("version %q is %s for Python", version, p)
		}
	}
	if p, err := pythonVersion("1.20.3"); err != nil || p != "1.20.3" {
		t.Errorf("version 1.20.3 is %s for Python, %v", p, err)
	}
}

func wheelFiles(t *testing.T, content []byte) (map[string]string, map[string]fs.FileMode) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	files, modes := map[string]string{}, map[string]fs.FileMode{}
	for _, f := range r.File {
		text, err := fs.ReadFile(r, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name], modes[f.Name] = string(text), f.Mode()
	}
	return files, modes
}

// makefilePlatforms are the platforms that the Makefile releases.
func makefilePlatforms(t *testing.T) (words []string) {
	t.Helper()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(makefile)) {
		if name, value, ok := strings.Cut(line, "?="); ok && slices.Contains([]string{"PLATFORMS", "STATIC"}, strings.TrimSpace(name)) {
			words = append(words, strings.Fields(value)...)
		}
	}
	if len(words) < 5 {
		t.Fatalf("the Makefile releases %q", words)
	}
	return words
}

// TestLicences: every module in the program, on every platform of the Makefile, has
// terms that somebody has read and that allow it to be given away.
func TestLicences(t *testing.T) {
	t.Chdir("../..")
	for _, w := range makefilePlatforms(t) {
		p, err := parsePlatform(w)
		if err != nil {
			t.Fatal(err)
		}
		text, err := thirdParty(p)
		if err != nil {
			t.Errorf("%s: %v", w, err)
			continue
		}
		want := []string{"The Go Authors", "Bigelow & Holmes", "www.freetype.org", "SIL OPEN FONT LICENSE"}
		if !p.static {
			want = append(want, "github.com/ebitengine/purego v")
		}
		for _, words := range want {
			if !bytes.Contains(text, []byte(words)) {
				t.Errorf("%s: THIRD_PARTY_LICENSES has no %q", w, words)
			}
		}
		if bytes.Contains(text, []byte("GNU GENERAL PUBLIC LICENSE")) {
			t.Errorf("%s: THIRD_PARTY_LICENSES has terms that psafe does not take", w)
		}
	}
}

// TestLicenceRefused: a module whose text is not what its row says is refused.
func TestLicenceRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/LICENSE", []byte("All rights reserved.\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, m := range []module{{path: "m", licence: "MIT"}, {path: "m", licence: "of its own"}, {path: "m", licence: ""}, {path: "m", licence: "MIT", files: "no*"}} {
		if err := m.write(new(bytes.Buffer), " v1", dir); err == nil {
			t.Errorf("%+v passes with a LICENSE that permits nothing", m)
		}
	}
}

// TestDocuments: an archive has the docs, the exporter and the files of README's first run, by their names
// in the tree.
func TestDocuments(t *testing.T) {
	t.Chdir("../..")
	files, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"docs/theory.md", "python/psafe_export.py", "LICENSE"}
	wanted = append(wanted, regexp.MustCompile(`testdata/[-a-z0-9]+\.(npz|gz)`).FindAllString(string(readme), -1)...)
	for _, want := range append(wanted, regexp.MustCompile(`docs/[-a-z0-9/]+\.(md|svg)`).FindAllString(string(readme), -1)...) {
		if !slices.ContainsFunc(files, func(f file) bool { return f.name == want && len(f.content) > 0 }) {
			t.Errorf("no %s", want)
		}
	}
}

// TestPlatforms: words for platforms, good and bad.
func TestPlatforms(t *testing.T) {
	for word, want := range map[string]string{"linux/amd64": "linux-amd64", "linux/arm64/static": "linux-arm64-static"} {
		if p, err := parsePlatform(word); err != nil || p.String() != want {
			t.Errorf("%s is %s (%v), want %s", word, p, err, want)
		}
	}
	for _, word := range []string{"", "linux", "linux/amd64/dynamic", "linux/amd64/static/x"} {
		if p, err := parsePlatform(word); err == nil {
			t.Errorf("%q is taken for %s", word, p)
		}
	}
}

// TestDescribe: a repository is released as committed or not at all; a source archive
// has no commit, not even that of a repository around it.
func TestDescribe(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module psafe\n", "cmd/psafe/VERSION": "1.2.3\n"} {
		path := filepath.Join(root, "inner", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=1700000001 +0500", "GIT_AUTHOR_DATE=1600000000 +0000")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	t.Chdir(root)
	run("init", "-q")
	t.Chdir(filepath.Join(root, "inner"))
	if src, err := describe(); err != nil || src.version != "1.2.3" || src.commit != "" || src.when != "" {
		t.Errorf("an archive inside of a repository is %+v, %v", src, err)
	}
	run("init", "-q")
	if src, err := describe(); err == nil {
		t.Errorf("a tree that is not committed is released: %+v", src)
	}
	run("add", ".")
	run("commit", "-q", "-m", "m")
	src, err := describe()
	if err != nil || len(src.commit) < 40 || src.when != "2023-11-14T22:13:21Z" || src.date.Unix() != 1700000000 {
		t.Errorf("a commit is %+v, %v", src, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1500000000")
	if src, err := describe(); err != nil || src.date.Unix() != 1500000000 || src.when != "2023-11-14T22:13:21Z" {
		t.Errorf("with SOURCE_DATE_EPOCH it is %+v, %v", src, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if src, err := describe(); err == nil {
		t.Errorf("SOURCE_DATE_EPOCH=yesterday is %+v", src)
	}
}
