package format

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedGraphs: the headers and maps of docs/files.md are read.
func TestDocumentedGraphs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "files.md"))
	if err != nil {
		t.Fatal(err)
	}
	headers, maps := 0, 0
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		switch code := block[1]; {
		case strings.Contains(code, `"psafe-posterior"`):
			headers++
			if _, err := parseMeta([]byte(code)); err != nil {
				t.Errorf("%v in\n%s", err, code)
			}
		case strings.Contains(code, `"ignore"`):
			maps++
			if _, err := parseMap([]byte(code)); err != nil {
				t.Errorf("%v in\n%s", err, code)
			}
		}
	}
	if headers < 3 || maps < 2 {
		t.Errorf("%d headers and %d maps in the docs", headers, maps)
	}
}
