package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"psafe/gpu"
	"psafe/gpu/cl"
	"psafe/host/bound"
	"psafe/host/run"
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

func runDevices(_ context.Context, args []string, stdout, stderr io.Writer) error {
	f := newFlags("devices", devicesAbout, stdout)
	asJSON := f.Bool("json", false, "one JSON object per device and line")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	rows := []deviceRow{{ID: "cpu", Name: "portable fallback", Type: "CPU", ComputeUnits: runtime.GOMAXPROCS(0), FP64: true, SelfTest: "the definition"}}
	list, err := gpu.List()
	for i := range list {
		rows = append(rows, describe(&list[i]))
	}
	if *asJSON {
		for _, r := range rows {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%s\n", line)
		}
	} else if err := deviceTable(rows, stdout); err != nil {
		return err
	}
	if note := cl.Note(); note != "" {
		fmt.Fprintln(stderr, "psafe: note:", note)
	}
	if err != nil {
		fmt.Fprintln(stderr, "psafe: note:", inLine(err))
		if !cl.Absent(err) {
			return &run.DeviceError{Err: errors.New("a driver failed: see the note above")}
		}
	}
	return nil
}

// describe opens the device once in each precision it has.
func describe(i *gpu.Info) deviceRow {
	r := deviceRow{ID: i.ID, Name: i.Name, Type: i.Type, Platform: i.Platform, Driver: i.Driver, OpenCL: i.CVersion,
		Memory: i.Memory, MaxAlloc: i.MaxAlloc, LocalMemory: i.LocalMemory, ComputeUnits: i.ComputeUnits, FP64: i.FP64,
		PCI: i.PCI, UUID: i.UUID, SelfTest: "passed"}
	precisions := []bound.Precision{bound.Float32}
	if i.FP64 {
		precisions = append(precisions, bound.Float64)
	}
	for _, p := range precisions {
		d, err := gpu.OpenInfo(*i, p, gpu.Options{})
		if err == nil {
			err = d.Close()
		}
		if err != nil {
			r.SelfTest = fmt.Sprintf("REFUSED: %v: %s", p, inLine(err))
			return r
		}
	}
	return r
}

func deviceTable(rows []deviceRow, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tNAME\tTYPE\tDRIVER\tMEMORY\tMAX ALLOC\tLOCAL\tUNITS\tFP64\tSELF-TEST")
	for _, r := range rows {
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
