package fallback

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files lanes_*_*.go of the other shapes")

// TestLanesGenerated: the vector loops are written once, for F32x16, and the files of the other
// shapes are copies of them. To make them again after a change:
//
//	go test ./fallback -run LanesGenerated -update
func TestLanesGenerated(t *testing.T) {
	const source = "F32x16"
	files, err := filepath.Glob("lanes_*_f32x16.go")
	check(t, err)
	made := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		for _, shape := range []string{"F32x8", "F64x8", "F64x4"} {
			if file == "lanes_normal_f32x16.go" && shape != "F32x8" {
				continue // numbers are drawn as float32
			}
			name := strings.Replace(file, strings.ToLower(source), strings.ToLower(shape), 1)
			want := "// Code generated from " + file + " by TestLanesGenerated -update. DO NOT EDIT.\n\n" + strings.ReplaceAll(string(text), source, shape)
			if *update {
				check(t, os.WriteFile(name, []byte(want), 0o644))
			}
			if got, _ := os.ReadFile(name); string(got) != want {
				t.Errorf("%s is not what %s makes: go test ./fallback -run LanesGenerated -update", name, file)
			}
			made[name] = true
		}
	}
	all, err := filepath.Glob("lanes_*_f*x*.go")
	check(t, err)
	if len(files) == 0 || len(all) != len(files)+len(made) {
		t.Errorf("%d files of shapes, of which %d are sources and %d generated", len(all), len(files), len(made))
	}
}
