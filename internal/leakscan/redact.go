package leakscan

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// redactor hides secrets in a stream. It holds back what may be the beginning of one,
// and nothing else.
type redactor struct {
	index   *index
	first   [256]bool // bytes with which a spelling begins
	longest int

	held    []byte // as it came
	covered int    // so many bytes of it lie in a secret that began before
	runs    []match
	joined  []byte
	hidden  map[string]bool
}

func (s *Set) redactor() redactor {
	r := redactor{index: s.wholes(), hidden: map[string]bool{}}
	for i := range r.index.spans {
		text := r.index.spans[i].text
		r.first[text[0]] = true
		r.longest = max(r.longest, len(text))
	}
	return r
}

// push takes a chunk and returns what can go on. That is valid until the next call.
// It may be the chunk, in which nothing is changed unless it is ours.
func (r *redactor) push(chunk []byte, ours bool) []byte {
	if len(r.held) > 0 {
		r.joined = append(append(r.joined[:0], r.held...), chunk...)
		chunk, ours = r.joined, true
	}
	r.find(chunk)
	free := len(chunk) - r.open(chunk)
	r.held = append(r.held[:0], chunk[free:]...)
	if !ours && len(r.runs) > 1 {
		chunk = slices.Clone(chunk)
	}
	r.hide(chunk[:free])
	return chunk[:free]
}

// find notes what is to be hidden in b, which begins with what was held back.
func (r *redactor) find(b []byte) {
	r.runs = append(r.runs[:0], match{from: -1, to: r.covered})
	r.index.each(b, func(m match) bool {
		r.runs = append(r.runs, m)
		r.hidden[m.name] = true
		return true
	})
}

// hide hides what was found, as far as it goes on. What is held back must stay as it
// is: it is looked through again.
func (r *redactor) hide(free []byte) {
	r.covered = 0
	for _, m := range r.runs {
		for i := max(m.from, 0); i < min(m.to, len(free)); i++ {
			free[i] = '*'
		}
		if m.from < len(free) {
			r.covered = max(r.covered, m.to-len(free))
		}
	}
}

// open is how many bytes at the end of b a secret may begin with.
func (r *redactor) open(b []byte) int {
	for i := max(0, len(b)-r.longest+1); i < len(b); i++ {
		if !r.first[b[i]] {
			continue
		}
		for k := range r.index.spans {
			text := r.index.spans[k].text
			if n := len(b) - i; n < len(text) && text[:n] == string(b[i:]) {
				return n
			}
		}
	}
	return 0
}

// rest returns what is held back when nothing more comes.
func (r *redactor) rest() []byte {
	r.find(r.held)
	r.hide(r.held)
	out := r.held
	r.held = nil
	return out
}

// Format keeps what is held back out of whatever prints a Writer or Reader.
func (r *redactor) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, "redactor") }

// Hidden names the secrets that were hidden so far, sorted.
func (r *redactor) Hidden() []string {
	var names []string
	for name := range r.hidden {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Writer passes on what is written to it, with as many asterisks for each secret.
type Writer struct {
	redactor
	w io.Writer
}

// Writer returns one that writes to w. Close it at the end.
func (s *Set) Writer(w io.Writer) *Writer { return &Writer{s.redactor(), w} }

// Write passes p on at once, but for what may be the beginning of a secret.
func (w *Writer) Write(p []byte) (int, error) {
	if out := w.push(p, false); len(out) > 0 {
		if _, err := w.w.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Close writes what was held back. It does not close what is written to.
func (w *Writer) Close() error {
	_, err := w.w.Write(w.rest())
	return err
}

// Reader reads from another one, with as many asterisks for each secret.
type Reader struct {
	redactor
	r     io.Reader
	ready []byte // can be read
	err   error  // comes after it
}

// Reader returns one that reads from r.
func (s *Set) Reader(r io.Reader) *Reader { return &Reader{redactor: s.redactor(), r: r} }

// Read returns what has come, but for what may be the beginning of a secret.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.err != nil || len(p) == 0 {
			return 0, r.err
		}
		n, err := r.r.Read(p)
		r.ready = r.push(p[:n], true)
		if err != nil {
			r.ready, r.err = append(bytes.Clone(r.ready), r.rest()...), err
		} else if n == 0 {
			return 0, nil
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// Redact is for text that is all there is, such as the value of a header.
func (s *Set) Redact(text string) string {
	r := s.redactor()
	out := slices.Clone(r.push([]byte(text), true))
	return string(append(out, r.rest()...))
}
