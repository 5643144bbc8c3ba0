// Command gen writes the files of testdata that are not trained: test images of
// glyphs, handmade posteriors, one of every kind, and, in another folder, the
// training images and encounters, which are too many to keep. Run it in the repository root:
//
//	go run ./testdata/gen [-train DIR]
//
// See testdata/README.md and testdata/make.sh.
package main

import (
	"flag"
	"fmt"
	"os"
)

// How many images there are, and which random stream draws them.
const (
	trainImages, trainStream = 2000, 1
	testImages, testStream   = 100, 2
)

// The same for the encounters of the advisory task.
const (
	trainEncounters, trainEncounterStream = 8000, 1
	testEncounters, testEncounterStream   = 2000, 2
)

func main() {
	train := flag.String("train", "", "existing `folder` for the training images and encounters; without it they are not written")
	flag.Parse()
	if err := run(*train); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(train string) error {
	if train != "" {
		if err := writeGlyphs(train, "glyphs-train", trainImages, trainStream); err != nil {
			return err
		}
		if err := writeAdvisory(train, "advisory-train", trainEncounters, trainEncounterStream); err != nil {
			return err
		}
		if err := writeAdvisory(train, "advisory-test", testEncounters, testEncounterStream); err != nil {
			return err
		}
	}
	if err := writeGlyphs("testdata", "glyphs-test", testImages, testStream); err != nil {
		return err
	}
	if err := writeHandmade("testdata"); err != nil {
		return err
	}
	return writeKinds("testdata")
}
