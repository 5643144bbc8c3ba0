package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// What is drawn if the flags do not say.
const (
	drawnUnasked      = "1000"
	confidenceUnasked = "0.99"
)

// What the field stopped says.
const (
	timeLimit    = "time limit"
	verdictKnown = "require"
)

// flagWords are the flags that a record may list, in their order; of those in bareFlags no value
// follows.
var (
	flagWords = []string{"--method", "--boxes", "--samples", "--cells", "--depth", "--gamma", "--splits", "--uniform", "--confidence", "--no-upper", "--derived", "--target", "--link", "--costs", "--reject", "--action", "--noise",
		"--most", "--step", "--label-column", "--precision", "--time-limit", "--require"}
	bareFlags = []string{"--uniform", "--no-upper", "--derived"}
)

// flagList are the flags of a record with their values.
type flagList map[string]string

// asked are the flags of a record; those of one that is not consistent may be others.
func (r *record) asked() flagList {
	f, _ := readFlags(r.Flags)
	return f
}

// readFlags reads the field flags.
func readFlags(text string) (flagList, error) {
	words, err := wordsOf(text)
	if err != nil {
		return nil, err
	}
	f, last := flagList{}, -1
	for len(words) > 0 {
		at := slices.Index(flagWords, words[0])
		switch {
		case at < 0:
			return nil, fmt.Errorf("%.40q is none that records list", words[0])
		case at <= last:
			return nil, fmt.Errorf("%s is there twice, or not in the order of records", words[0])
		case slices.Contains(bareFlags, words[0]):
			f[words[0]], words = "", words[1:]
		case len(words) == 1:
			return nil, fmt.Errorf("%s has no value", words[0])
		default:
			f[words[0]], words = words[1], words[2:]
		}
		last = at
	}
	if !f.has("--method") {
		return nil, fmt.Errorf("%.60q does not begin with a method", text)
	}
	return f, nil
}

func (f flagList) has(flag string) bool { _, there := f[flag]; return there }

// or is the value of a flag, or what is taken in its place.
func (f flagList) or(flag, otherwise string) string {
	if value, there := f[flag]; there {
		return value
	}
	return otherwise
}

