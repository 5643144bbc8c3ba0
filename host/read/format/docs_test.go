package format

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedGraphs: the headers of docs/files.md are read.
func TestDocumentedGraphs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "files.md"))
	if err != nil {
		t.Fatal(err)
	}
	headers := 0
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if code := block[1]; strings.Contains(code, `"psafe-posterior"`) {
			headers++
			if _, err := parseMeta([]byte(code)); err != nil {
				t.Errorf("%v in\n%s", err, code)
			}
		}
	}
	if headers < 3 {
		t.Errorf("%d headers in the docs", headers)
	}
}
