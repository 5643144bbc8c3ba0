package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"psafe/gpu"
	"psafe/gpu/cl"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/internal/outfile"
)

const devicesAbout = `psafe devices lists what psafe can compute on: the CPU (always) and every OpenCL
device, with the result of the self-test that each must pass.

  psafe devices`

// deviceRow is one device in the table and in --json.
type deviceRow struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Type         string `json:"type"`
	Platform     string `json:"platform,omitempty"`
	Driver       string `json:"driver,omitempty"`
	OpenCL       string `json:"opencl,omitempty"`
	Memory       int64  `json:"memory_bytes,omitempty"`
	MaxAlloc     int64  `json:"max_alloc_bytes,omitempty"`
	LocalMemory  int64  `json:"local_memory_bytes,omitempty"`
	ComputeUnits int    `json:"compute_units"`
	FP64         bool   `json:"fp64"`
	PCI          string `json:"pci,omitempty"`
	UUID         string `json:"uuid,omitempty"`
	SelfTest     string `json:"self_test"`
}

func devicesCommand() *cobra.Command {
	cmd, f := newCommand("devices", "what psafe can compute on, with self-tests", devicesAbout, 0)
	asJSON := f.Bool("json", false, jsonLinesUsage)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		if err := patienceMistaken(); err != nil {
			return err
		}
		found, err := listDevices(ctx)
		if err != nil {
			return err
		}
		rows := []deviceRow{{ID: "cpu", Name: "portable fallback", Type: "CPU", ComputeUnits: runtime.GOMAXPROCS(0), FP64: true, SelfTest: "the definition"}}
		rows = append(rows, found.devices...)
		if err := writeDevices(rows, *asJSON, stdout); err != nil {
			return &outfile.Error{Path: "standard output", Err: err}
		}
		for _, note := range found.notes {
			fmt.Fprintln(stderr, "psafe: note:", note)
		}
		for _, err := range found.failed {
			fmt.Fprintln(stderr, "psafe: note:", inLine(err))
		}
		if slices.ContainsFunc(found.failed, isMistake) {
			return &statusError{exitFault, errors.New("a fault of psafe: see the note above")}
		}
		if len(found.failed) > 0 {
			return &certify.DeviceError{Err: errors.New("a driver failed: see the note above")}
		}
		return nil
	})
}

// listDevices asks a child what there is, and for each device another whether it passes
// the self-test. A driver that fails is no error of this function but among those failed.
func listDevices(ctx context.Context) (*probed, error) {
	if !cl.Installed() {
		found := &probed{}
		if _, err := gpu.List(); err != nil { // it says what to install
			found.notes = []string{inLine(err)}
		}
		return found, nil
	}
	found, err := probe(ctx, listLimit, "list")
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return &probed{failed: []error{fmt.Errorf("%w when it was asked for its devices", err)}}, nil
	case found.absent != nil:
		found.notes = append(found.notes, found.absent.Error())
	}
	for i := range found.devices {
		r := &found.devices[i]
		precisions := []bound.Precision{bound.Float32}
		if r.FP64 {
			precisions = append(precisions, bound.Float64)
		}
		r.SelfTest = "passed"
		err := testDevice(ctx, r.ID, precisions...)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.SelfTest = "REFUSED: " + inLine(err)
		}
		if _, refused := errors.AsType[*refusal](err); err != nil && !refused {
			found.failed = append(found.failed, fmt.Errorf("%s (%s): %w in the self-test", r.Name, r.ID, err))
		}
	}
	return found, nil
}

// describe is the row of a device that has not been tested.
func describe(i *gpu.Info) deviceRow {
	return deviceRow{ID: i.ID, Name: i.Name, Type: i.Type, Platform: i.Platform, Driver: i.Driver, OpenCL: i.CVersion,
		Memory: i.Memory, MaxAlloc: i.MaxAlloc, LocalMemory: i.LocalMemory, ComputeUnits: i.ComputeUnits, FP64: i.FP64,
		PCI: i.PCI, UUID: i.UUID}
}

// writeDevices prints rows as a table or as JSON Lines.
func writeDevices(rows []deviceRow, asJSON bool, w io.Writer) error {
	if !asJSON {
		return deviceTable(rows, w)
	}
	out := json.NewEncoder(w)
	for _, r := range rows {
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// wideDevices is the number of columns that a terminal needs for all that the table has.
const wideDevices = 120

// deviceTable prints rows; on a narrow terminal it leaves out what --json has too.
func deviceTable(rows []deviceRow, w io.Writer) error {
	width, _, terminal := screen(w)
	narrow := terminal && width < wideDevices
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if narrow {
		fmt.Fprintln(t, "ID\tNAME\tTYPE\tMEMORY\tUNITS\tFP64\tSELF-TEST")
	} else {
		fmt.Fprintln(t, "ID\tNAME\tTYPE\tDRIVER\tMEMORY\tMAX ALLOC\tLOCAL\tUNITS\tFP64\tSELF-TEST")
	}
	for _, r := range rows {
		if narrow {
			fmt.Fprintf(t, "%s\t%.32s\t%s\t%s\t%d\t%v\t%s\n", r.ID, r.Name, r.Type, size(r.Memory), r.ComputeUnits, r.FP64, r.SelfTest)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%v\t%s\n", r.ID, r.Name, r.Type, dash(r.Driver), size(r.Memory), size(r.MaxAlloc), size(r.LocalMemory), r.ComputeUnits, r.FP64, r.SelfTest)
	}
	return t.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func size(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
