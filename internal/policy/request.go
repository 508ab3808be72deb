package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// Request is a rule about requests:
//
//	GET /user              that path alone
//	GET,HEAD /repos/*/*    a star stands for one part of the path
//	* /v1/**               any method, and everything below /v1
type Request struct {
	Methods []string // none: all
	parts   []string
	below   bool // everything below the parts
}

// ParseRequest reads a rule as a person writes it.
func ParseRequest(s string) (Request, error) {
	var r Request
	if len(s) > maxHost {
		return r, fmt.Errorf("the rule has more than %d bytes", maxHost)
	}
	methods, path, ok := strings.Cut(s, " ")
	if !ok {
		return r, fmt.Errorf("%q is no request: write METHOD /PATH, or * /PATH for all methods", s)
	}
	if methods != "*" {
		r.Methods = strings.Split(methods, ",")
		for _, m := range r.Methods {
			if m == "" || strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
				return Request{}, fmt.Errorf("%q: %q is not a method", s, m)
			}
		}
	}
	if !address.PlainPath(path) {
		return Request{}, fmt.Errorf("%q: path %q is not plain: it begins with /, and has no query, no escapes and no dots", s, path)
	}
	path, r.below = strings.CutSuffix(path, "/**")
	if path == "" && r.below {
		return r, nil
	}
	r.parts = strings.Split(path[1:], "/")
	for _, p := range r.parts {
		if p != "*" && strings.Contains(p, "*") {
			return Request{}, fmt.Errorf("%q: %w", s, errors.New("a star is a whole part of a path, and two stand only at the end"))
		}
	}
	return r, nil
}

// Covers reports whether the rule is about a request. A path that is not plain is
// covered by no rule: who goes by denials refuses such a path before.
func (r Request) Covers(method, path string) bool {
	if len(r.Methods) > 0 && !slices.Contains(r.Methods, method) {
		return false
	}
	path, _, _ = strings.Cut(path, "?")
	if !address.PlainPath(path) {
		return false
	}
	parts := strings.Split(path[1:], "/")
	if len(parts) < len(r.parts) || !r.below && len(parts) > len(r.parts) {
		return false
	}
	for i, p := range r.parts {
		if p != parts[i] && (p != "*" || parts[i] == "") {
			return false
		}
	}
	return !r.below || len(parts) > len(r.parts)
}

func checkRequest(v string) error {
	_, err := ParseRequest(v)
	return err
}
