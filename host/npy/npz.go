package npy

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Member is one .npy file inside a .npz file.
type Member struct {
	// Name is the array's name: the file name in the zip without ".npy".
	Name string
	// File is the unpacked .npy file, for Read.
	File []byte
}

// maxUnpacked bounds, in bytes, what all members of one zip unpack to: room for
// 130 million means and spreads in float32, and no more than a machine can hold
// when a small file unpacks to that much.
const maxUnpacked = 1 << 30

// maxInflate is above the largest factor by which deflate can expand (1032).
const maxInflate = 1100

// ReadZip unpacks a .npz file held in memory, members in the zip's own order.
// It is an error when the zip is damaged (check sums included), when two members
// have one name, when a member is not a .npy file by its name, or when they
// unpack to more than 1 GiB.
func ReadZip(file []byte) ([]Member, error) {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("damaged zip: %w", err)
	}
	members := make([]Member, 0, len(z.File))
	seen := map[string]bool{}
	left := uint64(maxUnpacked)
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("zip member %.60q is not a .npy file", f.Name)
		}
		if seen[name] {
			return nil, fmt.Errorf("zip has two members %.60q", f.Name)
		}
		seen[name] = true
		if f.UncompressedSize64 > left || f.UncompressedSize64/maxInflate > uint64(len(file)) {
			return nil, fmt.Errorf("zip member %.60q claims to unpack to %d bytes", f.Name, f.UncompressedSize64)
		}
		data, err := unpack(f)
		if err != nil {
			return nil, fmt.Errorf("zip member %.60q: %w", f.Name, err)
		}
		left -= uint64(len(data))
		members = append(members, Member{Name: name, File: data})
	}
	return members, nil
}

// unpack reads one member and lets archive/zip check its sum. The buffer grows
// with the bytes that come, so a wrong claimed size costs nothing.
func unpack(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, int64(f.UncompressedSize64)+1))
	if err != nil {
		return nil, err
	}
	if uint64(len(data)) != f.UncompressedSize64 {
		return nil, fmt.Errorf("unpacks to a length other than the %d bytes the zip claims", f.UncompressedSize64)
	}
	return data, nil
}
