package campaign

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSpans: the shards of every number have every task once, in order.
func TestSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	for range 300 {
		tasks, n := 1+rng.IntN(200), 1+rng.IntN(250)
		at := 0
		for i := range n {
			span := Shard{i, n}.Span(tasks)
			if span.First != at || span.End < at {
				t.Fatalf("shard %d/%d of %d tasks: %+v, after %d", i, n, tasks, span, at)
			}
			for task := span.First; task < span.End; task++ {
				if got := shardOf(task, tasks, n); got != i {
					t.Fatalf("task %d of %d is in shard %d/%d, not %d", task, tasks, i, n, got)
				}
			}
			at = span.End
		}
		if at != tasks {
			t.Fatalf("%d shards of %d tasks end at %d", n, tasks, at)
		}
	}
}

func TestShardOf(t *testing.T) {
	array := func(id, first, last, count string) map[string]string {
		return map[string]string{"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": first, "SLURM_ARRAY_TASK_MAX": last, "SLURM_ARRAY_TASK_COUNT": count}
	}
	index := map[string]string{"JOB_COMPLETION_INDEX": "3"}
	for _, c := range []struct {
		environment map[string]string
		shards      int
		want, err   string
	}{
		{nil, 0, "0/1", ""},
		{nil, 1, "0/1", ""},
		{nil, 4, "", "--shard i/4"},
		{nil, -1, "", "--shards -1 is not between"},
		{array("5", "0", "15", "16"), 0, "5/16", ""},
		{array("16", "1", "16", "16"), 0, "15/16", ""},
		{array("8", "0", "12", "4"), 0, "", "from 0 to 12 and has 4 places"},
		{array("17", "1", "16", "16"), 0, "", "is not between"},
		{array("7", "3", "7", "2"), 16, "7/16", ""},
		{array("16", "0", "16", "17"), 16, "", "SLURM_ARRAY_TASK_ID: there is no shard 16 of 16"},
		{map[string]string{"SLURM_ARRAY_TASK_ID": "3"}, 0, "", "SLURM_ARRAY_TASK_MIN is not set"},
		{map[string]string{"SLURM_ARRAY_TASK_ID": "x"}, 0, "", `"x", no number`},
		{index, 8, "3/8", ""},
		{index, 3, "", "no shard 3 of 3"},
		{index, 0, "", "give --shards n, as many as the job has completions"},
	} {
		got, err := ShardOf(func(name string) string { return c.environment[name] }, c.shards)
		if c.err == "" && (err != nil || got.String() != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%v, %d shards: %v, %v; want %q, %q", c.environment, c.shards, got, err, c.want, c.err)
		}
	}
}

func TestParseShard(t *testing.T) {
	if s, err := ParseShard("3/16"); err != nil || s != (Shard{3, 16}) {
		t.Errorf("%v, %v", s, err)
	}
	for _, text := range []string{"", "3", "3/", "/4", "4/4", "-1/4", "0/0", "1/2/3", "0/99999999999", "a/b"} {
		if s, err := ParseShard(text); err == nil {
			t.Errorf("%q is %v", text, s)
		}
	}
}
