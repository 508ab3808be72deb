package strictjson

import (
	"fmt"
)

// The bounds. Requests of today's agents nest to about 20 and have objects of
// some dozens of members.
const (
	MaxDepth   = 128
	MaxMembers = 1 << 16 // of one object
)

// Visitor is told what a text holds, in its order. Names are those of members;
// elements of an array and the outermost value have the zero Text. What it is
// given lies in the text. An error of its ends the walk and is returned as it is.
type Visitor interface {
	// Enter opens an object or an array. If it returns false what is inside is
	// checked like all else, but not told, and there is no Leave.
	Enter(name Text, kind Kind) (bool, error)
	// Leave closes what was entered last.
	Leave()
	// Scalar is any other value.
	Scalar(name Text, value Scalar) error
}

// Error says what is wrong with a text, and where.
type Error struct {
	Offset int // in bytes
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("JSON, byte %d: %s", e.Offset, e.Reason) }

// Walk reads data, which has to be one JSON text. Errors about it are *Error.
// The visitor may have been told a part of a text that turns out to be wrong:
// what it has seen counts only if there is no error. Without a visitor (nil) the text
// is checked alone.
func Walk(data []byte, v Visitor) error {
	w := walker{data: data, v: v}
	w.space()
	if err := w.value(Text{}, v != nil, 0); err != nil {
		return err
	}
	w.space()
	if w.at != len(data) {
		return w.bad("something follows the value")
	}
	return nil
}

type walker struct {
	data []byte
	at   int
	v    Visitor

	names   []uint64 // of the objects that are open, outermost first
	scratch []byte   // for names with escapes
}

func (w *walker) bad(reason string) error { return &Error{w.at, reason} }

// peek returns the byte at hand, 0 at the end: 0 begins nothing in JSON.
func (w *walker) peek() byte {
	if w.at < len(w.data) {
		return w.data[w.at]
	}
	return 0
}

func (w *walker) space() {
	for w.at < len(w.data) {
		switch w.data[w.at] {
		case ' ', '\t', '\n', '\r':
			w.at++
		default:
			return
		}
	}
}

// value reads a value. told says whether the visitor hears of it.
func (w *walker) value(name Text, told bool, depth int) error {
	var s Scalar
	var err error
	switch c := w.peek(); c {
	case '{', '[':
		return w.nested(name, Kind(c), told, depth)
	case '"':
		s.Kind = String
		s.Text, err = w.text()
	case 't':
		s, err = w.literal(True, "true")
	case 'f':
		s, err = w.literal(False, "false")
	case 'n':
		s, err = w.literal(Null, "null")
	default:
		s.Kind = Number
		s.Text.raw, err = w.number()
	}
	if err != nil || !told {
		return err
	}
	return w.v.Scalar(name, s)
}

func (w *walker) nested(name Text, kind Kind, told bool, depth int) error {
	if depth == MaxDepth {
		return w.bad("nested too deeply")
	}
	inside := false
	if told {
		var err error
		if inside, err = w.v.Enter(name, kind); err != nil {
			return err
		}
	}
	w.at++
	read := w.object
	if kind == Array {
		read = w.array
	}
	if err := read(inside, depth+1); err != nil {
		return err
	}
	if inside {
		w.v.Leave()
	}
	return nil
}

func (w *walker) array(told bool, depth int) error {
	w.space()
	if w.peek() == ']' {
		w.at++
		return nil
	}
	for {
		w.space()
		if err := w.value(Text{}, told, depth); err != nil {
			return err
		}
		if more, err := w.more(']'); !more {
			return err
		}
	}
}

func (w *walker) object(told bool, depth int) error {
	w.space()
	if w.peek() == '}' {
		w.at++
		return nil
	}
	own := names{first: len(w.names)}
	defer func() { w.names = w.names[:own.first] }()
	for {
		w.space()
		name, err := w.name(&own)
		if err != nil {
			return err
		}
		w.space()
		if w.peek() != ':' {
			return w.bad("no colon after a name")
		}
		w.at++
		w.space()
		if err := w.value(name, told, depth); err != nil {
			return err
		}
		if more, err := w.more('}'); !more {
			return err
		}
	}
}

// more reads what follows a member or an element: a comma or the end.
func (w *walker) more(end byte) (bool, error) {
	w.space()
	switch w.peek() {
	case ',':
		w.at++
		return true, nil
	case end:
		w.at++
		return false, nil
	}
	return false, w.bad("neither a comma nor an end")
}

func (w *walker) literal(kind Kind, word string) (Scalar, error) {
	if end := w.at + len(word); end <= len(w.data) && string(w.data[w.at:end]) == word {
		raw := w.data[w.at:end]
		w.at = end
		return Scalar{kind, Text{raw: raw}}, nil
	}
	return Scalar{}, w.bad("no value")
}

func (w *walker) number() ([]byte, error) {
	start := w.at
	if w.peek() == '-' {
		w.at++
	}
	if w.peek() == '0' {
		w.at++
	} else if !w.digits() {
		return nil, w.bad("no value")
	}
	if w.peek() == '.' {
		w.at++
		if !w.digits() {
			return nil, w.bad("no digit after a point")
		}
	}
	if c := w.peek(); c == 'e' || c == 'E' {
		w.at++
		if c := w.peek(); c == '+' || c == '-' {
			w.at++
		}
		if !w.digits() {
			return nil, w.bad("no digit in an exponent")
		}
	}
	return w.data[start:w.at], nil
}

func (w *walker) digits() bool {
	start := w.at
	for c := w.peek(); c >= '0' && c <= '9'; c = w.peek() {
		w.at++
	}
	return w.at > start
}
