// Package python holds psafe_export.py, which writes posteriors of Python's libraries as
// files that psafe reads: "psafe exporter" prints it, and docs/start.md shows its use.
package python

import _ "embed"

// Exporter is the text of psafe_export.py.
//
//go:embed psafe_export.py
var Exporter []byte
