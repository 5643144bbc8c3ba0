package summary

import (
	"path"
	"strings"

	"psafe/host/record"
)

// Base is the last element of a path of any system.
func Base(name string) string {
	if name == "" {
		return ""
	}
	return path.Base(strings.ReplaceAll(name, `\`, "/"))
}

// PosteriorNames are the names of the posteriors' files, with as much more as tells different ones apart:
// factor of the spread, digest, and what the flags said. Fit makes texts fit to be shown, of at most so
// many characters if it shortens.
func PosteriorNames(records []record.Placed, fit func(text string, most int) string) []string {
	levels := []func(r *record.Record) string{
		func(r *record.Record) string {
			name := fit(Base(r.Posterior), 40)
			if _, factor, ok := strings.Cut(r.PosteriorScale, " x "); ok {
				name += " x " + fit(factor, 12)
			}
			if of := r.Functions(); of != "" {
				name += " " + fit(of, 12)
			}
			return name
		},
		func(r *record.Record) string { return " " + fit(r.PosteriorSHA256[:min(8, len(r.PosteriorSHA256))], 8) },
		func(r *record.Record) string {
			sd := fit(r.PosteriorSD, 40) + " " + fit(r.PosteriorSDSHA[:min(8, len(r.PosteriorSDSHA))], 8)
			return " " + fit(r.PosteriorScale, 20) + strings.TrimRight(" "+sd, " ") + " " + fit(strings.Join(r.Activations, ","), 40)
		},
	}
	names := make([]string, len(records))
	clash := map[string]bool{"": true}
	for _, more := range levels {
		owner := map[string]string{}
		for i := range records {
			r := records[i].Record
			if clash[names[i]] {
				names[i] += more(r)
			}
			identity := strings.Join([]string{r.PosteriorSHA256, r.PosteriorScale, r.PosteriorSD, r.PosteriorSDSHA, r.Functions(), strings.Join(r.Activations, ",")}, " ")
			if of, known := owner[names[i]]; known && of != identity {
				clash[names[i]] = true
			}
			owner[names[i]] = identity
		}
	}
	return names
}
