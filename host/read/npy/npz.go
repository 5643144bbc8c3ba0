package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Member is one .npy file inside a .npz file.
type Member struct {
	// Name is the array's name: the file name in the zip without ".npy".
	Name string
	file *zip.File
}

// maxUnpacked bounds, in bytes, what all members of one zip unpack to: room for
// 130 million means and spreads in float32, and no more than a machine can hold
// when a small file unpacks to that much.
const maxUnpacked = 1 << 30

// maxInflate is above the largest factor by which deflate can expand (1032).
const maxInflate = 1100

// maxDirectory bounds, in bytes, what is read of a zip to find its members: room for tens
// of thousands of names.
const maxDirectory = 4 << 20

// OpenZip lists the members of a .npz file of size bytes, in the zip's own order. Nothing
// is unpacked yet. It is an error when the list is damaged or longer than 4 MiB, when two
// members have one name, when a member is not a .npy file by its name, or when they claim
// to unpack to more than 1 GiB.
func OpenZip(r io.ReaderAt, size int64) ([]Member, error) {
	directory := &bounded{ReaderAt: r, left: maxDirectory}
	z, err := zip.NewReader(directory, size)
	if directory.left < 0 {
		return nil, fmt.Errorf("damaged zip: the list of its members is longer than %d bytes", maxDirectory)
	}
	if err != nil {
		return nil, fmt.Errorf("damaged zip: %w", err)
	}
	directory.left = math.MaxInt64
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
		if f.UncompressedSize64 > left || f.UncompressedSize64/maxInflate > uint64(size) {
			return nil, fmt.Errorf("zip member %.60q claims to unpack to %d bytes; all together may have %d", f.Name, f.UncompressedSize64, maxUnpacked)
		}
		left -= f.UncompressedSize64
		members = append(members, Member{Name: name, file: f})
	}
	return members, nil
}

// Open hands use a reader of the member's .npy file. The error names the member.
func (m *Member) Open(use func(*Reader) error) error {
	err := m.open(use)
	if err != nil {
		return fmt.Errorf("zip member %.60q: %w", m.file.Name, err)
	}
	return nil
}

func (m *Member) open(use func(*Reader) error) error {
	f, err := m.file.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := NewReader(f, int64(m.file.UncompressedSize64), true)
	if err != nil {
		return err
	}
	return use(r)
}

// bounded lets left bytes be read.
type bounded struct {
	io.ReaderAt
	left int64
}

func (b *bounded) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errors.New("too long")
	}
	return b.ReaderAt.ReadAt(p, at)
}
