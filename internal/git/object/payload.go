package object

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxPayload bounds what Parse takes.
	MaxPayload = 1 << 20
	maxParents = 128  // the widest merge known has 66
	maxHeaders = 4096 // lines of further headers: a mergetag is a whole tag
	maxName    = 1024
)

// Object is a commit or a tag that has no signature yet.
type Object struct {
	Type    Type   // Commit or Tag
	Tree    ID     // of a commit
	Parents []ID   // of a commit
	Author  Person // of a commit
	Maker   Person // the committer, or the tagger

	Target     ID   // of a tag
	TargetType Type // of a tag
	Name       string

	Encoding string   // "" is UTF-8
	Headers  []string // names of further headers, as they came
	Message  string
}

// ErrSigned says that a payload carries a signature already.
var ErrSigned = errors.New("it carries a signature already")

// Parse reads the whole of b as a commit or a tag.
func Parse(b []byte) (*Object, error) {
	switch {
	case len(b) > MaxPayload:
		return nil, fmt.Errorf("longer than %d bytes", MaxPayload)
	case bytes.IndexByte(b, 0) >= 0:
		return nil, errors.New("NUL byte")
	}
	head, message, ok := strings.Cut(string(b), "\n\n")
	if !ok {
		return nil, errors.New("no blank line after the headers")
	}
	r := &headers{lines: strings.Split(head, "\n")}
	o, err := r.object()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", r.at, err)
	}
	if err := o.takeMessage(message); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	if o.Encoding == "" && !utf8.Valid(b) {
		return nil, errors.New("not UTF-8, and no other encoding is declared")
	}
	return o, nil
}

// headers are the lines before the first blank one. None of them is empty, but
// the first may be.
type headers struct {
	lines []string
	at    int // the line last looked at, from 1
}

// next returns the value of the next header if it is the one called name.
func (h *headers) next(name string) (string, bool) {
	if len(h.lines) == 0 {
		return "", false
	}
	value, ok := strings.CutPrefix(h.lines[0], name+" ")
	if ok {
		h.lines = h.lines[1:]
		h.at++
	}
	return value, ok
}

// need reads the header called name with parse.
func need[T any](h *headers, name string, parse func(string) (T, error)) (v T, err error) {
	value, ok := h.next(name)
	if !ok {
		h.at++
		return v, fmt.Errorf("expected the header %s", name)
	}
	if v, err = parse(value); err != nil {
		return v, fmt.Errorf("header %s: %w", name, err)
	}
	return v, nil
}

func (h *headers) object() (*Object, error) {
	if strings.HasPrefix(h.lines[0], "object ") {
		return h.tag()
	}
	return h.commit()
}

func (h *headers) commit() (*Object, error) {
	o := &Object{Type: Commit}
	var err error
	if o.Tree, err = need(h, "tree", ParseID); err != nil {
		return nil, err
	}
	for {
		value, ok := h.next("parent")
		if !ok {
			break
		}
		id, err := ParseID(value)
		switch {
		case err != nil:
			return nil, fmt.Errorf("header parent: %w", err)
		case id.size != o.Tree.size:
			return nil, errors.New("header parent: not the same kind of id as the tree's")
		case len(o.Parents) == maxParents:
			return nil, fmt.Errorf("more than %d parents", maxParents)
		}
		o.Parents = append(o.Parents, id)
	}
	if o.Author, err = need(h, "author", parsePerson); err != nil {
		return nil, err
	}
	if o.Maker, err = need(h, "committer", parsePerson); err != nil {
		return nil, err
	}
	if value, ok := h.next("encoding"); ok {
		if !isEncoding(value) {
			return nil, fmt.Errorf("encoding %q is not one that keeps ASCII", clip(value))
		}
		o.Encoding = value
	}
	o.Headers, err = h.others()
	return o, err
}

func (h *headers) tag() (*Object, error) {
	o := &Object{Type: Tag}
	var err error
	if o.Target, err = need(h, "object", ParseID); err != nil {
		return nil, err
	}
	if o.TargetType, err = need(h, "type", parseType); err != nil {
		return nil, err
	}
	if o.Name, err = need(h, "tag", parseTagName); err != nil {
		return nil, err
	}
	if o.Maker, err = need(h, "tagger", parsePerson); err != nil {
		return nil, err
	}
	if len(h.lines) > 0 {
		h.at++
		return nil, errors.New("a tag has no header after tagger")
	}
	return o, nil
}

// ours are headers with one place, which is not among the further ones.
var ours = map[string]bool{"tree": true, "parent": true, "author": true, "committer": true, "encoding": true,
	"object": true, "type": true, "tag": true, "tagger": true}

// others reads what may follow in a commit: mergetag, and what other tools write
// and git keeps when it amends. A line that starts with a space continues the one
// before.
func (h *headers) others() ([]string, error) {
	var names []string
	for i, line := range h.lines {
		h.at++
		if i == maxHeaders {
			return nil, fmt.Errorf("more than %d lines of further headers", maxHeaders)
		}
		if err := isText(line, "\t"); err != nil {
			return nil, err
		}
		if line[0] == ' ' && i > 0 {
			continue
		}
		name, _, ok := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(strings.ToLower(name), "gpgsig"):
			return nil, ErrSigned
		case !ok || !isHeaderName(name):
			return nil, errors.New("not a header")
		case ours[strings.ToLower(name)]:
			return nil, fmt.Errorf("header %s is out of place", name)
		}
		names = append(names, name)
	}
	return names, nil
}

func isHeaderName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || !isDigit(s[i]) && !strings.ContainsRune("-_:.", rune(s[i]))) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func parseType(s string) (Type, error) {
	if t := Type(s); t.known() {
		return t, nil
	}
	return "", errors.New("not a type of object")
}

// signatures start what git takes for the end of a tag's message.
var signatures = []string{"-----BEGIN PGP SIGNATURE-----", "-----BEGIN PGP MESSAGE-----", "-----BEGIN SSH SIGNATURE-----", "-----BEGIN SIGNED MESSAGE-----"}

func (o *Object) takeMessage(s string) error {
	switch {
	case strings.HasPrefix(s, "\n"):
		return errors.New("it starts with a blank line")
	case strings.Contains(strings.ReplaceAll(s, "\r\n", "\n"), "\r"):
		return errors.New("a carriage return that ends no line")
	}
	if o.Type == Tag {
		for line := range strings.Lines(s) {
			for _, begin := range signatures {
				if strings.HasPrefix(line, begin) {
					return ErrSigned
				}
			}
		}
	}
	o.Message = s
	return nil
}

// Subject is the first line of the message, fit to be shown: printable, and no
// longer than limit bytes.
func (o *Object) Subject(limit int) string {
	line, _, _ := strings.Cut(o.Message, "\n")
	return printable(strings.TrimSpace(line), limit)
}
