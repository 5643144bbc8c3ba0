package record

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"psafe/internal/testscale"
)

// parseTwice is ParseRecord as it was before fast: by encoding/json alone.
func parseTwice(line []byte) (*Record, error) {
	if err := checkLine(line); err != nil {
		return nil, err
	}
	var there struct {
		PLower *float64 `json:"p_lower"`
		PUpper *float64 `json:"p_upper"`
	}
	var rec Record
	if err := json.Unmarshal(line, &there); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(line, &rec); err != nil {
		return nil, err
	}
	if there.PLower == nil || there.PUpper == nil {
		return nil, errors.New("p_lower or p_upper is missing")
	}
	if err := rec.check(); err != nil {
		return nil, err
	}
	return &rec, nil
}

// compareParsers has both read a line whose checksum is right.
func compareParsers(t *testing.T, object string, last *Record) (fast bool) {
	t.Helper()
	line := Seal([]byte(object))
	want, wantErr := parseTwice(line)
	got, err := parseAfter(line, last)
	if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\nis read as %+v, %v\nand before as %+v, %v", line, got, err, want, wantErr)
	}
	return err == nil
}

// bodies are lines without their checksum, every kind of value among them.
func bodies(t testing.TB) (list []string) {
	for _, r := range append(tableRecords(), manyRecords(3)...) {
		if r.Method == "" {
			r.Method = "lbp"
		}
		r.PosteriorSHA256, r.Run, r.Guarantee, r.Posterior = "ab", "cd", Guarantee, "é\\\"\u2028"
		r.ID, r.Numerics = strings.Repeat("0a", idDigits/2), 1
		line, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		text := string(line)
		list = append(list, text[:strings.LastIndex(text, checksumField)]+"}")
	}
	proof := `"proof":{"cells":[-1],"tau":[0.5],"boxes":[1,2],"upper":{"method":"clbp","tau":1e-9,"witness":{"box":0,"at":"AAA="}}}}`
	return append(list, list[0][:len(list[0])-1]+","+proof, list[1][:len(list[1])-1]+","+proof)
}

// TestParseRecordAsBefore: lines that were changed in many ways are read, or not, as
// encoding/json alone read them.
func TestParseRecordAsBefore(t *testing.T) {
	list := bodies(t)
	var last *Record
	for _, body := range list {
		if !compareParsers(t, body, last) {
			t.Errorf("%s is refused", body)
		}
		last, _ = ParseRecord(Seal([]byte(body)))
		if f := (fast{line: Seal([]byte(body))}); !f.record(new(Record)) {
			t.Errorf("not read fast: %s", body)
		}
	}
	for _, body := range list { // without one field, with one twice
		fields := strings.Split(strings.TrimSuffix(body, "}"), `,"`)
		for i := 1; i < len(fields); i++ {
			for _, pieces := range [][]string{slices.Concat(fields[:i], fields[i+1:]), slices.Concat(fields[:i+1], fields[i:])} {
				compareParsers(t, strings.Join(pieces, `,"`)+"}", last)
			}
		}
	}
	rng := rand.New(rand.NewPCG(13, 3))
	pieces := []string{"null", `""`, "0", "-0", "1e400", "1e", "1.", "01", "[", "]", "{", "}", `"`, `\`, `\u0041`, "\x00", "\xff", ",", ":", " ", "\t", "true", "é", "[]", "[1]", `["a"]`, "{}", "-", "1e-999", "9223372036854775808", "18446744073709551615",
		`"p_lower":0.5,`, `"P_LOWER":0.5,`, `"p_lower":null,`, `"checksum":"0123456789abcdef",`, `"unknown":[{"a":[1,"]"]}],`, `"gamma":[1,"x"],`, `"gamma":true,`, `"require":"2/3",`, `"require":null,`, `"label":null,`, `"clip":null,`, `"statistical":null,`, "K", "\u212a"}
	read := 0
	for range testscale.Cases(t, 200_000) {
		text := list[rng.IntN(len(list))]
		for range 1 + rng.IntN(3) {
			i, n := rng.IntN(len(text)), 0
			if rng.IntN(2) == 0 { // at the beginning of a field or value
				if k := strings.IndexAny(text[i:], `,:{`); k >= 0 {
					i += k + 1
				}
			}
			switch rng.IntN(3) {
			case 0:
				n = rng.IntN(3)
			case 1: // a whole value or field
				n = max(0, strings.IndexAny(text[i:], ",}"))
			}
			piece := pieces[rng.IntN(len(pieces))]
			if rng.IntN(4) == 0 {
				piece = string(rune(rng.IntN(128)))
			}
			text = text[:i] + piece + text[min(len(text), i+n):]
		}
		if strings.HasSuffix(text, "}") && compareParsers(t, text, last) {
			read++
		}
	}
	if read == 0 {
		t.Error("nothing was read")
	}
}

// FuzzParseRecord: the same for what a fuzzer finds.
func FuzzParseRecord(f *testing.F) {
	for _, body := range bodies(f) {
		f.Add(body)
	}
	f.Add(`{"p_lower":0.5,"p_upper":1,"p_lower":null}`)
	last := manyRecords(1)[0]
	f.Fuzz(func(t *testing.T, object string) {
		if strings.HasSuffix(object, "}") {
			compareParsers(t, object, last)
		}
	})
}
