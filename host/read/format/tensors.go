package format

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"psafe/host/model/audit"
	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// tensor is an array of a file that may have any name, of which only the header is read.
// refused says why its numbers cannot be read; it may still be named as one to ignore.
type tensor struct {
	lazy
	dtype   string
	refused error
}

// tensorFile is the arrays of a safetensors file or a .npz, with names that somebody else
// chose.
type tensorFile struct {
	// format is what Source.Format says of posteriors made of them.
	format string
	byName map[string]tensor
	file   int64
	// stored are the names in the order of a .npz.
	stored []string
}

// names lists the tensors in the order of the alphabet, numbers by their size.
func (t *tensorFile) names() []string {
	list := make([]string, 0, len(t.byName))
	for name := range t.byName {
		list = append(list, name)
	}
	slices.SortFunc(list, compareNatural)
	return list
}

var errOwn = errors.New("the file says itself what it holds: use it as it is, or psafe convert")

// openTensors recognises a file by its content and lists its arrays.
func openTensors(file blob) (*tensorFile, error) {
	head, err := file.head()
	switch {
	case err != nil:
		return nil, err
	case looksLikeSafetensors(head):
		header, data, err := openSafetensors(file)
		if err != nil {
			return nil, err
		}
		if header.psafe != "" {
			return nil, errOwn
		}
		byName, err := header.arrays(data)
		return &tensorFile{"safetensors with a map", byName, file.size, nil}, err
	case !bytes.HasPrefix(head, []byte("PK\x03\x04")):
		// What is refused by name gets the same words here.
		for _, f := range fileFormats {
			if f.name == "" && f.recognise(head) {
				_, err := f.parse(file)
				return nil, err
			}
		}
		return nil, fmt.Errorf("neither a safetensors file nor a .npz: save the arrays as one of these two")
	case bytes.Contains(head, []byte("/data.pkl")):
		return nil, fmt.Errorf("torch checkpoints are not read: %s", elsewhere)
	}
	members, err := npy.OpenZip(file, file.size)
	if err != nil {
		return nil, fmt.Errorf("%w: save it again, or get it again", err)
	}
	t := &tensorFile{"npz with a map", map[string]tensor{}, file.size, nil}
	for i := range members {
		if members[i].Name == metaName {
			return nil, errOwn
		}
		err := members[i].Open(func(r *npy.Reader) (err error) {
			t.byName[members[i].Name], err = lazyMember(&members[i], r)
			t.stored = append(t.stored, members[i].Name)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Import reads the arrays of a safetensors file or a .npz, of any names, as the map says
// (docs/files.md, "Files with names of their own"). The result is valid, of KindGaussian,
// with the numbers of the file; its Source is the file, and Format says that there was a map.
// References, unless it is "", is a .npz or safetensors file of inputs and logits by the framework
// (and mean and std of the inputs): the posterior carries them, and a map after which the network
// gives other logits is refused. Errors are one line that begins with the path of the file that
// is to be mended.
func Import(path, mapPath, references string) (*posterior.Posterior, error) {
	m, err := readMap(mapPath)
	if err != nil {
		return nil, &oneLine{mapPath, err}
	}
	refs, err := readReferences(references)
	if err != nil {
		return nil, err
	}
	var p *posterior.Posterior
	var n *contents
	sum, err := withFile(path, maxFile, func(file blob) error {
		t, err := openTensors(file)
		if err != nil {
			return err
		}
		if n, err = m.contents(t); err == nil {
			p, err = n.assemble(Options{})
		}
		return err
	})
	var mapped *mapError
	switch {
	case errors.As(err, &mapped):
		return nil, &oneLine{mapPath, err}
	case err != nil:
		return nil, &oneLine{path, err}
	}
	p.Source.Path, p.Source.SHA256 = path, sum
	if refs == nil {
		return p, nil
	}
	if err := refs.addTo(p, n); err != nil {
		return nil, &oneLine{references, err}
	}
	if _, err := audit.Compare(p); err != nil {
		return nil, &oneLine{mapPath, fmt.Errorf("it does not give what %s says: %w", references, err)}
	}
	return p, nil
}

// Suggest guesses a map for Import from the names and shapes of the arrays in a file. What
// neither tells stands as "?" in it, which Import refuses, unless references, a file as for
// Import, are given and one of the usual combinations gives its logits. notes say what to look at.
func Suggest(path, references string) (text []byte, notes []string, err error) {
	refs, err := readReferences(references)
	if err != nil {
		return nil, nil, err
	}
	_, err = withFile(path, maxFile, func(file blob) error {
		t, err := openTensors(file)
		if err == nil {
			text, notes, err = suggest(t, refs)
		}
		return err
	})
	if err != nil {
		return nil, nil, &oneLine{path, err}
	}
	return text, notes, nil
}

// compareNatural orders "layer2" before "layer10".
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == 0 || y == 0 {
			if a[0] != b[0] {
				return int(a[0]) - int(b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
		if len(m) != len(n) {
			return len(m) - len(n)
		}
		if c := strings.Compare(m, n); c != 0 {
			return c
		}
		a, b = a[x:], b[y:]
	}
	return len(a) - len(b)
}

// digits is how many digits text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}
