package serviceapi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxPath     = 4096
	maxSegments = 128
)

// segment is what stands between two slashes, decoded.
type segment struct {
	text  string
	slash bool // it holds a slash that was sent as %2F
}

// path is a request's path in the one spelling that is accepted.
type path struct {
	segs []segment
	dir  bool // it ends in a slash
}

// parsePath reads an escaped path. Two spellings of one path are two ways round
// a rule, so all but one are refused. slashes admits %2F inside a segment; it is
// then for the rule to say where.
func parsePath(raw string, slashes bool) (path, error) {
	switch {
	case len(raw) > maxPath:
		return path{}, fmt.Errorf("the path is longer than %d bytes", maxPath)
	case !strings.HasPrefix(raw, "/"):
		return path{}, errors.New("the path does not begin with a slash")
	case raw == "/":
		return path{}, nil
	}
	var p path
	rest := raw[1:]
	if strings.HasSuffix(rest, "/") {
		p.dir, rest = true, rest[:len(rest)-1]
	}
	for _, part := range strings.Split(rest, "/") {
		seg, err := parseSegment(part)
		if err != nil {
			return path{}, err
		}
		if seg.slash && !slashes {
			return path{}, errors.New("the path holds an encoded slash")
		}
		if p.segs = append(p.segs, seg); len(p.segs) > maxSegments {
			return path{}, fmt.Errorf("the path has more than %d segments", maxSegments)
		}
	}
	return p, nil
}

func parseSegment(raw string) (segment, error) {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '%' {
			if !unreserved(c) && strings.IndexByte("!$&'()*+,=:@", c) < 0 {
				return segment{}, fmt.Errorf("the path holds %q", c)
			}
			b.WriteByte(c)
			continue
		}
		n, err := strconv.ParseUint(raw[i+1:min(i+3, len(raw))], 16, 8)
		if err != nil || i+3 > len(raw) {
			return segment{}, errors.New("the path holds a broken escape")
		}
		d := byte(n)
		if unreserved(d) || d < 0x20 || d == 0x7f || d == '\\' || d == '%' || d == ';' {
			return segment{}, fmt.Errorf("the path holds the escape %q", raw[i:i+3])
		}
		b.WriteByte(d)
		i += 2
	}
	seg := segment{text: b.String(), slash: strings.Contains(b.String(), "/")}
	if !utf8.ValidString(seg.text) {
		return segment{}, errors.New("the path is not UTF-8")
	}
	for part := range strings.SplitSeq(seg.text, "/") {
		if part == "" || part == "." || part == ".." {
			return segment{}, errors.New("the path holds an empty or a dot segment")
		}
	}
	return seg, nil
}

// spellings are the path in small letters: as it is and, where it holds encoded
// slashes, as a careless server would take it.
func (p path) spellings() [][]segment {
	var as, split []segment
	for _, seg := range p.segs {
		seg.text = strings.ToLower(seg.text)
		as = append(as, seg)
		for part := range strings.SplitSeq(seg.text, "/") {
			split = append(split, segment{text: part})
		}
	}
	if len(split) == len(as) {
		return [][]segment{as}
	}
	return [][]segment{as, split}
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
