package infile

import "bytes"

// Unmarked is text without the byte order mark in front that editors on Windows write into UTF-8.
func Unmarked(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) }
