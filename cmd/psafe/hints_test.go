package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// flagNamed is a flag in a text, with the word behind it, which of --options is a key.
	flagNamed = regexp.MustCompile(`(^|[^-\w%])--([a-z][a-z-]*[a-z])(?: ([a-z][a-z-]*[a-z]))?`)
	// commandNamed is a command in a text.
	commandNamed = regexp.MustCompile(`psafe ([a-z]+)`)
)

// notOurs are flags of other programs, of psafe before it has a command, and those that it had.
var notOurs = []string{"array", "boxes", "name", "output", "saved-model", "splits", "uniform", "version", "wrap"}

// ofRecords says that flags in the file are words of records, or of a script.
func ofRecords(path string) bool {
	return strings.HasPrefix(path, "host/check/") || strings.HasPrefix(path, "host/record/") || path == "host/job/campaign/submit.go"
}

// TestHintsNameFlags: every flag that a hint, an error or a help text names exists, and so does the key of
// --options: in a command that the text names or whose file it is in, or in those that certify; where
// neither says a command, in any.
func TestHintsNameFlags(t *testing.T) {
	byName := map[string]*cobra.Command{}
	for _, c := range commands() {
		byName[c.Name()] = c
	}
	has := func(c *cobra.Command, flag, key string) bool {
		if c.Flags().Lookup(flag) == nil && flag != helpAll {
			return false
		}
		keys := optionsOf(c.Flags())
		return flag != "options" || key == "" || keys != nil && keys.Lookup(key) != nil
	}
	named := 0
	for _, root := range []string{"cmd/psafe", "host"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(path string, d fs.DirEntry, err error) error {
			rel := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || ofRecords(rel) {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range flagNamed.FindAllStringSubmatchIndex(text, -1) {
					flag, key := text[m[4]:m[5]], ""
					if m[6] >= 0 {
						key = text[m[6]:m[7]]
					}
					if named++; slices.Contains(notOurs, flag) {
						continue
					}
					of := []*cobra.Command{byName["certify"], byName["radius"], byName["run"]}
					words := commandNamed.FindAllStringSubmatch(text, -1)
					words = append(words, []string{"", strings.TrimSuffix(filepath.Base(path), ".go")})
					for _, w := range words {
						if c := byName[w[1]]; c != nil {
							of = append(of, c)
						}
					}
					if len(of) == 3 {
						of = commands()
					}
					if !slices.ContainsFunc(of, func(c *cobra.Command) bool { return has(c, flag, key) }) {
						t.Errorf("%s: %q names --%s %s, which no command has that it may be for", rel, text, flag, key)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if named < 200 {
		t.Errorf("%d flags are named: does this test still find them?", named)
	}
}
