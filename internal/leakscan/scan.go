package leakscan

import (
	"fmt"
	"io"
)

// Scanner reads one direction of one connection.
type Scanner struct {
	index *index
	tail  []byte // the end of what went by: less than the longest run that counts
	keep  int
}

// Scanner returns one that has seen nothing yet.
func (s *Set) Scanner() *Scanner {
	x := s.pieces()
	keep := 0
	for i := range x.spans {
		keep = max(keep, x.spans[i].need-1)
	}
	return &Scanner{index: x, keep: keep}
}

// Scan tells whether a secret has gone by with this chunk, in whole or in part, with
// what went before it or alone. It is the first one found, not the first in the
// stream. The chunk is neither kept nor changed.
func (s *Scanner) Scan(chunk []byte) (name, form string, found bool) {
	if s.keep == 0 {
		return "", "", false
	}
	var m match
	first := func(hit match) bool {
		m, found = hit, true
		return false
	}
	if len(s.tail) > 0 { // runs that begin before the chunk
		s.tail = append(s.tail, chunk[:min(len(chunk), s.keep)]...)
		s.index.each(s.tail, first)
	}
	if !found {
		s.index.each(chunk, first)
	}
	s.remember(chunk)
	if !found {
		return "", "", false
	}
	return m.name, m.form, true
}

// remember keeps the end of the stream. The tail has the beginning of the chunk in
// it already, unless it was empty.
func (s *Scanner) remember(chunk []byte) {
	if len(chunk) >= s.keep || len(s.tail) == 0 {
		s.tail = append(s.tail[:0], chunk[max(0, len(chunk)-s.keep):]...)
		return
	}
	if over := len(s.tail) - s.keep; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
}

// Format keeps what went by out of whatever prints a Scanner.
func (*Scanner) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, "scanner") }

// Find looks through bytes that are all there is.
func (s *Set) Find(b []byte) (name, form string, found bool) { return s.Scanner().Scan(b) }
