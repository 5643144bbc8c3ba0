package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"psafe/host/posterior/format"
	"psafe/internal/outfile"
)

const convertAbout = `psafe convert reads a posterior in any format of docs/formats.md and writes it in
psafe's own .npz (or as safetensors), losslessly.

  psafe convert --scale sd --activation relu VIMODEL.net.npz --out net.npz`

func runConvert(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var post posteriorFlags
	f := newFlags("convert", convertAbout, stdout)
	post.add(f)
	out := f.String("out", "", "file to write; required")
	kind := f.String("format", "npz", "npz or safetensors")
	note := f.String("note", "", "free text to keep with the posterior")
	if err := parse(f, args, 1); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("--out is missing: name the file to write, as in --out net.npz")
	}
	write := format.WriteNPZ
	switch *kind {
	case "npz":
	case "safetensors":
		write = format.WriteSafetensors
	default:
		return fmt.Errorf("--format %.40q is neither npz nor safetensors: give one of them", *kind)
	}
	p, err := post.read(f.Arg(0))
	if err != nil {
		return err
	}
	if *note != "" {
		p.Source.Note = *note
	}
	file, err := outfile.Create(*out, f.Arg(0))
	if err != nil {
		return fmt.Errorf("--out %w", err)
	}
	defer file.Discard()
	if err := write(file, p); err != nil {
		return fmt.Errorf("--out %s: cannot be written: %w", *out, outfile.Reason(err))
	}
	if err := file.Commit(); err != nil {
		return fmt.Errorf("--out %w", err)
	}
	return nil
}
