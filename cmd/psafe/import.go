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
JSON says which array is what (docs/files.md); --suggest prints one to begin
with. --reference names inputs and the logits that your framework gives for them
with the mean weights: a map that gives others is refused.

  psafe import weights.safetensors --suggest > map.json
  psafe import weights.safetensors --map map.json --reference points.npz \
    --out net.npz`

// suggestion is a note about a suggested map.
type suggestion string

func (s suggestion) String() string { return string(s) }

func importCommand() *cobra.Command {
	var to posteriorFile
	cmd, f := newCommand("import", "arrays of any names (safetensors, .npz), and a map of them", importAbout, 1)
	mapPath := f.String("map", "", "JSON file that says which array is what")
	references := f.String("reference", "", "`.npz` file of inputs and logits of the framework (and mean, std) to compare with")
	guess := f.Bool("suggest", false, "print a map that names and shapes suggest, to be looked through and mended")
	to.add(f)
	return does(cmd, func(_ context.Context, stdout, stderr io.Writer) error {
		switch {
		case *guess && (*mapPath != "" || to.path != ""):
			return fmt.Errorf("--suggest prints a map and writes no posterior: drop --map and --out")
		case *guess:
			text, notes, err := format.Suggest(f.Arg(0), *references)
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
		sources := []string{f.Arg(0), *mapPath}
		if *references != "" {
			sources = append(sources, *references)
		}
		if err := to.check(sources...); err != nil {
			return err
		}
		p, err := format.Import(f.Arg(0), *mapPath, *references)
		if err != nil {
			return err
		}
		if err := to.write(p, sources...); err != nil {
			return err
		}
		for _, n := range certify.Doubts(p) {
			note(stderr, n)
		}
		to.uncompared(p, stderr)
		if p.References() == 0 {
			return nil
		}
		c, err := comparedWith(p)
		if err == nil {
			note(stderr, agreement{to.path, *references, c})
		}
		return err
	})
}

// agreement says that a posterior gives the logits of a file.
type agreement struct {
	path, references string
	compared         *inspectedCheck
}

func (a agreement) String() string {
	return fmt.Sprintf("%s: gives the logits of %s: %s", a.path, a.references, a.compared.logits())
}
