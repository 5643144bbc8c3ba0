package campaign

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"psafe/internal/fault"
	"psafe/internal/outfile"
)

// An attempt is one process that certifies what is missing of a span of tasks. Its files are
//
//	DIR/results/FIRST-LAST.ATTEMPT.started          Started, as it begins
//	DIR/results/FIRST-LAST.ATTEMPT.jsonl.partial    its records, in the order of their tasks
//	DIR/results/FIRST-LAST.ATTEMPT.jsonl            the same, once nothing is missing of the span
//	DIR/results/FIRST-LAST.ATTEMPT.failed           Failed, if it ended by an error
//
// with the first and last task of the span and a random word. What is guaranteed:
//
//   - A process writes only files whose names it has made up (O_EXCL), and nobody removes or
//     changes a file of another. So any number may do the same span at once, on any machines
//     that share the folder.
//   - A record that was written survives the process, however that ends, and counts for
//     every later attempt of whatever span: there is no state but the records. A line without
//     its end counts for nothing.
//   - Records of a task are alike whoever made them (prove.Numerics), so that it does not
//     matter which of several Merge takes; where they are not, Merge fails.

const (
	startedSuffix = ".started"
	failedSuffix  = ".failed"
	recordsSuffix = ".jsonl"
)

// heartbeat is how often an attempt touches its file; one untouched for silence is given up.
const (
	heartbeat = 10 * time.Second
	silence   = 60 * time.Second
)

const (
	// Exit statuses of processes that did not fail but were stopped: by a signal, by a time limit.
	statusInterrupted = 4
	statusTime        = 5
	// Those of a process that ended by a fault of psafe itself, for the first time and again.
	statusFault      = 6
	statusFaultAgain = 7
)

// finalStatuses are the statuses after which the same again would end in the same way: bounds that
// contradict each other, a wrong flag or file, the time of --total-time-limit, a second fault of psafe.
var finalStatuses = []int{1, 2, statusTime, statusFaultAgain}

// Started holds who began an attempt, and when.
type Started struct {
	// Shard holds what the process was asked for, Missing how many tasks it found to do.
	Shard   string    `json:"shard"`
	Missing int       `json:"missing"`
	Time    time.Time `json:"time"`
	Process
}

// Failed describes by what an attempt ended. Status is the exit status of the process, Error its
// last line.
type Failed struct {
	Shard  string    `json:"shard"`
	Status int       `json:"status"`
	Error  string    `json:"error"`
	Time   time.Time `json:"time"`
	Process
}

// Process describes where an attempt runs, and as what.
type Process struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Scheduler has what the environment says of the job.
	Scheduler map[string]string `json:"scheduler,omitempty"`
}

// schedulerWords are the variables that name a job for people who look for its output.
var schedulerWords = []string{"SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURMD_NODENAME", "JOB_COMPLETION_INDEX", SubmissionVariable}

// SubmissionVariable has a word of each start of a campaign by Kubernetes: see Waiting.
const SubmissionVariable = "PSAFE_SUBMISSION"

func thisProcess() Process {
	p := Process{PID: os.Getpid()}
	p.Host, _ = os.Hostname()
	for _, name := range schedulerWords {
		if value := os.Getenv(name); value != "" {
			if p.Scheduler == nil {
				p.Scheduler = map[string]string{}
			}
			p.Scheduler[name] = value
		}
	}
	return p
}

// attempt holds the attempt of this process.
type attempt struct {
	shard Shard
	// path holds the path of its files, without what they end in.
	path   string
	file   *outfile.Growing
	failed *outfile.Unfinished
	stop   chan struct{}
	beat   sync.WaitGroup
	ended  sync.Once
}

// attemptPath is the path of the files of a new attempt, without what they end in.
func attemptPath(dir string, span Span) string {
	var word [6]byte
	rand.Read(word[:])
	return filepath.Join(dir, ResultsName, fmt.Sprintf("%09d-%09d.%s", span.First, span.End-1, hex.EncodeToString(word[:])))
}

// beginAttempt makes the files of an attempt at a span of the campaign in dir.
func beginAttempt(dir string, shard Shard, span Span, missing int, status func(error) int) (*attempt, error) {
	results := filepath.Join(dir, ResultsName)
	if err := os.MkdirAll(results, 0o777); err != nil {
		return nil, &outfile.Error{Path: results, Err: err}
	}
	a := &attempt{shard: shard, path: attemptPath(dir, span), stop: make(chan struct{})}
	if err := writeNew(a.path+startedSuffix, Started{shard.String(), missing, time.Now().UTC().Round(time.Millisecond), thisProcess()}); err != nil {
		return nil, err
	}
	var err error
	if a.file, err = outfile.Grow(a.path+recordsSuffix, outfile.Replace, "replaced"); err != nil {
		return nil, &outfile.Error{Path: a.path + recordsSuffix, Err: err}
	}
	// A program that ends at once says so for those who look at the folder.
	a.failed = outfile.Begin(func(reason error) string {
		a.writeFailed(&Failed{Status: status(reason), Error: reason.Error()})
		return ""
	})
	fault.Go(&a.beat, func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				a.file.Touch()
			case <-a.stop:
				return
			}
		}
	})
	return a, nil
}

// complete ends an attempt after which nothing is missing of its span.
func (a *attempt) complete() error {
	a.end()
	if err := a.file.Commit(); err != nil {
		return &outfile.Error{Path: a.path + recordsSuffix, Err: err}
	}
	return nil
}

// leave ends an attempt by an error, with the line and exit status that it means.
func (a *attempt) leave(err error, status int) {
	a.end()
	a.file.Leave()
	a.writeFailed(&Failed{Status: status, Error: err.Error()})
}

// end stops the heartbeat; an attempt that cannot be completed comes here twice.
func (a *attempt) end() {
	a.ended.Do(func() {
		a.failed.End()
		close(a.stop)
		a.beat.Wait()
	})
}

// writeFailed leaves word of the attempt's end. Where that fails too, nobody is told: the
// attempt's error is what its caller has to hear.
func (a *attempt) writeFailed(f *Failed) {
	f.Shard, f.Time, f.Process = a.shard.String(), time.Now().UTC().Round(time.Millisecond), thisProcess()
	_ = writeNew(a.path+failedSuffix, f)
}

// writeNew writes a file that must not exist, of one line of JSON. It does not wait for the
// disk: nothing depends on the file. Not by outfile.WriteFile, which waits for ever once a
// program is ending.
func writeNew(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		panic("campaign: " + err.Error())
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err == nil {
		_, err = f.Write(append(text, '\n'))
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		return &outfile.Error{Path: path, Err: err}
	}
	return nil
}

// Results is the folder of attempts.
func (f *Folder) Results() string { return filepath.Join(f.Dir, ResultsName) }
