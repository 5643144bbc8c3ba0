// Mutants breaks the program on purpose, one line at a time, and demands that the
// tests notice.
//
//	go run ./internal/mutants [-j jobs] [-v] [table ...]
//
// A table lists mutants (the format is at parse); without arguments it is every
// file testdata/mutants.txt below the current directory, which must be that of
// the module. A mutant is compiled through go test -overlay, so no source file is
// touched, and the tests it names are run. Exit status 1 says that a mutant
// survived: a line can be wrong and no test sees it. Status 2 says that a table
// is out of date, or that the named tests fail without the mutant.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"
)

func main() {
	jobs := flag.Int("j", 2, "mutants tested at the same time")
	verbose := flag.Bool("v", false, "print the output of every run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	status, err := run(ctx, flag.Args(), *jobs, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		status = 2
	}
	os.Exit(status)
}

func run(ctx context.Context, tables []string, jobs int, verbose bool) (status int, err error) {
	if len(tables) == 0 {
		if tables, err = findTables("."); err != nil {
			return 0, err
		}
	}
	var all []mutant
	for _, t := range tables {
		list, err := readTable(t)
		if err != nil {
			return 0, err
		}
		all = append(all, list...)
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := checkBaseline(ctx, all); err != nil {
		return 0, err
	}
	results := testAll(ctx, all, dir, jobs)
	counts := map[verdict]int{}
	for i, r := range results {
		counts[r.verdict]++
		fmt.Printf("%-9s %5.1fs  %s  %s => %s\n", r.verdict, r.took.Seconds(), all[i].where(), all[i].old, all[i].new)
		if verbose || r.verdict == broken {
			fmt.Println(r.output)
		}
	}
	fmt.Printf("%d mutants: %d caught, %d survived, %d broken\n", len(all), counts[caught], counts[survived], counts[broken])
	switch {
	case counts[broken] > 0:
		return 2, nil
	case counts[survived] > 0:
		return 1, nil
	}
	return 0, nil
}

func findTables(root string) (tables []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() == "mutants.txt" && filepath.Base(filepath.Dir(path)) == "testdata" {
			tables = append(tables, path)
		}
		return err
	})
	if err == nil && len(tables) == 0 {
		err = fmt.Errorf("no testdata/mutants.txt below %s", root)
	}
	return tables, err
}

// checkBaseline runs the tests that mutants name as they are: one that fails
// anyway catches nothing.
func checkBaseline(ctx context.Context, all []mutant) error {
	seen := map[string]bool{}
	for _, m := range all {
		if key := m.pkg + " " + m.test; !seen[key] {
			seen[key] = true
			if r := m.goTest(ctx, ""); r.verdict != survived {
				return fmt.Errorf("go test -run '%s' %s must pass without a mutant:\n%s", m.test, m.pkg, r.output)
			}
		}
	}
	return nil
}

func testAll(ctx context.Context, all []mutant, dir string, jobs int) []result {
	results := make([]result, len(all))
	next := make(chan int)
	var wait sync.WaitGroup
	for range jobs {
		wait.Go(func() {
			for i := range next {
				start := time.Now()
				results[i] = all[i].apply(ctx, filepath.Join(dir, fmt.Sprint(i)))
				results[i].took = time.Since(start)
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wait.Wait()
	return results
}
