package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"psafe/host/check/sums"
	"psafe/host/read/property"
)

// guarantee is what every record says of its bounds.
const guarantee = "certified bounds, real arithmetic, rounding included"

// record is a line of a result file, as docs/reference.md describes it. Numbers that are bounds
// are kept as they are written: what is checked is the decimal. Fields with omitempty are left out
// where they say nothing, all others are always there (formed).
type record struct {
	Index      int      `json:"index"`
	Name       string   `json:"name,omitempty"`
	Label      *int     `json:"label"`
	Property   string   `json:"property"`
	Eps        string   `json:"eps,omitempty"`
	Clip       []string `json:"clip,omitempty"`
	Norm       string   `json:"norm,omitempty"`
	InputScale string   `json:"input_scale,omitempty"`

	EpsSHA256      string `json:"eps_sha256,omitempty"`
	ClipSHA256     string `json:"clip_sha256,omitempty"`
	Fix            string `json:"fix,omitempty"`
	Free           string `json:"free,omitempty"`
	Mean           string `json:"mean,omitempty"`
	MeanSHA256     string `json:"mean_sha256,omitempty"`
	Std            string `json:"std,omitempty"`
	StdSHA256      string `json:"std_sha256,omitempty"`
	Channels       string `json:"channels,omitempty"`
	Template       string `json:"template,omitempty"`
	TemplateSHA256 string `json:"template_sha256,omitempty"`
	TemplateEntry  *int   `json:"template_entry,omitempty"`

	Flags     string `json:"flags"`
	RadiusEnd string `json:"radius_end,omitempty"`

	Method        string    `json:"method"`
	Boxes         string    `json:"boxes,omitempty"`
	Gamma         perLayer  `json:"gamma,omitempty"`
	Samples       int       `json:"samples,omitempty"`
	Tried         int       `json:"boxes_tried,omitempty"`
	SafeBoxes     *int      `json:"safe_boxes,omitempty"`
	Cells         int       `json:"cells,omitempty"`
	Tau           float64   `json:"tau,omitempty"`
	Networks      int       `json:"networks,omitempty"`
	SafeSamples   *int      `json:"safe_samples,omitempty"`
	UnsafeSamples *int      `json:"unsafe_samples,omitempty"`
	Parent        *parent   `json:"parent,omitempty"`
	PLower        *decimal  `json:"p_lower"`
	Log10PLower   *decimal  `json:"log10_p_lower"`
	PUpper        *decimal  `json:"p_upper"`
	Derived       *derived  `json:"derived,omitempty"`
	Decision      *decision `json:"decision,omitempty"`
	OutputMean    *mean     `json:"output_mean,omitempty"`
	Statistical   *interval `json:"statistical,omitempty"`
	Log10Ceiling  *decimal  `json:"log10_ceiling,omitempty"`
	Rule          string    `json:"rule,omitempty"`
	Margin        *decimal  `json:"margin"`
	Require       *decimal  `json:"require"`
	Verdict       string    `json:"verdict"`
	Guarantee     string    `json:"guarantee"`
	Stopped       string    `json:"stopped,omitempty"`

	Precision       string   `json:"precision"`
	Device          string   `json:"device"`
	Seed            uint64   `json:"seed"`
	Seconds         *float64 `json:"seconds,omitempty"`
	PeakBytes       *int64   `json:"peak_bytes,omitempty"`
	Posterior       string   `json:"posterior"`
	PosteriorSHA256 string   `json:"posterior_sha256"`
	PosteriorScale  string   `json:"posterior_scale"`
	Predictive      string   `json:"predictive,omitempty"`
	PosteriorSD     string   `json:"posterior_sd,omitempty"`
	PosteriorSDFile string   `json:"posterior_sd_file,omitempty"`
	PosteriorSDSHA  string   `json:"posterior_sd_sha256,omitempty"`
	Activations     []string `json:"activations"`
	Inputs          string   `json:"inputs,omitempty"`
	InputsSHA256    string   `json:"inputs_sha256,omitempty"`
	Version         string   `json:"version"`
	Numerics        int      `json:"numerics"`

	ID       string `json:"id"`
	Task     int    `json:"task"`
	Tasks    int    `json:"tasks"`
	Run      string `json:"run"`
	Proof    proof  `json:"proof,omitempty"`
	Checksum string `json:"checksum"`
}

