package main

import (
	"io"

	"github.com/spf13/pflag"

	"psafe/host/job/certify"
	"psafe/host/record"
)

// oldWords are flags and values that were given as they were called before (record.Today).
type oldWords struct{ certify.Renamed }

// accept has the flags, which are all there, take such names and values.
func (o *oldWords) accept(f *pflag.FlagSet) {
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		today, _ := record.Today(name, "")
		o.Add("--"+name, "--"+today)
		return pflag.NormalizedName(today)
	})
	f.VisitAll(func(flag *pflag.Flag) {
		if _, list := flag.Value.(pflag.SliceValue); !list {
			flag.Value = &renamed{flag.Value, flag.Name, o}
		}
	})
}

// tell notes what was given so, in the process that the user started.
func (o *oldWords) tell(stderr io.Writer) {
	if worker == nil && o.Words != nil {
		note(stderr, &o.Renamed)
	}
}

// renamed is the value of a flag that may be given as it was called before.
type renamed struct {
	pflag.Value
	flag string
	old  *oldWords
}

func (r *renamed) Set(text string) error {
	_, today := record.Today(r.flag, text)
	r.old.Add("--"+r.flag+" "+text, "--"+r.flag+" "+today)
	return r.Value.Set(today)
}
