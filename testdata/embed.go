// Package testdata holds the posteriors, images and properties of this project's
// own examples, so that a program has them without a checkout. README.md beside
// this file says what each is; make.sh makes them again.
package testdata

import "embed"

// Files are the examples, by the names they have in this folder: posteriors with
// the test images or the property file that go with them.
//
//go:embed cubic-128.npz
//go:embed glyphs-64-32-10.npz glyphs-64-24-24-10.npz glyphs-test-images-idx3-ubyte.gz glyphs-test-labels-idx1-ubyte.gz
//go:embed advisory-4-32-9.npz advisory-property.json
var Files embed.FS
