package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

// maxRequest bounds what an agent sends at once: its instructions and its tools.
const maxRequest = 16 << 20

// model answers from a script.
type model struct {
	mu     sync.Mutex
	script script
	next   int
	log    *os.File
}

// dialects are the protocols, by how the path of a request ends.
var dialects = []struct {
	path  string
	write func(w *stream, call string, t turn)
}{
	{"/v1/messages", messages},
	{"/v1/responses", responses},
	{"/v1/chat/completions", completions},
	{":streamGenerateContent", content},
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, d := range dialects {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, d.path) {
			t, call := m.answer(r.Header, body)
			w.Header().Set("Content-Type", "text/event-stream")
			d.write(&stream{w}, call, t)
			return
		}
	}
	if r.URL.Path != "/" {
		http.NotFound(w, r)
	}
}

// answer takes the next turn and a name for its call. A request that offers no
// tools is the agent's own business, such as a title for the conversation.
func (m *model) answer(head http.Header, body []byte) (turn, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ask struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(body, &ask); err != nil || len(ask.Tools) == 0 {
		return turn{Text: "a title"}, ""
	}
	line, err := json.Marshal(map[string]any{"head": head, "body": json.RawMessage(body)})
	if err == nil {
		_, err = m.log.Write(append(line, '\n'))
	}
	if err != nil {
		return turn{Text: "no record: " + err.Error()}, ""
	}
	t := m.script.Turns[min(m.next, len(m.script.Turns)-1)]
	m.next++
	return t, fmt.Sprintf("call_%d", m.next)
}

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
