package injection

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what a text does.
type Kind string

// The kinds.
const (
	Order      Kind = "order"             // it tells the reader to leave its task or its rules
	Imitation  Kind = "imitation"         // it looks like a message of the system, the user or a tool
	Leak       Kind = "leak"              // it asks for secrets to be sent somewhere
	Link       Kind = "link"              // an image or a link would carry what was said
	Hidden     Kind = "hidden text"       // orders where a person sees nothing
	Characters Kind = "hidden characters" // characters that are not seen, and spell something
	Turned     Kind = "turned text"       // a person reads it in another order
	Encoded    Kind = "encoded text"      // orders that have to be decoded first
	Unread     Kind = "unread text"       // more than is looked at; Judge says so by Whole
)

// Finding is one place that looks like an attempt.
type Finding struct {
	Kind Kind
	At   int // in the text, in bytes
	// Quote is a little of it, for people: escaped, short, without spaces, so that it is
	// an order to nobody. It is never shown to a model.
	Quote string
}

// Report is what was found.
type Report struct {
	Findings []Finding
	Whole    bool // all of the text was looked at
	steps    int  // what it cost
}

// Hit holds for a text that looks like an attempt.
func (r Report) Hit() bool { return len(r.Findings) > 0 }

// maxFindings bounds what is said of one text.
const maxFindings = 16

// add keeps a finding. One of the same kind nearby is the same.
func (r *Report) add(f Finding) {
	const near = 600
	for _, o := range r.Findings {
		if o.Kind == f.Kind && o.At-f.At < near && f.At-o.At < near {
			return
		}
	}
	if len(r.Findings) < maxFindings {
		r.Findings = append(r.Findings, f)
	}
}

// quote is a little of a text that cannot act on whoever reads it: no control or hidden
// characters, and no spaces.
func quote(text string) string {
	const most = 48
	var b strings.Builder
	n, gap := 0, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			gap = n > 0
			continue
		case r == utf8.RuneError, r == '`', r == '"', Invisible(r), !unicode.IsPrint(r), unicode.Is(unicode.Cf, r), isSelector(r):
			r = '?'
		}
		if gap {
			b.WriteByte('_')
			gap = false
			n++
		}
		if n >= most {
			b.WriteString("..")
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
