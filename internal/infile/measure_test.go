package infile

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
)

// measure returns how deep a JSON text nests and how many values and keys it has, as package json
// sees it; not ok if it is none.
func measure(text string) (deepest, count int, ok bool) {
	if !json.Valid([]byte(text)) {
		return 0, 0, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			return deepest, count, true
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
			deepest = max(deepest, depth)
			count++
		case json.Delim(']'), json.Delim('}'):
			depth--
		default:
			count++
		}
	}
}

// fd is the number of an open file.
func fd(f *os.File) string {
	raw, err := f.SyscallConn()
	if err != nil {
		panic(err)
	}
	var n uintptr
	_ = raw.Control(func(fd uintptr) { n = fd })
	return strconv.Itoa(int(n))
}
