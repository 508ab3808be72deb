package model

import (
	"encoding/json"
	"fmt"
	"io"
)

// object is JSON to be sent.
type object map[string]any

// stream writes server-sent events.
type stream struct{ w io.Writer }

// event sends one; a name is part of some protocols.
func (s *stream) event(name string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		text = fmt.Appendf(nil, "%q", err)
	}
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", text)
}

// done ends a stream that has no event for it.
func (s *stream) done() { fmt.Fprint(s.w, "data: [DONE]\n\n") }

// arguments are those of a call, as the protocols that want a text write them.
func (c Call) arguments() string {
	text, err := json.Marshal(c.Input)
	if err != nil {
		return fmt.Sprintf("%q", err)
	}
	return string(text)
}
