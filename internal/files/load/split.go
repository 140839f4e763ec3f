package load

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// segment is the text between two document markers.
type segment struct {
	// text without the marker; what followed the marker on its line stands at
	// the start.
	text []byte
	// line of the file that text begins on, counted from 1.
	line int
}

// errTooLarge is what segments ends with where a segment passes maxJSON.
var errTooLarge = errors.New("too large")

// segments splits a file at lines that begin with --- or ..., followed by white
// space or the end of the line. YAML allows these nowhere else: where they stand
// in a block scalar they are indented. Line endings may be LF or CRLF, and a
// byte order mark is taken off. One segment is held at a time.
func segments(r io.Reader) iter.Seq2[segment, error] {
	return func(yield func(segment, error) bool) {
		reader := bufio.NewReaderSize(r, 64<<10)
		current := segment{line: 1}
		for line := 1; ; line++ {
			start := len(current.text)
			text, err := appendLine(current.text, reader)
			if line == 1 {
				text = bytes.TrimPrefix(text, []byte("\uFEFF"))
			}
			if rest, ok := marker(text[start:]); ok {
				if !yield(segment{text[:start:start], current.line}, nil) {
					return
				}
				text = bytes.Clone(rest)
				current.line = line
			}
			current.text = text
			switch {
			case errors.Is(err, io.EOF):
				yield(current, nil)
				return
			case err != nil:
				yield(segment{}, err)
				return
			}
		}
	}
}

// appendLine appends the next line, its ending included.
func appendLine(to []byte, reader *bufio.Reader) ([]byte, error) {
	for {
		part, err := reader.ReadSlice('\n')
		to = append(to, part...)
		if len(to) > maxJSON {
			return to, errTooLarge
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return to, err
		}
	}
}

// marker reports whether the line is a document marker, and returns what follows
// the marker. Nothing may follow `...` but a comment; if something does, it is
// kept, so that it is not lost but refused.
func marker(line []byte) ([]byte, bool) {
	for _, mark := range [...]string{"---", "..."} {
		rest, ok := bytes.CutPrefix(line, []byte(mark))
		if ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0) {
			return rest, true
		}
	}
	return nil, false
}

// isBlank reports whether the text holds nothing but white space, comments and
// YAML directives.
func isBlank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("%")) {
			continue
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}
