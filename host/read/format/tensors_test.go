package format

import (
	"strings"
	"testing"
)

// TestTensors: what holds no arrays of names of its own is refused, with what to do.
func TestTensors(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"torch":               {[]byte("PK\x03\x04\x00\x00model/data.pkl"), "torch checkpoints are not read: write it from Python by the file that psafe exporter prints"},
		"HDF5":                {[]byte("\x89HDF\r\n\x1a\n and so on"), "HDF5 files are not read: write it from Python by the file that psafe exporter prints"},
		"text":                {[]byte("hello, world"), "neither a safetensors file nor a .npz"},
		"empty":               {nil, "neither a safetensors file nor a .npz"},
		"psafe's own":         {npz(t, goodMeta, goodArrays()), "the file says itself what it holds"},
		"psafe's own tensors": {tensors(safetensorsHeaderText(goodTensors), goodData()), "the file says itself what it holds"},
	} {
		if _, err := openTensors(held(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzTensors(f *testing.F) {
	f.Add(tensors(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"steps":{"dtype":"I64","shape":[],"data_offsets":[8,16]}}`, "0123456789abcdef"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := openTensors(held(file)); err != nil && strings.ContainsAny((&oneLine{"x", err}).Error(), "\n\r") {
			t.Fatalf("error of several lines: %q", err)
		}
	})
}
