package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// wheelTags are the words of pip for the systems that a program built for a platform runs on. The
// program that can open OpenCL asks for the C library, without a version of it, so glibc's wheels
// have it. The static one is for musl, which has no place for drivers built against glibc. Go 1.26
// asks for macOS 12.
var wheelTags = map[string]string{
	"linux-amd64":        "manylinux_2_17_x86_64.manylinux2014_x86_64",
	"linux-arm64":        "manylinux_2_17_aarch64.manylinux2014_aarch64",
	"linux-amd64-static": "musllinux_1_1_x86_64",
	"linux-arm64-static": "musllinux_1_1_aarch64",
	"windows-amd64":      "win_amd64",
	"darwin-arm64":       "macosx_12_0_arm64",
}

// pythonVersion returns a version as Python writes it (PEP 440): 0.2.0.dev0 for 0.2.0-dev.
func pythonVersion(version string) (string, error) {
	m := regexp.MustCompile(`^([0-9]+\.[0-9]+\.[0-9]+)(-dev)?$`).FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("cmd/psafe/VERSION: %q is neither X.Y.Z nor X.Y.Z-dev: say in internal/release/wheel.go how Python writes it", version)
	}
	if m[2] != "" {
		return m[1] + ".dev0", nil
	}
	return m[1], nil
}

var metadata = template.Must(template.New("METADATA").Parse(`Metadata-Version: 2.1
Name: psafe
Version: {{.Version}}
Summary: Certified bounds on the probability that a Bayesian neural network is safe on a region of inputs
License: Apache-2.0
License-File: LICENSE
License-File: THIRD_PARTY_LICENSES
Requires-Python: >=3.8
Requires-Dist: numpy>=1.17
Description-Content-Type: text/markdown

{{.Page}}`))

// wheel returns the file that pip installs for p, in the binary distribution format 1.0 of PyPA:
// the program among the scripts, which pip lays where the PATH has them, and the module psafe with
// psafe_export.py inside. The bytes depend on the source and the program alone.
func (src source) wheel(p platform, program, licences []byte) (string, []byte, error) {
	tag := wheelTags[p.String()]
	if tag == "" {
		return "", nil, fmt.Errorf("no tag of wheels for it: add one in internal/release/wheel.go")
	}
	version, err := pythonVersion(src.version)
	if err != nil {
		return "", nil, err
	}
	name := "psafe-" + version
	files := []file{
		{name + ".data/scripts/" + p.exe(), 0o755, program},
		{name + ".dist-info/THIRD_PARTY_LICENSES", 0o644, licences},
		{name + ".dist-info/WHEEL", 0o644, []byte(wheelWords(tag))},
	}
	for in, from := range map[string]string{
		"psafe/__init__.py":              "python/psafe/__init__.py",
		"psafe/py.typed":                 "python/psafe/py.typed",
		"psafe/psafe_export.py":          "python/psafe_export.py",
		name + ".dist-info/LICENSE":      "LICENSE",
		name + ".dist-info/METADATA":     "README.md",
		name + ".dist-info/CHANGELOG.md": "CHANGELOG.md",
	} {
		text, err := os.ReadFile(filepath.FromSlash(from))
		if err != nil {
			return "", nil, err
		}
		if from == "README.md" {
			var b bytes.Buffer
			if err := metadata.Execute(&b, map[string]string{"Version": version, "Page": string(text)}); err != nil {
				return "", nil, err
			}
			text = b.Bytes()
		}
		files = append(files, file{in, 0o644, text})
	}
	files = append(files, file{name + ".dist-info/RECORD", 0o644, []byte(recordOf(files, name+".dist-info/RECORD"))})
	content, err := zipped("", files, src.date)
	return name + "-py3-none-" + tag + ".whl", content, err
}

// wheelWords is the file WHEEL: a line for each of the tags that dots join in the name. The module
// lies where those for one kind of machine do, as the program is.
func wheelWords(tags string) string {
	words := "Wheel-Version: 1.0\nGenerator: psafe internal/release\nRoot-Is-Purelib: false\n"
	for _, tag := range strings.Split(tags, ".") {
		words += "Tag: py3-none-" + tag + "\n"
	}
	return words
}

// recordOf is the file RECORD, which lists all files, itself without a digest.
func recordOf(files []file, itself string) string {
	lines := []string{itself + ",,\n"}
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		lines = append(lines, fmt.Sprintf("%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