// number is the value of a flag as a whole number above 0, else 0.
func (f flagList) number(flag string) int {
	n, err := strconv.Atoi(f[flag])
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// consistentFlags checks the words of flags, each against the fields that follow from it.
func (r *record) consistentFlags() error {
	f, err := readFlags(r.Flags)
	if err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	boxes, sampled := f["--method"] == "ibp" || f["--method"] == "lbp", r.Boxes == "sampled"
	for _, of := range []struct {
		wrong bool
		words string
	}{
		{!r.byMethod(f["--method"]), "the method is another than that of the record, or auto would not have taken it"},
		{!boxes && (f.has("--boxes") || f.has("--gamma") || f.has("--splits") || f.has("--uniform")), "weight boxes are for ibp and lbp"},
		{sampled && (f.has("--splits") || f.has("--uniform") || f.has("--time-limit")), "splits, uniform and a time limit are not for drawn boxes"},
		{boxes && f.or("--boxes", "centred") != r.Boxes, "the boxes are others than those of the record"},
		{f.has("--cells") && (boxes || f.number("--cells") == 0), "the cells are none"},
		{f.has("--depth") && (f["--method"] != "lbp" && f["--method"] != "clbp" || f.number("--depth") == 0), "rows of no depth, or of a method without rows"},
		{f.has("--gamma") && !r.gammaIs(f["--gamma"]), "the gamma is another than that of the record"},
		{f.has("--uniform") && len(r.Gamma) > 1 && slices.Min(r.Gamma) != slices.Max(r.Gamma), "the gamma of the record is not uniform"},
		{f.has("--no-upper") && !r.PUpper.is(1), "there is no upper bound"},
		{f.has("--derived") != (r.Derived != nil), "they and the record do not agree on derived bounds"},
		{(f["--target"] == "decision") != (r.Decision != nil), "they and the record do not agree on a decision"},
		{f.has("--costs") && f.has("--reject") || f.has("--action") && f["--action"] != "taken" && f["--action"] != "label", "the costs are there twice, or the action is none"},
		{(f.has("--costs") || f.has("--reject")) != (r.Decision != nil && r.Decision.Action != nil), "they and the record do not agree on an action"},
		{f.has("--action") && !f.has("--costs") && !f.has("--reject"), "there is an action without costs"},
		{f.has("--link") && (f["--link"] != "probit" || f["--target"] != "decision" || f.has("--costs") || f.has("--reject")), "the link is none, or not for what was asked"},
		{f.has("--noise") && f["--target"] != "mean", "there is noise without means"},
		{r.OutputMean != nil && f.has("--noise") != (r.OutputMean.TotalSDLower != nil), "they and the record do not agree on noise"},
		{r.OutputMean != nil && f["--target"] != "mean", "they do not ask for means"},
		{f.has("--target") && f["--target"] != "decision" && f["--target"] != "mean", "the target is none"},
		{f.has("--precision") && (f["--method"] != "auto" && f["--method"] != "neuronsum" || formats[f["--precision"]].nearest == nil), "the precision is none"},
		{f.has("--precision") && r.Method != "neuronsum" && f["--precision"] != r.Precision, "the precision is another than that of the record"},
		{f.has("--require") && (f["--method"] != "auto" || f["--require"] != r.Require.String()), "what is required is another than in the record, or of another method"},
		{f.has("--time-limit") && !isTime(f["--time-limit"]), "the time limit is none"},
	} {
		if of.wrong {
			return fmt.Errorf("flags: %s: %.99q", of.words, r.Flags)
		}
	}
	if err := cmp.Or(r.consistentDraws(f), r.consistentEnd(f)); err != nil {
		return err
	}
	return r.consistentStop(f)
}

// byMethod reports whether a record may have its method where that was asked for. Auto begins with
// concentration LBP and goes on to others for what they prove.
func (r *record) byMethod(asked string) bool {
	if asked != "auto" {
		return asked == r.Method
	}
	return r.Method == "clbp" || r.claims() && (r.Method == "neuronsum" || r.Method == "phases" || r.Method == "chernoff" || r.Method == "lbp")
}

// gammaIs reports whether the boxes of a record, if it has any, have a half-width that was given.
func (r *record) gammaIs(text string) bool {
	g, err := strconv.ParseFloat(text, 64)
	if err != nil || !(g > 0) {
		return false
	}
	g = formats[r.Precision].nearest(g)
	return !slices.ContainsFunc(r.Gamma, func(is float64) bool { return is != g })
}

// isTime reports whether the text of a flag is a time.
func isTime(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d > 0
}

// consistentDraws compares what was drawn with what the flags say: boxes, or the networks of an
// interval.
func (r *record) consistentDraws(f flagList) error {
	s, n := r.Statistical, f.number("--samples")
	switch {
	case f.has("--samples") && n == 0:
		return fmt.Errorf("flags: the samples are none: %.99q", r.Flags)
	case r.Boxes == "sampled" && (s != nil || n > 0 && n != r.Samples || f.has("--confidence")):
		return fmt.Errorf("samples: %d, or an interval, and the flags are %.99q", r.Samples, r.Flags)
	case r.Boxes == "sampled":
		return nil
	case (s != nil) != (n > 0 || r.Method == "statistical"):
		return fmt.Errorf("statistical: it is there without --samples, or is not there with them: %.99q", r.Flags)
	case s == nil && r.Parent == nil && f.has("--confidence"):
		return fmt.Errorf("flags: nothing has a confidence: %.99q", r.Flags)
	case r.Parent != nil && !f.confident(r.Parent.Confidence):
		return fmt.Errorf("parent: the confidence is %v, and the flags are %.99q", r.Parent.Confidence, r.Flags)
	case s == nil:
		return nil
	case strconv.Itoa(s.Samples) != f.or("--samples", drawnUnasked):
		return fmt.Errorf("statistical: %d samples, and the flags are %.99q", s.Samples, r.Flags)
	}
	if !f.confident(s.Confidence) {
		return fmt.Errorf("statistical: the confidence is %v, and the flags are %.99q", s.Confidence, r.Flags)
	}
	return nil
}

// confident reports whether that is the confidence that was asked for.
func (f flagList) confident(confidence *decimal) bool {
	asked, err := strconv.ParseFloat(f.or("--confidence", confidenceUnasked), 64)
	is, err2 := strconv.ParseFloat(confidence.text, 64)
	return err == nil && err2 == nil && asked == is
}

// consistentStop checks what is said to have ended the search.
func (r *record) consistentStop(f flagList) error {
	switch {
	case r.Stopped != "" && r.Stopped != timeLimit && r.Stopped != verdictKnown:
		return fmt.Errorf("stopped: %.40q is nothing that ends a search", r.Stopped)
	case r.Stopped == timeLimit && !f.has("--time-limit"):
		return errors.New("stopped: the flags have no time limit")
	case r.Stopped == verdictKnown && (!f.has("--require") || r.Verdict == "unknown"):
		return errors.New("stopped: the flags do not have what is required, or the verdict is not known")
	}
	return nil
}
