package certify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// foreign tells what files with these endings usually are: others than psafe reads.
var foreign = map[string]string{
	".pt": "a PyTorch checkpoint", ".pth": "a PyTorch checkpoint", ".ckpt": "a checkpoint", ".h5": "a Keras or HDF5 file", ".hdf5": "an HDF5 file",
	".keras": "a Keras model", ".pb": "a TensorFlow graph", ".tflite": "a TensorFlow Lite model", ".onnx": "an ONNX graph, which has no standard deviations",
}

// unfound puts the flag that named a file in front of the error that it is not there.
func unfound(flag string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s %w", flag, err)
	}
	return err
}

// foreignFolder adds to the error about a folder that is no posterior what psafe took it for.
func foreignFolder(path string, err error) error {
	info, missing := os.Stat(path)
	if missing != nil || !info.IsDir() || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: a folder is read as one of deepbayes, of arch.json, mean.npy and var.npy: name the file of the posterior", err)
}

// foreignFile adds to an error about a posterior what the file's name says that it is, where
// the error does not say what to do.
func foreignFile(path string, err error) error {
	what := foreign[strings.ToLower(filepath.Ext(path))]
	if text := err.Error(); what == "" || strings.Contains(text, "docs/files.md shows") || !strings.Contains(text, "not a posterior") && !strings.Contains(text, "pickle") {
		return err
	}
	return fmt.Errorf("%w: by its name it is %s: write mean and standard deviation of its weights to a psafe .npz or safetensors from Python, as docs/files.md shows", err, what)
}
