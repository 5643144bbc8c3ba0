package summary_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"psafe/host/record"
	"psafe/host/tell/summary"
	"psafe/internal/testkit/recordtest"
	"psafe/internal/testscale"
)

// mostMegabytes is the memory that a million records may take, whatever is done with them.
const mostMegabytes = 300

// What TestMillion's processes do: with what is in this variable, on the file in the next.
const (
	taskVariable = "PSAFE_TEST_MILLION"
	fileVariable = "PSAFE_TEST_MILLION_FILE"
)

// TestMillion: a summary of 10^6 records and tables of them take little memory, measured in
// processes of their own, and say what they should.
func TestMillion(t *testing.T) {
	testscale.DeepOnly(t)
	if runtime.GOOS != "linux" {
		t.Skip("memory is measured by way of /proc")
	}
	const n = 1_000_000
	path := filepath.Join(t.TempDir(), "r.jsonl")
	start := time.Now()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	b := bufio.NewWriter(file)
	if err := recordtest.Write(b, n); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	t.Logf("%d records, %d bytes, made in %.1f s", n, info.Size(), time.Since(start).Seconds())
	for _, task := range []string{"read", "summary", "csv", "parquet"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMillionProcess$", "-test.v")
		cmd.Env = append(os.Environ(), taskVariable+"="+task, fileVariable+"="+path)
		start := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", task, err, out)
		}
		var peak, size int
		if _, after, found := strings.Cut(string(out), "MEASURED "); !found {
			t.Fatalf("%s: %s", task, out)
		} else if _, err := fmt.Sscan(after, &peak, &size); err != nil {
			t.Fatal(err)
		}
		used := cmd.ProcessState
		t.Logf("%s: %.1f s, %.1f s CPU, at most %d MB of memory, %d bytes", task, time.Since(start).Seconds(), (used.UserTime() + used.SystemTime()).Seconds(), peak>>20, size)
		if peak>>20 >= mostMegabytes {
			t.Errorf("%s takes %d MB", task, peak>>20)
		}
	}
}

// TestMillionProcess does what TestMillion runs.
func TestMillionProcess(t *testing.T) {
	path, task := os.Getenv(fileVariable), os.Getenv(taskVariable)
	if path == "" {
		t.Skip("TestMillion runs it")
	}
	var out counter
	switch task {
	case "read":
		each(t, path, func(record.Placed) error { return nil })
	case "csv", "parquet":
		table := record.NewTable("r."+task, &out)
		each(t, path, func(p record.Placed) error { return table.Write(p.Record) })
		if err := table.Close(); err != nil {
			t.Fatal(err)
		}
	default:
		var s summary.Summary
		each(t, path, func(p record.Placed) error {
			s.Add(&p)
			return nil
		})
		r := s.Result()
		if r.Records != 1_000_000 || len(r.Contradictions) > 0 || r.NotCompared > 0 || r.Questions != r.Records || len(r.Groups) != 20 || len(r.Runs) != 1 || r.Runs[0].Missing != "" {
			t.Errorf("%d records, %d contradictions, %d questions, %d groups, %+v", r.Records, len(r.Contradictions), r.Questions, len(r.Groups), r.Runs)
		}
		if err := r.PrintWithin(io.MultiWriter(&out, os.Stdout), math.MaxInt); err != nil {
			t.Fatal(err)
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
	kilobytes, err := strconv.Atoi(string(bytes.Fields(after)[0]))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("MEASURED", kilobytes<<10, int(out))
}

func each(t *testing.T, path string, f func(record.Placed) error) {
	t.Helper()
	if err := record.Each(path, f); err != nil {
		t.Fatal(err)
	}
}

type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
