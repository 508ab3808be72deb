package serviceapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// websocket stands in a rule for the upgrade of a connection.
const websocket = "WEBSOCKET"

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", websocket}

// rule is one line: methods and a pattern of paths.
type rule struct {
	methods []string // none: all
	pattern []string
	lower   []string // the pattern in small letters
	text    string   // as it was written
	reason  string   // for a denial of ours
	body    func(object) string
	learn   func([]byte) // see Decision
}

// parseRule reads "GET,POST /path/**". In a pattern "*" stands for a run of
// characters within one segment, "**" for any number of whole segments, "{n}"
// for digits, "{pkg}" for a package of npm with or without a scope, "{project}"
// for a project of GitLab, and "{}" for any segment, with encoded slashes or not.
func parseRule(text string) (rule, error) {
	verbs, rest, found := strings.Cut(text, " ")
	if !found || !strings.HasPrefix(rest, "/") || strings.ContainsAny(rest, " \t?#%;\\") {
		return rule{}, fmt.Errorf("%q is not of the form \"METHOD /path\"", text)
	}
	r := rule{text: text}
	if verbs != "*" {
		r.methods = strings.Split(verbs, ",")
	}
	for _, m := range r.methods {
		if !slices.Contains(methods, m) {
			return rule{}, fmt.Errorf("%q: method %q is not known", text, m)
		}
	}
	rest = strings.TrimSuffix(rest[1:], "/")
	if rest == "" {
		return r, nil
	}
	r.pattern = strings.Split(rest, "/")
	for _, p := range r.pattern {
		if err := checkPattern(p); err != nil {
			return rule{}, fmt.Errorf("%q: %w", text, err)
		}
	}
	if len(r.pattern) > maxSegments {
		return rule{}, fmt.Errorf("%q: more than %d segments", text, maxSegments)
	}
	r.lower = strings.Split(strings.ToLower(rest), "/")
	return r, nil
}

func checkPattern(p string) error {
	switch {
	case p == "" || p == "." || p == "..":
		return errors.New("an empty or a dot segment")
	case p != "**" && strings.Contains(p, "**"):
		return errors.New("** stands for whole segments")
	case strings.ContainsAny(p, "{}") && !slices.Contains([]string{"{}", "{n}", "{pkg}", "{project}"}, p):
		return errors.New("braces hold nothing, n, pkg or project")
	}
	return nil
}

func (r rule) speaksOf(method string) bool {
	return len(r.methods) == 0 && method != websocket || slices.Contains(r.methods, method)
}

// allows is strict: one spelling, one case, and encoded slashes only where the
// rule says so.
func (r rule) allows(method string, p path) bool {
	return r.speaksOf(method) && match(r.pattern, p.segs, false)
}

// denies is loose: any case, and an encoded slash is taken both ways. What it is
// given are the spellings of the path.
func (r rule) denies(method string, spellings [][]segment) bool {
	return (r.speaksOf(method) || len(r.methods) == 0) &&
		slices.ContainsFunc(spellings, func(segs []segment) bool { return match(r.lower, segs, true) })
}

// match walks pattern and path together; on a mismatch it goes back to the last
// "**" and lets it take one segment more.
func match(pattern []string, segs []segment, loose bool) bool {
	p, s := 0, 0
	star, mark := -1, 0
	for s < len(segs) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, mark = p, s
			p++
		case p < len(pattern) && matchSegment(pattern[p], segs[s], loose):
			p++
			s++
		case star >= 0 && (loose || !segs[mark].slash):
			mark++
			p, s = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

func matchSegment(pattern string, seg segment, loose bool) bool {
	text := seg.text
	switch {
	case pattern == "{}":
		return true
	case strings.HasPrefix(pattern, own): // a repository of the session
		return lowerASCII(text) == lowerASCII(strings.ReplaceAll(pattern[len(own):], ownSlash, "/"))
	case pattern == "{pkg}": // of npm; "-" is where the registry's API begins
		return text != "-" && seg.slash == strings.HasPrefix(text, "@") && strings.Count(text, "/") <= 1
	case pattern == "{project}": // of GitLab; decoded, "42/variables" is no project
		first, _, _ := strings.Cut(text, "/")
		return seg.slash != digits(first)
	case seg.slash && !loose:
		return false
	case pattern == "{n}":
		return loose || digits(text)
	}
	return file.Star(pattern, text)
}

// lowerASCII folds what forges fold in names, and nothing else: Unicode has
// letters that fold into ASCII ones.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
