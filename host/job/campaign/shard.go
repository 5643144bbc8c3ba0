package campaign

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Shard is a share of the tasks of a campaign: number I, from 0, of N.
type Shard struct{ I, N int }

// mostShards bounds N, so that numbers of tasks times it are no overflow.
const mostShards = 1 << 24

// Span are the tasks numbered from First on, before End.
type Span struct{ First, End int }

// Len returns how many tasks a span has.
func (s Span) Len() int { return s.End - s.First }

func (s Span) overlaps(t Span) bool { return s.First < t.End && t.First < s.End }

func (s Span) String() string {
	if s.Len() == 1 {
		return strconv.Itoa(s.First)
	}
	return fmt.Sprintf("%d-%d", s.First, s.End-1)
}

// ParseShard reads i/n.
func ParseShard(text string) (Shard, error) {
	i, n, _ := strings.Cut(text, "/")
	var s Shard
	var errI, errN error
	s.I, errI = strconv.Atoi(i)
	s.N, errN = strconv.Atoi(n)
	if errI != nil || errN != nil {
		return s, fmt.Errorf("%.40q is no shard: give i/n, as in 0/16 for the first of 16", text)
	}
	return s, s.check()
}

func (s Shard) check() error {
	switch {
	case s.N < 1 || s.N > mostShards:
		return fmt.Errorf("%d shards are not between 1 and %d", s.N, mostShards)
	case s.I < 0 || s.I >= s.N:
		return fmt.Errorf("there is no shard %d of %d: they are numbered from 0 to %d", s.I, s.N, s.N-1)
	}
	return nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.I, s.N) }

// Span are the tasks of the shard, of so many in all: neighbours, so that few files are read
// for them. Every task is in exactly one shard of N.
func (s Shard) Span(tasks int) Span {
	return Span{tasks * s.I / s.N, tasks * (s.I + 1) / s.N}
}

// shardOf is the number of the shard of n that a task is in.
func shardOf(task, tasks, n int) int {
	return ((task+1)*n - 1) / tasks // the greatest i with tasks*i/n <= task
}

// ShardOf is the shard that a scheduler means by the environment: the place of this process
// in an array of Slurm, or in an Indexed Job of Kubernetes, of shards; 0 for shards that
// nobody gave. Without any it is all tasks.
func ShardOf(getenv func(string) string, shards int) (Shard, error) {
	number := func(name string) (n int, there bool, err error) {
		text := getenv(name)
		if text == "" {
			return 0, false, nil
		}
		if n, err = strconv.Atoi(text); err != nil {
			err = fmt.Errorf("%s is %.40q, no number: give --shard i/n", name, text)
		}
		return n, true, err
	}
	if shards < 0 || shards > mostShards {
		return Shard{}, fmt.Errorf("--shards %d is not between 1 and %d", shards, mostShards)
	}
	const slurm, kubernetes = "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"
	for _, name := range []string{slurm, kubernetes} {
		i, there, err := number(name)
		switch {
		case err != nil:
			return Shard{}, err
		case !there:
			continue
		case shards > 0:
			s := Shard{i, shards}
			if err := s.check(); err != nil {
				return s, fmt.Errorf("%s: %w: give --shards as many as the array has", name, err)
			}
			return s, nil
		case name == kubernetes:
			return Shard{}, fmt.Errorf("%s is %d: give --shards n, as many as the job has completions", name, i)
		}
		return shardOfArray(i, number)
	}
	if shards > 1 {
		return Shard{}, fmt.Errorf("--shards %d says not which of them: give --shard i/%d, or start it from an array of Slurm or an Indexed Job", shards, shards)
	}
	return Shard{0, 1}, nil
}

// shardOfArray is the shard of place id in an array of Slurm.
func shardOfArray(id int, number func(string) (int, bool, error)) (Shard, error) {
	var size [3]int // MIN, MAX, COUNT
	for k, name := range []string{"SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT"} {
		n, there, err := number(name)
		if err == nil && !there {
			err = fmt.Errorf("SLURM_ARRAY_TASK_ID is %d, and %s is not set: give --shards n", id, name)
		}
		if err != nil {
			return Shard{}, err
		}
		size[k] = n
	}
	if size[1]-size[0]+1 != size[2] {
		return Shard{}, fmt.Errorf("the array goes from %d to %d and has %d places: psafe run cannot tell how many shards there are: give --shards n", size[0], size[1], size[2])
	}
	s := Shard{id - size[0], size[2]}
	if s.check() != nil {
		return s, errors.New("SLURM_ARRAY_TASK_ID is not between SLURM_ARRAY_TASK_MIN and _MAX: give --shard i/n")
	}
	return s, nil
}
