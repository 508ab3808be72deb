package h2c

import (
	"cmp"
	"slices"
)

// maxOpen bounds the streams on which the client has not ended its half. Servers
// take some hundred at once. Streams that the server resets are not seen and stay in
// the count until the client says something about them; most clients do.
const maxOpen = 1024

// unknown is the length of a body that its request does not tell.
const unknown = -1

// streams are those that the client has opened and not ended.
type streams struct {
	last uint32 // the highest that was opened
	open []stream
}

// stream is an open one, with the bytes of its body that are still to come.
type stream struct {
	id   uint32
	left int64
}

// idle reports whether the client cannot know the stream yet. Streams of the server
// have even numbers and are none of our business.
func (s *streams) idle(id uint32) bool { return id%2 == 1 && id > s.last }

func (s *streams) find(id uint32) (int, bool) {
	return slices.BinarySearchFunc(s.open, id, func(o stream, id uint32) int { return cmp.Compare(o.id, id) })
}

// begin opens a stream with the body that its request tells.
func (s *streams) begin(id uint32, length int64, ends bool) error {
	s.last = id
	switch {
	case ends && length > 0:
		return malformed("a body is shorter than its content-length")
	case ends:
		return nil
	case len(s.open) == maxOpen:
		return malformed("there are too many open streams")
	}
	s.open = append(s.open, stream{id, length})
	return nil
}

// take counts n bytes of a body. One that is longer or shorter than its request says
// becomes two requests where an origin passes it on over HTTP/1.
func (s *streams) take(id uint32, n int, ends bool) error {
	i, ok := s.find(id)
	if !ok {
		return malformed("the stream is not open")
	}
	if o := &s.open[i]; o.left != unknown {
		if o.left -= int64(n); o.left < 0 || ends && o.left > 0 {
			return malformed("a body has another length than its content-length")
		}
	}
	if ends {
		s.open = slices.Delete(s.open, i, i+1)
	}
	return nil
}

// close ends a stream in whatever state it is.
func (s *streams) close(id uint32) {
	if i, ok := s.find(id); ok {
		s.open = slices.Delete(s.open, i, i+1)
	}
}
