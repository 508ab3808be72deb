package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Tool is one that ringfence itself serves. Its arguments are strings.
type Tool struct {
	Name, About string
	Args        []Arg
	// Call answers with a text. An error is told to the agent as the tool's.
	Call func(args map[string]string) (string, error)
}

// Arg is an argument of a tool.
type Arg struct {
	Name, About string
	Words       []string // the only values; nil: any text
	Most        int      // bytes
	Optional    bool
}

// Serve answers an agent until its side ends. The tools only look: nothing that comes
// by here changes what the session may do.
func Serve(agent io.Reader, toAgent io.Writer, tools []Tool) error {
	in := newLines(agent, maxServed)
	for bad := 0; ; {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := Parse(line)
		var out []byte
		switch {
		case err != nil:
			if bad++; bad > maxBad {
				return errBad
			}
			out = failure("", codeParse, err.Error())
		case !m.IsRequest() || m.ID == "null":
			continue
		default:
			out = reply(m, tools)
		}
		if _, err := toAgent.Write(out); err != nil {
			return err
		}
	}
}

// maxServed bounds what an agent may say to us at once.
const maxServed = 64 << 10

// versions are those of the protocol that we speak, the newest first.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

func reply(m *Message, tools []Tool) []byte {
	switch m.Method {
	case "initialize":
		var q struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		version := versions[0]
		if json.Unmarshal(m.Params, &q) == nil && slices.Contains(versions, q.ProtocolVersion) {
			version = q.ProtocolVersion
		}
		return success(m.ID, map[string]any{"protocolVersion": version, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "ringfence", "version": "1"}, "instructions": instructions})
	case "ping":
		return success(m.ID, map[string]any{})
	case "tools/list":
		list := []any{}
		for _, t := range tools {
			list = append(list, t.describe())
		}
		return success(m.ID, map[string]any{"tools": list})
	case "tools/call":
		return call(m, tools)
	}
	return failure(m.ID, codeUnknown, "there is no such method here")
}

const instructions = "You run in a ringfence sandbox. These tools tell you what it allows. They cannot change it: only the person outside can."

func (t Tool) describe() map[string]any {
	props, required := map[string]any{}, []string{}
	for _, a := range t.Args {
		p := map[string]any{"type": "string", "description": a.About, "maxLength": a.Most}
		if a.Words != nil {
			p["enum"] = a.Words
		}
		props[a.Name] = p
		if !a.Optional {
			required = append(required, a.Name)
		}
	}
	return map[string]any{"name": t.Name, "description": t.About,
		"inputSchema": map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false},
		"annotations": map[string]any{"readOnlyHint": true, "openWorldHint": false}}
}

func call(m *Message, tools []Tool) []byte {
	var q struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(m.Params, &q) != nil {
		return failure(m.ID, codeParams, "params are not those of a call")
	}
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == q.Name })
	if i < 0 {
		return failure(m.ID, codeParams, "there is no such tool here")
	}
	args, err := tools[i].arguments(q.Args)
	if err != nil {
		return failure(m.ID, codeParams, err.Error())
	}
	text, err := tools[i].Call(args)
	if err != nil {
		text = err.Error()
	}
	return success(m.ID, map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": err != nil})
}

// arguments reads those of a call strictly.
func (t Tool) arguments(raw json.RawMessage) (map[string]string, error) {
	got := map[string]string{}
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		if d.Decode(&got) != nil || got == nil {
			return nil, errors.New("arguments are strings by name")
		}
	}
	for name, value := range got {
		i := slices.IndexFunc(t.Args, func(a Arg) bool { return a.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s has no argument %.40q", t.Name, name)
		}
		a := t.Args[i]
		switch {
		case len(value) > a.Most:
			return nil, fmt.Errorf("%s is longer than %d bytes", a.Name, a.Most)
		case a.Words != nil && !slices.Contains(a.Words, value):
			return nil, fmt.Errorf("%s is one of %s", a.Name, strings.Join(a.Words, ", "))
		case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
			return nil, fmt.Errorf("%s holds characters that cannot be seen", a.Name)
		}
	}
	for _, a := range t.Args {
		if _, there := got[a.Name]; !there && !a.Optional {
			return nil, fmt.Errorf("%s needs %s", t.Name, a.Name)
		}
	}
	return got, nil
}
