// Package model is a scripted model: it tells an agent which of its tools to use and
// remembers what came of it. It speaks as much of each vendor's protocol as the
// agents need for that, and takes down every request as it arrived, so that a test
// can tell what reached the model and under whose name.
package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Call is the use of one tool.
type Call struct {
	Tool  string
	Input map[string]any
}

// Turn is an answer: calls of tools, or else text.
type Turn struct {
	Calls []Call
	Text  string
}

// Request is one as it came.
type Request struct {
	Method, Path string // with the query
	Head         http.Header
	Body         []byte
	At           time.Time
	Turn         int // the number of the turn that answered it, -1 for none
}

// Model answers from a script, one turn a request; the last one is repeated.
type Model struct {
	prompt []byte

	mu    sync.Mutex
	turns []Turn
	next  int
	seen  []Request
}

// New makes a model that plays a script in the conversation that has this prompt.
// What is asked beside it, it answers and takes down.
func New(prompt string, turns ...Turn) *Model { return &Model{prompt: []byte(prompt), turns: turns} }

// Add adds to the script.
func (m *Model) Add(turns ...Turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = append(m.turns, turns...)
}

// maxRequest bounds what an agent sends at once: its instructions and its tools.
const maxRequest = 32 << 20

// dialect is a protocol.
type dialect struct {
	path    string // how the path of a request ends
	write   func(w *stream, turn int, t Turn)
	results func(body []byte) map[string]string // of calls, by their names
}

var dialects = []dialect{
	{"/v1/messages", messages, messagesResults},
	{"/v1/responses", responses, responsesResults},
	{"/v1/chat/completions", completions, completionsResults},
	{"/v1internal:streamGenerateContent", assisted, contentResults}, // before the next, which it ends like
	{":streamGenerateContent", content, contentResults},
}

func dialectOf(method, path string) *dialect {
	path, _, _ = strings.Cut(path, "?")
	for i := range dialects {
		if method == http.MethodPost && strings.HasSuffix(path, dialects[i].path) {
			return &dialects[i]
		}
	}
	return nil
}

// ServeHTTP answers in the protocol that the path names.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q := Request{Method: r.Method, Path: r.RequestURI, Head: r.Header.Clone(), Body: body, At: time.Now(), Turn: -1}
	d := dialectOf(r.Method, r.RequestURI)
	if d == nil {
		m.note(q)
		plain(w, r)
		return
	}
	turn, t := m.answer(q)
	w.Header().Set("Content-Type", "text/event-stream")
	d.write(&stream{w}, turn, t)
}

// answer takes the next turn. A request that offers no tools is not the conversation
// but the agent's own business, such as a title for it.
func (m *Model) answer(q Request) (int, Turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !bytes.Contains(q.Body, m.prompt) || !offersTools(q.Body) {
		m.seen = append(m.seen, q)
		return 0, Turn{Text: "a title"}
	}
	q.Turn = min(m.next, len(m.turns)-1)
	m.seen = append(m.seen, q)
	m.next++
	return q.Turn, m.turns[q.Turn]
}

// offersTools looks where the protocols have them. Codex may list them as part of what
// was said.
func offersTools(body []byte) bool {
	type tools struct{ Tools []json.RawMessage }
	var ask struct {
		tools
		Request tools // of Code Assist
		Input   json.RawMessage
	}
	if json.Unmarshal(body, &ask) != nil {
		return false
	}
	var items []tools
	n := len(ask.Tools) + len(ask.Request.Tools)
	if json.Unmarshal(ask.Input, &items) == nil {
		for _, item := range items {
			n += len(item.Tools)
		}
	}
	return n > 0
}

func (m *Model) note(q Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, q)
}

// plain answers what an agent asks beside the model.
func plain(w http.ResponseWriter, r *http.Request) {
	known := map[string]string{
		"/":                              `{}`,
		"/v1/messages/count_tokens":      `{"input_tokens": 1}`,
		"/v1internal:loadCodeAssist":     `{"currentTier": {"id": "free-tier", "name": "free"}, "allowedTiers": [], "cloudaicompanionProject": "scripted"}`,
		"/v1internal:retrieveUserQuota":  `{}`,
		"/v1internal:listExperiments":    `{}`,
		"/v1internal:fetchAdminControls": `{}`,
	}
	w.Header().Set("Content-Type", "application/json")
	text, ok := known[r.URL.Path]
	switch {
	case ok:
	case strings.HasSuffix(r.URL.Path, ":generateContent"):
		text = `{"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "a title"}]}}]}`
		if strings.HasPrefix(r.URL.Path, "/v1internal") {
			text = `{"response": ` + text + `}`
		}
	default:
		w.WriteHeader(http.StatusNotFound)
		text = `{"type": "error", "error": {"type": "not_found_error", "message": "there is nothing here"}}`
	}
	fmt.Fprintln(w, text)
}

// Requests are those that came so far.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.seen)
}

// Result is what the agent said came of a call, by the numbers of its turn and of
// the call in it; false if it said nothing.
func (m *Model) Result(turn, call int) (string, bool) {
	name := callName(turn, call)
	for _, q := range slices.Backward(m.Requests()) {
		if d := dialectOf(q.Method, q.Path); d != nil && q.Turn > turn {
			if text, ok := d.results(q.Body)[name]; ok {
				return text, true
			}
		}
	}
	return "", false
}

// callName names a call as the protocols want it.
func callName(turn, call int) string { return fmt.Sprintf("call_%d_%d", turn, call) }

// Beside reports whether a text was in a request that is not the conversation.
func (m *Model) Beside(text string) bool {
	for _, q := range m.Requests() {
		head := fmt.Sprint(q.Path, q.Head)
		if strings.Contains(head, text) || bytes.Contains(q.Body, []byte(text)) && !bytes.Contains(q.Body, m.prompt) {
			return true
		}
	}
	return false
}
