package record

import (
	"fmt"
	"strconv"
	"strings"

	"psafe/host/record/fields"
)

// flagList are the flags of a record with their values.
type flagList map[string]string

// Asked are the flags of a record; those of one that is not consistent may be others.
func (r *Record) Asked() flagList {
	f, _ := ReadFlags(r.Flags)
	return f
}

// ReadFlags reads the field flags.
func ReadFlags(text string) (flagList, error) {
	words, err := wordsOf(text)
	if err != nil {
		return nil, err
	}
	f, last := flagList{}, -1
	for len(words) > 0 {
		at := fields.FlagOf(words[0])
		switch {
		case at < 0:
			return nil, fmt.Errorf("%.40q is none that records list", words[0])
		case at <= last:
			return nil, fmt.Errorf("%s is there twice, or not in the order of records", words[0])
		case fields.Flags[at].Bare:
			f[words[0]], words = "", words[1:]
		case len(words) == 1:
			return nil, fmt.Errorf("%s has no value", words[0])
		default:
			f[words[0]], words = words[1], words[2:]
		}
		last = at
	}
	if !f.Has("--method") {
		return nil, fmt.Errorf("%.60q does not begin with a method", text)
	}
	return f, nil
}

func (f flagList) Has(flag string) bool { _, there := f[flag]; return there }

// or is the value of a flag, or what is taken in its place.
func (f flagList) or(flag, otherwise string) string {
	if value, there := f[flag]; there {
		return value
	}
	return otherwise
}

// Number is the value of a flag as a whole number above 0, else 0.
func (f flagList) Number(flag string) int {
	n, err := strconv.Atoi(f[flag])
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// confident reports whether that is the confidence that was asked for.
func (f flagList) confident(confidence *Decimal) bool {
	asked, err := strconv.ParseFloat(f.or("--confidence", confidenceUnasked), 64)
	is, err2 := strconv.ParseFloat(confidence.text, 64)
	return err == nil && err2 == nil && asked == is
}

// LabelColumn is the value of --label-column among the flags of a record, empty if it is not
// there.
func LabelColumn(flags string) (string, error) {
	words, err := wordsOf(flags)
	for i, w := range words {
		if w == "--label-column" && i+1 < len(words) {
			return words[i+1], err
		}
	}
	return "", err
}

// wordsOf are the words of flags. Those with spaces or quotes are quoted as Go does.
func wordsOf(flags string) (words []string, err error) {
	for rest := flags; rest != ""; {
		word, after, _ := strings.Cut(rest, " ")
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("%.40q has a quote that does not end", flags)
			}
			after = strings.TrimPrefix(rest[len(quoted):], " ")
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
		}
		words, rest = append(words, word), after
	}
	return words, nil
}

// What is drawn if the flags do not say.
const (
	drawnUnasked      = "1000"
	confidenceUnasked = "0.99"
)
