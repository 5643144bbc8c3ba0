package record

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"psafe/host/read/property"
)

// What the field stopped says.
const (
	timeLimit    = "time limit"
	verdictKnown = "require"
)

// consistentFlags checks the words of flags, each against the fields that follow from it.
func (r *Record) consistentFlags() error {
	f, err := ReadFlags(r.Flags)
	if err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	boxes := f["--method"] == "ibp" || f["--method"] == "lbp"
	for _, of := range []struct {
		wrong bool
		words string
	}{
		{!r.byMethod(f["--method"]), "the method is another than that of the record, or auto would not have taken it"},
		{!boxes && f.Has("--gamma"), "weight boxes are for ibp and lbp"},
		{boxes && f.Has("--time-limit"), "a time limit is not for weight boxes"},
		{f.Has("--cells") && (boxes || f.Number("--cells") == 0), "the cells are none"},
		{f.Has("--depth") && (f["--method"] != "lbp" && f["--method"] != "clbp" || f.Number("--depth") == 0), "rows of no depth, or of a method without rows"},
		{f.Has("--gamma") && !r.gammaIs(f["--gamma"]), "the gamma is another than that of the record"},
		{f.Has("--no-upper") && !r.PUpper.Is(1), "there is no upper bound"},
		{f.Has("--derived") != (r.Derived != nil), "they and the record do not agree on derived bounds"},
		{f.Has("--quantile") != (r.Quantile != nil) || r.Quantile != nil && !isNumber(f["--quantile"], r.Quantile.Level), "they and the record do not agree on a quantile"},
		{(f["--target"] == "each") != (r.EachLower != nil), "they and the record do not agree on each_lower"},
		{(f["--target"] == "decision") != (r.Decision != nil), "they and the record do not agree on a decision"},
		{f.Has("--costs") && f.Has("--reject") || f.Has("--action") && f["--action"] != "taken" && f["--action"] != "label", "the costs are there twice, or the action is none"},
		{(f.Has("--costs") || f.Has("--reject")) != (r.Decision != nil && r.Decision.Action != nil), "they and the record do not agree on an action"},
		{f.Has("--action") && !f.Has("--costs") && !f.Has("--reject"), "there is an action without costs"},
		{f.Has("--link") && (f["--link"] != "probit" || f["--target"] != "decision" || f.Has("--costs") || f.Has("--reject")), "the link is none, or not for what was asked"},
		{f.Has("--noise") && f["--target"] != "mean", "there is noise without means"},
		{r.OutputMean != nil && f.Has("--noise") != (r.OutputMean.TotalSDLower != nil), "they and the record do not agree on noise"},
		{r.OutputMean != nil && f["--target"] != "mean", "they do not ask for means"},
		{f.Has("--target") && f["--target"] != "each" && f["--target"] != "decision" && f["--target"] != "mean", "the target is none"},
		{f.Has("--precision") && (f["--method"] != "auto" && f["--method"] != "neuronsum" || precisions[f["--precision"]] == nil), "the precision is none"},
		{f.Has("--precision") && r.Method != "neuronsum" && f["--precision"] != r.Precision, "the precision is another than that of the record"},
		{f.Has("--require") && (f["--method"] != "auto" || f["--require"] != r.Require.String()), "what is required is another than in the record, or of another method"},
		{f.Has("--time-limit") && !isTime(f["--time-limit"]), "the time limit is none"},
	} {
		if of.wrong {
			return fmt.Errorf("flags: %s: %.99q", of.words, r.Flags)
		}
	}
	if err := cmp.Or(r.consistentDraws(f), r.ConsistentEnd(f)); err != nil {
		return err
	}
	return r.consistentStop(f)
}

// byMethod reports whether a record may have its method where that was asked for. Auto begins with
// concentration LBP and goes on to others for what they prove.
func (r *Record) byMethod(asked string) bool {
	if asked != "auto" {
		return asked == r.Method
	}
	return r.Method == "clbp" || r.Claims() && (r.Method == "neuronsum" || r.Method == "phases" || r.Method == "chernoff")
}

// gammaIs reports whether the boxes of a record have a half-width that was given.
func (r *Record) gammaIs(text string) bool {
	g, err := strconv.ParseFloat(text, 64)
	return err == nil && g > 0 && r.Gamma == precisions[r.Precision](g)
}

// isNumber reports whether the text of a flag is this number.
func isNumber(text string, number *Decimal) bool {
	n, err := property.NewExact(text)
	return err == nil && n.Cmp(number.Exact) == 0
}

// isTime reports whether the text of a flag is a time.
func isTime(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d > 0
}

// consistentDraws compares what was drawn with what the flags say: boxes, or the networks of an
// interval.
func (r *Record) consistentDraws(f flagList) error {
	s, n := r.Statistical, f.Number("--samples")
	switch {
	case f.Has("--samples") && n == 0:
		return fmt.Errorf("flags: the samples are none: %.99q", r.Flags)
	case r.Boxed() && (s != nil || n > 0 && n != r.Samples || f.Has("--confidence")):
		return fmt.Errorf("samples: %d, or an interval, and the flags are %.99q", r.Samples, r.Flags)
	case r.Boxed():
		return nil
	case (s != nil) != (n > 0 || r.Method == "statistical"):
		return fmt.Errorf("statistical: it is there without --samples, or is not there with them: %.99q", r.Flags)
	case s == nil && r.Parent == nil && f.Has("--confidence"):
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

// consistentStop checks what is said to have ended the search.
func (r *Record) consistentStop(f flagList) error {
	switch {
	case r.Stopped != "" && r.Stopped != timeLimit && r.Stopped != verdictKnown:
		return fmt.Errorf("stopped: %.40q is nothing that ends a search", r.Stopped)
	case r.Stopped == timeLimit && !f.Has("--time-limit"):
		return errors.New("stopped: the flags have no time limit")
	case r.Stopped == verdictKnown && (!f.Has("--require") || r.Verdict == "unknown"):
		return errors.New("stopped: the flags do not have what is required, or the verdict is not known")
	}
	return nil
}
