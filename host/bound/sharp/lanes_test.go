package sharp

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write lanes_f64x4.go")

// TestLanesGenerated: the loops of AVX2 are those of AVX-512 with half as many lanes. To make them
// again after a change:
//
//	go test ./host/bound/sharp -run LanesGenerated -update
func TestLanesGenerated(t *testing.T) {
	const source, made = "lanes_f64x8.go", "lanes_f64x4.go"
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	want := "// Code generated from " + source + " by TestLanesGenerated -update. DO NOT EDIT.\n\n" +
		strings.NewReplacer("64x8", "64x4", "width = 8", "width = 4").Replace(string(text))
	if *update {
		if err := os.WriteFile(made, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(made); string(got) != want {
		t.Errorf("%s is not what %s makes: go test ./host/bound/sharp -run LanesGenerated -update", made, source)
	}
}
