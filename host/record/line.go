package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"psafe/host/read/property"
)

// Down is a number that bounds something from below. In records it is the shortest decimal
// that is not above it and reads back as it: the text is a lower bound too.
type Down float64

// Up is a number that bounds something from above; its text is not below it.
type Up float64

// MarshalJSON writes a decimal that is not above the number; infinities and NaN are errors.
func (d Down) MarshalJSON() ([]byte, error) { return bound(float64(d), property.DecimalDown) }

// MarshalJSON writes a decimal that is not below the number; infinities and NaN are errors.
func (u Up) MarshalJSON() ([]byte, error) { return bound(float64(u), property.DecimalUp) }

func bound(x float64, text func(float64) string) ([]byte, error) {
	if x-x != 0 {
		return nil, errors.New("a bound that is not finite")
	}
	return []byte(text(x)), nil
}

// Exact is the number as records write it.
func (d Down) Exact() property.Exact { return property.MustExact(property.DecimalDown(float64(d))) }

// Exact is the number as records write it.
func (u Up) Exact() property.Exact { return property.MustExact(property.DecimalUp(float64(u))) }

// checksumField and checksumEnd are what is around the checksum, the last field of a
// line: the first 16 hexadecimal digits of the SHA-256 of the line before the field.
const (
	checksumField  = `,"checksum":"`
	checksumEnd    = `"}`
	checksumDigits = 16
)

func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:checksumDigits/2])
}

// Line is the record as one line of JSON, with its end.
func (r *Record) Line() ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(Seal(visible(body)), '\n'), nil
}

// visible escapes, in JSON, what encoding/json leaves as it is and a terminal obeys or does
// not show: control characters from DEL on and marks of the direction of writing.
func visible(object []byte) []byte {
	if !bytes.ContainsFunc(object, hidden) {
		return object
	}
	var out []byte
	for _, c := range string(object) {
		if hidden(c) {
			out = fmt.Appendf(out, "\\u%04x", c)
		} else {
			out = utf8.AppendRune(out, c)
		}
	}
	return out
}

// hidden does not ask what shown does: identities of tasks rest on these bytes.
func hidden(c rune) bool {
	if ' ' <= c && c <= '~' {
		return false
	}
	return unicode.Is(unicode.Cc, c) || c < 0x10000 && unicode.Is(unicode.Cf, c)
}

// Seal adds the checksum to a JSON object on one line, which must have a field (it panics
// if it does not end as one).
func Seal(object []byte) []byte {
	body, ended := bytes.CutSuffix(object, []byte("}"))
	if !ended {
		panic("record: Seal: no JSON object")
	}
	return append(bytes.Clone(body), checksumField+checksum(body)+checksumEnd...)
}

// Write appends r as one line of JSON.
func (r *Record) Write(w io.Writer) error {
	line, err := r.Line()
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

// Lines that are not as psafe wrote them.
var (
	errNoChecksum = errors.New("it has no checksum: an older psafe wrote it, or something cut it")
	errSeveral    = errors.New("it begins JSON of several lines, such as results of psafe loop and psafe map --input-law, which psafe check reads")
	errChecksum   = errors.New("its checksum does not match: the line was changed after psafe wrote it")
)

// Intact returns an error unless a line, with or without its end, is as psafe wrote it: it ends
// with the checksum of what is before it. It does not take the line apart.
func Intact(line []byte) error { return checkLine(line) }

// checkLine returns an error unless a line ends with the checksum of what is before it.
func checkLine(line []byte) error {
	line = bytes.TrimSuffix(line, []byte("\n"))
	at := len(line) - len(checksumField) - checksumDigits - len(checksumEnd)
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(checksumField)) || !bytes.HasSuffix(line, []byte(checksumEnd)) {
		if bytes.Contains(line, []byte(checksumField)) {
			return errChecksum
		}
		if string(line) == "{" {
			return errSeveral
		}
		return errNoChecksum
	}
	if string(line[at+len(checksumField):][:checksumDigits]) != checksum(line[:at]) {
		return errChecksum
	}
	return nil
}
