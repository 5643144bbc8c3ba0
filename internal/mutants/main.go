// Mutants breaks the program on purpose, one line at a time, and demands that the
// tests notice.
//
//	go run ./internal/mutants [-j jobs] [-v] [-check] [-test "package regex"] [-draw n [-day text] [-since commit]] [table ...]
//
// A table lists mutants (the format is at readTable); without arguments it is every
// file testdata/mutants.txt below the current directory, which must be that of
// the module. A mutant is compiled through go test -overlay, so no source file is
// touched, and the tests it names are run: first with the few cases of make test,
// then, if those let it pass, with all of them. Exit status 1 says that a mutant
// survived: a line can be wrong and no test sees it. Status 2 says that a table
// is out of date, or that the named tests fail without the mutant.
//
// -check only says whether the tables apply: see check. -test runs one test in place of those
// that the tables name, to see which mutants it notices. -draw tries some of them: see draw.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

func main() {
	jobs := flag.Int("j", runtime.NumCPU(), "mutants tested at the same time")
	verbose := flag.Bool("v", false, "print the output of every run")
	only := flag.Bool("check", false, "only see whether every row of the tables applies")
	instead := flag.String("test", "", "package and regular expression of a test to run in place of those that the tables name")
	few := flag.Int("draw", 0, "try only so many mutants of files that changed -since a commit, and so many others, drawn anew each -day (0: try all)")
	day := flag.String("day", "", "with -draw: any text, such as a date; the same draws the same mutants")
	since := flag.String("since", "", "with -draw: a commit")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all, err := readTables(".", flag.Args())
	if err == nil {
		err = check(".", all)
	}
	if pkg, test, both := strings.Cut(*instead, " "); both {
		for i := range all {
			all[i].pkg, all[i].test = pkg, test
		}
	} else if *instead != "" {
		err = fmt.Errorf("-test %q: give a package and a regular expression, separated by a space", *instead)
	}
	if err == nil && *few > 0 {
		all, err = draw(ctx, all, *few, *day, *since)
	}
	status := 0
	if err == nil && !*only {
		status, err = run(ctx, all, *jobs, *verbose)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		status = 2
	}
	os.Exit(status)
}

// readTables reads tables of the module at root: all it has where none is named.
func readTables(root string, tables []string) (all []mutant, err error) {
	if len(tables) == 0 {
		if tables, err = findTables(root); err != nil {
			return nil, err
		}
	}
	for _, t := range tables {
		list, err := readTable(t)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

func run(ctx context.Context, all []mutant, jobs int, verbose bool) (status int, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	base, err := newBaseline(ctx, all, dir, jobs)
	if err != nil {
		return 0, err
	}
	counts := map[verdict]int{}
	var mu sync.Mutex
	each(len(all), jobs, func(i int) {
		r := all[i].apply(ctx, base, filepath.Join(dir, fmt.Sprint(i)))
		mu.Lock()
		defer mu.Unlock()
		counts[r.verdict]++
		fmt.Printf("%-9s %5.1fs  %s  %s => %s\n", r.verdict, r.took.Seconds(), all[i].where(), all[i].old, all[i].new)
		if verbose || r.verdict == broken {
			fmt.Println(r.output)
		}
	})
	fmt.Printf("%d mutants: %d caught, %d of them only by all cases, %d survived, %d broken\n",
		len(all), counts[caught]+counts[caughtDeep], counts[caughtDeep], counts[survived], counts[broken])
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

// each calls f with the numbers below n, jobs of them at a time.
func each(n, jobs int, f func(i int)) {
	next := make(chan int)
	var wait sync.WaitGroup
	for range jobs {
		wait.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
}
