package main

import (
	"os"
	"path/filepath"
	"time"

	"psafe/gpu"
)

// cacheVariable is the environment variable that, if it is off, has no programs of devices kept.
const cacheVariable = "PSAFE_CACHE"

// slowDriver is gpu.Options.Slow; tests change it.
var slowDriver time.Duration

// programs is the folder where they are kept, empty for none.
func programs() string {
	folder, err := os.UserCacheDir()
	if err != nil || os.Getenv(cacheVariable) == "off" {
		return ""
	}
	return filepath.Join(folder, "psafe")
}

// blamed is the error of a driver that crashed or hung. What it had compiled and psafe kept may be why, and goes.
func blamed(err error) error {
	gpu.Forget(programs())
	return err
}
