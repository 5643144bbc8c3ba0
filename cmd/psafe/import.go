package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"psafe/host/job/certify"
	"psafe/host/read/format"
)

const importAbout = `psafe import reads a safetensors file or a .npz whose arrays have names of their
own, such as a torch state_dict, and writes it in psafe's own format. A map in
JSON says which array is what (docs/formats.md); --suggest prints one to begin
with.

  psafe import weights.safetensors --suggest > map.json
  psafe import weights.safetensors --map map.json --out net.npz`

// suggestion is a note about a suggested map.
type suggestion string

func (s suggestion) String() string { return string(s) }

func importCommand() *cobra.Command {
	var to posteriorFile
	cmd, f := newCommand("import", "arrays of any names (safetensors, .npz), and a map of them", importAbout, 1)
	mapPath := f.String("map", "", "JSON file that says which array is what")
	guess := f.Bool("suggest", false, "print a map that names and shapes suggest, to be looked through and mended")
	to.add(f)
	return does(cmd, func(_ context.Context, stdout, stderr io.Writer) error {
		switch {
		case *guess && (*mapPath != "" || to.path != ""):
			return fmt.Errorf("--suggest prints a map and writes no posterior: drop --map and --out")
		case *guess:
			text, notes, err := format.Suggest(f.Arg(0))
			if err != nil {
				return err
			}
			for _, n := range notes {
				note(stderr, suggestion(n))
			}
			_, err = stdout.Write(text)
			return err
		case *mapPath == "":
			return fmt.Errorf("--map is missing: name the map; psafe import %s --suggest prints one to begin with", plain(f.Arg(0)))
		}
		if err := to.check(f.Arg(0), *mapPath); err != nil {
			return err
		}
		p, err := format.Import(f.Arg(0), *mapPath)
		if err != nil {
			return err
		}
		if err := to.write(p, f.Arg(0), *mapPath); err != nil {
			return err
		}
		for _, n := range certify.Doubts(p) {
			note(stderr, n)
		}
		to.uncompared(p, stderr)
		return nil
	})
}
