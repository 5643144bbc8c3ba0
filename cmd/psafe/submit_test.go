package main

import "testing"

// TestBuiltByGoRun: a program that is gone when the shards start is not given to them.
func TestBuiltByGoRun(t *testing.T) {
	for program, want := range map[string]bool{
		"/tmp/go-build1410809726/b001/exe/psafe": true, "/home/u/.cache/go-build/ab/abcdef-d/psafe": true,
		"/usr/local/bin/psafe": false, "/home/u/go/bin/psafe": false, "/tmp/go-build14/b001/psafe.test": false, "/data/my-go-build/psafe": false,
	} {
		if got := builtByGoRun(program); got != want {
			t.Errorf("%s: %v", program, got)
		}
	}
}
