package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/model/posterior"
	"psafe/host/read/format"
)

const convertAbout = `psafe convert reads a posterior in any format of docs/files.md and writes it
in psafe's own .npz (or as safetensors), losslessly.

  psafe convert --scale sd --activation relu VIMODEL.net.npz --out net.npz`

func convertCommand() *cobra.Command {
	var post posteriorFlags
	var to posteriorFile
	cmd, f := newCommand("convert", "any readable posterior to psafe's own .npz or to safetensors", convertAbout, 1)
	post.add(f)
	to.add(f)
	return does(cmd, func(_ context.Context, stdout, stderr io.Writer) error {
		if err := to.check(f.Arg(0)); err != nil {
			return err
		}
		p, err := post.read(f.Arg(0))
		if err != nil {
			return err
		}
		if err := to.write(p, f.Arg(0)); err != nil {
			return err
		}
		if p.Source.Format == "onnx" {
			to.uncompared(p, stderr)
		}
		return nil
	})
}

// suggestion is a note about what to look at next.
type suggestion string

func (s suggestion) String() string { return string(s) }

// posteriorFile is a posterior to be written.
type posteriorFile struct {
	outFlags
	format, note string
}

func (o *posteriorFile) add(f *pflag.FlagSet) {
	o.outFlags.add(f, "file to write; required")
	f.StringVar(&o.format, "format", "npz", "npz or safetensors")
	f.StringVar(&o.note, "note", "", "free text to keep with the posterior")
}

// writers are the words of --format.
var writers = map[string]func(io.Writer, *posterior.Posterior) error{"npz": format.WriteNPZ, "safetensors": format.WriteSafetensors}

// check refuses flags that name no file that may be written, before anything is read.
func (o *posteriorFile) check(sources ...string) error {
	if o.path == "" {
		return errors.New("--out is missing: name the file to write, as in --out net.npz")
	}
	if writers[o.format] == nil {
		return fmt.Errorf("--format %.40q is neither npz nor safetensors: give one of them", o.format)
	}
	return o.refuse(sources...)
}

// uncompared notes, of a file that was written without reference logits, that nothing has shown
// whether it computes what its framework did: a normalisation that is no part of it, for example,
// is in no array.
func (o *posteriorFile) uncompared(p *posterior.Posterior, stderr io.Writer) {
	if p.References() == 0 {
		note(stderr, suggestion(o.path+": nothing was compared with what your framework computes: see by psafe predict --posterior "+
			o.path+" --inputs DATA --label LABELS whether the accuracy is the one you know (a normalisation of the inputs is --mean and --std)"))
	}
}

// write writes p, which was read from the sources.
func (o *posteriorFile) write(p *posterior.Posterior, sources ...string) error {
	if o.note != "" {
		p.Source.Note = o.note
	}
	file, err := o.create(sources...)
	if err != nil {
		return err
	}
	defer file.Discard()
	if err := writers[o.format](file, p); err != nil {
		return o.unwritten(err)
	}
	return o.commit(file)
}