// proof is what identifies the certificate, beside the other fields. Phases, Leaves, Chernoff, Networks and
// Upper are read where they are needed (strictly).
type proof struct {
	Cells    []int           `json:"cells,omitempty"`
	Grids    [][][]float64   `json:"grids,omitempty"`
	Centres  [][][]float64   `json:"centres,omitempty"`
	Large    [][]*sums.Large `json:"large,omitempty"`
	Rows     []int           `json:"rows,omitempty"`
	Chains   []int           `json:"chains,omitempty"`
	Tau      []float64       `json:"tau,omitempty"`
	Lines    [][]int         `json:"lines,omitempty"`
	Phases   json.RawMessage `json:"phases,omitempty"`
	Leaves   json.RawMessage `json:"leaves,omitempty"`
	Chernoff json.RawMessage `json:"chernoff,omitempty"`
	Mixtures [][]float64     `json:"mixtures,omitempty"`
	Boxes    []int           `json:"boxes,omitempty"`
	Cuts     [][]float64     `json:"cuts,omitempty"`
	Networks json.RawMessage `json:"networks,omitempty"`
	Upper    json.RawMessage `json:"upper,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	Mean     json.RawMessage `json:"mean,omitempty"`
}

// derived are bounds about single points.
type derived struct {
	InfProbLower *decimal `json:"inf_prob_lower"`
	InfProbUpper *decimal `json:"inf_prob_upper"`
	InfMeanLower *decimal `json:"inf_mean_lower"`
}

// interval is a statistical statement.
type interval struct {
	Samples    int      `json:"samples"`
	Safe       int      `json:"safe"`
	Unsafe     int      `json:"unsafe"`
	Confidence *decimal `json:"confidence"`
	Lower      *decimal `json:"lower"`
	Upper      *decimal `json:"upper"`
	Statement  string   `json:"statement"`
}

// decimal is a real number as a record writes it, and the float64 around it.
type decimal struct {
	property.Exact
	property.Decimal
	text string
}

// UnmarshalJSON reads a JSON number, or a fraction as property.Exact writes one.
func (d *decimal) UnmarshalJSON(text []byte) (err error) {
	d.text = property.FractionOfJSON(string(text))
	if d.Exact, err = property.NewExact(d.text); err == nil {
		d.Decimal, err = property.NewDecimal(d.text)
	}
	return err
}

func (d *decimal) String() string { return d.text }

// is says whether the number is that whole number.
func (d *decimal) is(n float64) bool { return d.Lo == n && d.Hi == n }

// perLayer is a number for each layer, or one for all.
type perLayer []float64

// UnmarshalJSON reads a number or a list of numbers.
func (p *perLayer) UnmarshalJSON(text []byte) error {
	var list []float64
	if len(text) > 0 && text[0] != '[' {
		list = make([]float64, 1)
		*p = list
		return json.Unmarshal(text, &list[0])
	}
	err := json.Unmarshal(text, &list)
	*p = list
	return err
}

// of is the number of each layer.
func (p perLayer) of(layers int) ([]float64, error) {
	switch {
	case len(p) == layers:
		return p, nil
	case len(p) == 1:
		return slices.Repeat(p, layers), nil
	}
	return nil, fmt.Errorf("gamma: %d numbers for %d layers", len(p), layers)
}

// parseRecord reads a line, without its end.
func parseRecord(line []byte) (*record, error) {
	const digits = 16
	field := []byte(`,"checksum":"`)
	at := bytes.LastIndex(line, field)
	if at < 0 {
		return nil, fmt.Errorf("checksum: there is none")
	}
	sum := sha256.Sum256(line[:at])
	if want := hex.EncodeToString(sum[:])[:digits]; string(line[at+len(field):]) != want+`"}` {
		return nil, fmt.Errorf("checksum: it is not that of the line: the line was changed")
	}
	var r record
	if err := strictly(line, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// strictly decodes JSON text into v, a pointer to a struct: a field that v does not have, by
// its exact name, or that is there twice, at any depth, is an error, and so is anything
// behind the text.
func strictly(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := onceEach(dec, fieldNames(reflect.TypeOf(v).Elem()), 0); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("there is something behind the JSON object")
	}
	dec = json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return formed(reflect.ValueOf(v).Elem(), text)
}

// fieldNames are the JSON names of a struct, nil if t is none.
func fieldNames(t reflect.Type) []string {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for f := range t.NumField() {
		name, _ := fieldTag(t.Field(f))
		names = append(names, name)
	}
	return names
}

// onceEach reads one value and refuses objects with a key twice; known, if not nil, are the
// keys that there may be. All keys are words of lower case, since encoding/json would take
// others for the same.
func onceEach(dec *json.Decoder, known []string, depth int) error {
	token, err := dec.Token()
	if err != nil {
		return fmt.Errorf("no JSON object: %w", err)
	}
	if depth > 100 {
		return fmt.Errorf("lists within lists, 100 deep")
	}
	open, isOpen := token.(json.Delim)
	if !isOpen {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			name := key.(string)
			switch {
			case seen[name]:
				return fmt.Errorf("%.40q: it is there twice", name)
			case known != nil && !slices.Contains(known, name), strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
				return fmt.Errorf("%.40q: a field that this program does not know", name)
			}
			seen[name] = true
		}
		if err := onceEach(dec, nil, depth+1); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}
