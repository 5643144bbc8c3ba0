package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
)

// Placed is a record and the place it was read from, for messages.
type Placed struct {
	*Record
	File string
	Line int
}

// place starts a message about the record.
func (p *Placed) place() string { return fmt.Sprintf("%s: line %d", p.File, p.Line) }

// maxLine is the longest line a record may have: hostile files end here.
const maxLine = 16 << 20

// ReadRecords reads a result file. Whatever is no result record of psafe certify
// is an error of one line that names the file and the line.
func ReadRecords(file string, r io.Reader) ([]Placed, error) {
	var records []Placed
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		rec, err := ParseRecord(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: no result record: %w: give a file that psafe certify --out wrote", file, n, err)
		}
		records = append(records, Placed{rec, file, n})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: line %d: cannot be read: %w: give a file that psafe certify --out wrote", file, n+1, err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%s: line 1: no record in the file: give a file that psafe certify --out wrote", file)
	}
	return records, nil
}

// ParseRecord reads one line and checks what figures and tables rely on. Written
// again, the record is the same line.
func ParseRecord(line []byte) (*Record, error) {
	// A number that is absent must not be read as 0.
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
	s := rec.Statistical
	switch {
	case there.PLower == nil || there.PUpper == nil:
		return nil, errors.New("p_lower or p_upper is missing")
	case !(0 <= rec.PLower && rec.PLower <= rec.PUpper && rec.PUpper <= 1):
		return nil, fmt.Errorf("p_lower %v and p_upper %v are no bounds of a probability", rec.PLower, rec.PUpper)
	case s != nil && !(0 <= s.Lower && s.Lower <= s.Upper && s.Upper <= 1):
		return nil, fmt.Errorf("the statistical interval from %v to %v is none of a probability", s.Lower, s.Upper)
	case rec.Guarantee != Guarantee:
		// Numbers that promise something else must not lie beside these.
		return nil, fmt.Errorf("the guarantee is %.60q, not %q", rec.Guarantee, Guarantee)
	case rec.Method == "" || rec.PosteriorSHA256 == "":
		return nil, errors.New("method or posterior_sha256 is missing")
	}
	gamma, err := parseGamma(rec.Gamma)
	rec.Gamma = gamma
	return &rec, err
}

// parseGamma gives a half-width, or one for each layer, the type it was written from.
func parseGamma(read any) (any, error) {
	list, ok := read.([]any)
	if _, one := read.(float64); one || read == nil {
		return read, nil
	}
	var gamma []float64
	for _, g := range list {
		x, number := g.(float64)
		ok = ok && number
		gamma = append(gamma, x)
	}
	if !ok {
		return nil, errors.New("gamma is neither a number nor a list of numbers")
	}
	return gamma, nil
}

// radius is eps as a number, for the place on an axis.
func (p *Placed) radius() (float64, error) {
	if p.Eps == "" {
		return 0, fmt.Errorf("%s: the record has no eps, it is about a property file: draw such records with psafe plot bars", p.place())
	}
	x, err := strconv.ParseFloat(p.Eps, 64)
	if err != nil || !(x >= 0 && x <= math.MaxFloat64) {
		return 0, fmt.Errorf("%s: eps %.40q is no radius: give a file that psafe certify --out wrote", p.place(), p.Eps)
	}
	return x, nil
}

// Mean is what several records say on average. Lower is rounded down and Upper up,
// so that they bound the mean of P_safe as the records bound each P_safe.
type Mean struct {
	Inputs       int
	Lower, Upper float64
	// Statistical says whether all records have an interval; StatLower and
	// StatUpper are the means of the ends. Each interval holds with the confidence or more.
	Statistical          bool
	StatLower, StatUpper float64
	Confidence           float64
	// NoLower: the records are all of method statistical, which claims no p_lower.
	NoLower bool
}

// MeanOf averages records of different inputs.
func MeanOf(records []Placed) Mean {
	m := Mean{Inputs: len(records), Statistical: true, Confidence: 1, NoLower: true}
	var ends [4][]float64
	for _, r := range records {
		ends[0], ends[1] = append(ends[0], r.PLower), append(ends[1], r.PUpper)
		m.NoLower = m.NoLower && r.Method == "statistical"
		if r.Statistical == nil {
			m.Statistical = false
			continue
		}
		ends[2], ends[3] = append(ends[2], r.Statistical.Lower), append(ends[3], r.Statistical.Upper)
		m.Confidence = min(m.Confidence, r.Statistical.Confidence)
	}
	m.Lower, m.Upper = meanDown(ends[0]), meanUp(ends[1])
	if m.Statistical {
		m.StatLower, m.StatUpper = meanDown(ends[2]), meanUp(ends[3])
	}
	return m
}

// meanDown is the mean of probabilities, rounded down.
func meanDown(p []float64) float64 {
	exact := exactMean(p)
	mean, _ := exact.Float64()
	if new(big.Rat).SetFloat64(mean).Cmp(exact) > 0 {
		mean = math.Nextafter(mean, 0)
	}
	return mean
}

// meanUp is the mean of probabilities, rounded up.
func meanUp(p []float64) float64 {
	exact := exactMean(p)
	mean, _ := exact.Float64()
	if new(big.Rat).SetFloat64(mean).Cmp(exact) < 0 {
		mean = math.Nextafter(mean, 2)
	}
	return mean
}

func exactMean(p []float64) *big.Rat {
	sum := new(big.Rat)
	for _, x := range p {
		sum.Add(sum, new(big.Rat).SetFloat64(x))
	}
	return sum.Quo(sum, new(big.Rat).SetInt64(int64(len(p))))
}
