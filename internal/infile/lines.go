package infile

import (
	"bufio"
	"fmt"
	"io"
	"slices"
)

// Lines reads a file line by line, in memory that does not grow with it.
type Lines struct {
	r    *bufio.Reader
	most int
	long []byte
}

// NewLines reads lines of up to most bytes, their ends included.
func NewLines(r io.Reader, most int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, min(most, 1<<16)), most: most}
}

// Next is the next line with its end, valid until the next call. whole says that it has one, which
// the last may lack. Behind the last the error is io.EOF.
func (l *Lines) Next() (line []byte, whole bool, err error) {
	line, err = l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		l.long = append(l.long[:0], line...)
		for err == bufio.ErrBufferFull && len(l.long) <= l.most {
			line, err = l.r.ReadSlice('\n')
			if cap(l.long)-len(l.long) < len(line) { // twice as long, as append grows by less and leaves more behind; no more than is read
				l.long = slices.Grow(l.long, min(len(l.long), l.most-len(l.long))+len(line))
			}
			l.long = append(l.long, line...)
		}
		line = l.long
	}
	switch {
	case err == bufio.ErrBufferFull, len(line) > l.most:
		return nil, false, fmt.Errorf("a line has more than %d bytes", l.most)
	case err == io.EOF && len(line) > 0:
		return line, false, nil
	case err != nil:
		return nil, false, err
	}
	return line, true, nil
}
