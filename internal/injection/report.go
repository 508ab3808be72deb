package injection

import (
	"slices"
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
	// an order to nobody, and only the words that were recognised: what stands between
	// them, or behind = and :, may be somebody's secret. It is never shown to a model.
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

// said are the words of a match, with dots for the others.
func said(text string, ws []word, m match) string {
	var want meaning
	for _, s := range m.shape.steps {
		want |= s.is
	}
	i, _ := slices.BinarySearchFunc(ws, m.at, func(w word, at int32) int { return int(w.at - at) })
	var b strings.Builder
	var last int32
	for ; i < len(ws) && ws[i].end <= m.end && b.Len() < 200; i++ {
		w := &ws[i]
		if w.is&want == 0 {
			continue
		}
		if last > 0 && w.n > last+1 {
			b.WriteString(" ..")
		}
		if last = w.n; b.Len() > 0 {
			b.WriteByte(' ')
		}
		if w.part != "" {
			b.WriteString(w.part)
		} else {
			b.WriteString(bare(text[w.at:w.end]))
		}
	}
	return quote(b.String())
}

// bare is a word without what could be a value: of an address the host, of a setting the
// name.
func bare(word string) string {
	scheme, rest, ok := strings.Cut(word, "://")
	if !ok {
		if i := strings.IndexAny(word, "=:"); i > 0 {
			return word[:i]
		}
		return word
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if i := strings.LastIndexAny(scheme, "=:'\""); i >= 0 {
		scheme = scheme[i+1:]
	}
	return scheme + "://" + host
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
