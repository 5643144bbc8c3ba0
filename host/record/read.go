package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"psafe/internal/infile"
)

// Placed is a record and the place it was read from, for messages.
type Placed struct {
	*Record
	File string
	Line int
	// Raw is the line without its end, where Each hands the record over and until that returns;
	// nil in lists.
	Raw []byte
}

// Place names file and line, the start of a message about the record.
func (p *Placed) Place() string { return fmt.Sprintf("%s: line %d", p.File, p.Line) }

// mostBytes bounds a result file that is read as a whole, in bytes, maxRecords its records.
const (
	mostBytes  = 1 << 30
	maxRecords = 1 << 20
)

// MostLine is the longest line a record may have: hostile files end here.
const MostLine = 16 << 20

// ReadFile reads the result file at path; its errors are one line, as those of ReadRecords.
func ReadFile(path string) (records []Placed, err error) {
	err = withFile(path, mostBytes, func(r io.Reader) error {
		records, err = ReadRecords(path, r)
		return err
	})
	return records, err
}

// Each calls f for the records of the result file at path, one after the other, in memory that
// does not grow with their number: there is no limit of it, nor of the file's size. Errors are
// those of ReadFile, or what f returns, which ends the reading.
func Each(path string, f func(Placed) error) error {
	return withFile(path, math.MaxInt64, func(r io.Reader) error { return eachRecord(path, r, f) })
}

// withFile opens a result file of at most limit bytes.
func withFile(path string, limit int64, read func(io.Reader) error) error {
	if err := NoTable(path); err != nil {
		return err
	}
	file, err := infile.Open(path)
	if err == nil {
		defer file.Close()
		err = infile.Fits(file.Size(), limit)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be read: %w: name a result file", path, err)
	}
	return read(file)
}

// NoTable is an error if a file is a table, by its name and by what it begins with, since
// that is no file of records.
func NoTable(path string) error {
	if !IsTable(path) {
		return nil
	}
	file, err := infile.Open(path)
	if err != nil {
		return nil // which its reader will say
	}
	defer file.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(file, head)
	name, _, cut := bytes.Cut(bytes.ReplaceAll(head[:n], []byte("\r"), []byte(",")), []byte(","))
	if !(cut && slices.Contains(Columns(), string(name))) && !bytes.HasPrefix(head, []byte(parquetMagic)) {
		return nil
	}
	return fmt.Errorf("%s: is a table, without what proves its bounds: give its records, which psafe certify wrote to %s", path, RecordsFile(path))
}

// ReadRecords reads the lines of a result file, which messages call file. Whatever is no
// result record of psafe certify is an error of one line that names the file and the line.
func ReadRecords(file string, r io.Reader) ([]Placed, error) {
	var records []Placed
	err := eachRecord(file, r, func(p Placed) error {
		if len(records) == maxRecords {
			return fmt.Errorf("%s: more than %d records: split the file", p.Place(), maxRecords)
		}
		p.Raw = nil
		records = append(records, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// eachRecord does what ReadRecords and Each do.
func eachRecord(file string, r io.Reader, f func(Placed) error) error {
	lines := infile.NewLines(r, MostLine)
	records := 0
	var last *Record
	for n := 1; ; n++ {
		line, _, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: cannot be read: %w: give a file that psafe certify --out wrote", file, n, err)
		}
		if line = bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		rec, err := parseAfter(line, last)
		if err != nil {
			return fmt.Errorf("%s: line %d: no result record: %.300v: give a file that psafe certify --out wrote", file, n, err)
		}
		records++
		last = rec
		if err := f(Placed{Record: rec, File: file, Line: n, Raw: line}); err != nil {
			return err
		}
	}
	if records == 0 {
		return fmt.Errorf("%s: line 1: no record in the file: give a file that psafe certify --out wrote", file)
	}
	return nil
}

// ParseRecord reads one line, whose checksum must match, and checks what figures and tables
// rely on. Written again, the record is the same line.
func ParseRecord(line []byte) (*Record, error) { return parseAfter(line, nil) }

// parseAfter is ParseRecord with a record read before, nil for none, whose texts are taken
// where they are the same.
func parseAfter(line []byte, last *Record) (*Record, error) {
	if err := checkLine(line); err != nil {
		return nil, err
	}
	rec := new(Record)
	f := fast{line: bytes.TrimSuffix(line, []byte("\n")), last: last}
	if !f.record(rec) {
		var err error
		if rec, err = unmarshal(line); err != nil {
			return nil, err
		}
	}
	if err := rec.check(); err != nil {
		return nil, err
	}
	return rec, nil
}

// unmarshal reads a record as encoding/json does.
func unmarshal(line []byte) (*Record, error) {
	var rec struct {
		Record
		// A number that is absent must not be read as 0.
		PLower *Down `json:"p_lower"`
		PUpper *Up   `json:"p_upper"`
	}
	if err := json.Unmarshal(line, &rec); err != nil {
		return nil, err
	}
	if rec.PLower == nil || rec.PUpper == nil {
		return nil, errors.New("p_lower or p_upper is missing")
	}
	rec.Record.PLower, rec.Record.PUpper = *rec.PLower, *rec.PUpper
	return &rec.Record, nil
}

// check returns what is wrong with a record that was read.
func (rec *Record) check() error {
	s := rec.Statistical
	switch {
	case !(0 <= rec.PLower && float64(rec.PLower) <= float64(rec.PUpper) && rec.PUpper <= 1):
		return fmt.Errorf("p_lower %v and p_upper %v are no bounds of a probability", rec.PLower, rec.PUpper)
	case s != nil && !(0 <= s.Lower && float64(s.Lower) <= float64(s.Upper) && s.Upper <= 1):
		return fmt.Errorf("the statistical interval from %v to %v is none of a probability", s.Lower, s.Upper)
	case rec.Guarantee != Guarantee:
		// Numbers that promise something else must not lie beside these.
		return fmt.Errorf("the guarantee is %.60q, not %q", rec.Guarantee, Guarantee)
	case rec.Method == "" || rec.PosteriorSHA256 == "":
		return errors.New("method or posterior_sha256 is missing")
	case !(0 <= rec.Task && rec.Task < rec.Tasks) || rec.Run == "":
		return fmt.Errorf("it is task %d of the %d of run %.40q", rec.Task, rec.Tasks, rec.Run)
	case len(rec.ID) != idDigits || rec.Numerics < 1:
		return errors.New("it has no id or no numerics: an older psafe wrote it")
	}
	return nil
}
