package probe

import (
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Answer is what the battery prints.
type Answer struct {
	Error   string   `json:"error,omitempty"` // the target could not be read; no results
	Results []Result `json:"results"`
}

const maxDetail = 400

// DecodeAnswer reads an answer that may come out of a sandbox: no result twice,
// none of a probe that is not among names, and nothing in it that a terminal would
// obey.
func DecodeAnswer(r io.Reader, names []string) (map[string]Result, error) {
	var a Answer
	if err := decode(r, &a); err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	if a.Error != "" {
		return nil, errors.New(Plain(a.Error))
	}
	out := map[string]Result{}
	for _, name := range names {
		out[name] = Result{}
	}
	for _, res := range a.Results {
		known, ok := out[res.Name]
		if !ok || known.Name != "" {
			return nil, fmt.Errorf("decode answer: probe %q is unknown or answers twice", res.Name)
		}
		res.Detail = Plain(res.Detail)
		out[res.Name] = res
	}
	for name, res := range out {
		if res.Name == "" {
			delete(out, name)
		}
	}
	return out, nil
}

// Plain bounds a text and quotes it if a terminal could obey it.
func Plain(s string) string {
	if len(s) > maxDetail {
		s = s[:maxDetail] + "..."
	}
	for _, r := range s {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}
