// Package mcp reads the Model Context Protocol as it is spoken over stdio: one JSON-RPC
// message a line. It has three parts: a proxy that stands between an agent and a server
// and pins what the server tells of itself, a server of ringfence's own with tools that
// only look, and the client that an agent starts inside in place of a server.
//
// Both sides of the proxy may be hostile. A message is read more strictly than the
// protocol demands, so that whoever reads the same bytes after us can read nothing else
// into them: no name twice, no batches, no identifiers that could be taken for others.
// What passes goes on byte by byte; what does not is dropped and told.
//
// Left at risk: what an answer of a tool says. It is the server's word, and a model
// reads it.
package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"ringfence.dev/ringfence/internal/strictjson"
)

// Message is one message. A request has an ID and a Method, a notification a Method, a
// response an ID and a Result or an error.
type Message struct {
	ID      string // as it is written; "" if there is none
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Failure json.RawMessage
}

// IsRequest holds for a message that wants an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != "" }

// IsResponse holds for an answer.
func (m *Message) IsResponse() bool { return m.Method == "" }

// The codes of JSON-RPC.
const (
	codeParse   = -32700
	codeInvalid = -32600
	codeUnknown = -32601
	codeParams  = -32602
	codeRefused = -32001 // of ours
)

// Parse reads one message.
func Parse(line []byte) (*Message, error) {
	if err := strictjson.Walk(line, nil); err != nil {
		return nil, err
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(line, &top); err != nil {
		return nil, errors.New("a message is one object")
	}
	if top == nil {
		return nil, errors.New("a message is one object")
	}
	var m Message
	for name, raw := range top {
		var err error
		switch name {
		case "jsonrpc":
			if string(raw) != `"2.0"` {
				err = errors.New("jsonrpc is not 2.0")
			}
		case "id":
			m.ID, err = identifier(raw)
		case "method":
			m.Method, err = method(raw)
		case "params":
			m.Params = raw
		case "result":
			m.Result = raw
		case "error":
			m.Failure = raw
		default:
			err = fmt.Errorf("a message has no %.40q", name)
		}
		if err != nil {
			return nil, err
		}
	}
	if top["jsonrpc"] == nil {
		return nil, errors.New("jsonrpc is not 2.0")
	}
	return &m, m.shape()
}

// shape holds a message to one of the three kinds.
func (m *Message) shape() error {
	switch {
	case m.Method != "" && (m.Result != nil || m.Failure != nil):
		return errors.New("a request has no result")
	case m.Method != "":
		if len(m.Params) > 0 && m.Params[0] != '{' && m.Params[0] != '[' {
			return errors.New("params is an object")
		}
		return nil
	case m.ID == "" || m.Params != nil:
		return errors.New("neither a request nor a response")
	case (m.Result != nil) == (m.Failure != nil):
		return errors.New("a response has a result or an error")
	}
	return nil
}

// maxID bounds an identifier.
const maxID = 256

// identifier reads an id: a string, or an integer in its only spelling. 1, 1.0, 1e0 and
// "1" would be one to a reader that is less careful.
func identifier(raw []byte) (string, error) {
	bad := errors.New("id is neither a string nor an integer")
	switch {
	case len(raw) > maxID:
		return "", errors.New("id is too long")
	case raw[0] == '"':
		return string(raw), nil
	case string(raw) == "null": // of an answer to what could not be read
		return "null", nil
	}
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && len(raw) > 1 || len(bytes.Trim(digits, "0123456789")) > 0 {
		return "", bad
	}
	return string(raw), nil
}

func method(raw []byte) (string, error) {
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil || s == "" || len(s) > maxID {
		return "", errors.New("method is not a name")
	}
	return s, nil
}

// failure is the answer that says no.
func failure(id string, code int, text string) []byte {
	if id == "" {
		id = "null"
	}
	return encode(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "error": map[string]any{"code": code, "message": text}})
}

// success is the answer that says v.
func success(id string, v any) []byte {
	return encode(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "result": v})
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // ids were read as JSON, and the rest is ours
	}
	return append(b, '\n')
}
