package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// MCP says where an agent's MCP servers are written on the host, and how it is told
// inside which there are. What the host's settings say of them is never shown.
type MCP struct {
	From []MCPFrom `toml:"from"`
	// Shape is that of one entry: "argv" (command, args, env) or "list" (command as a
	// list, environment).
	Shape string `toml:"shape"`
	// Path is the file that tells the agent, and Key the table in it. It may be one of
	// the agent's settings or of its managed files; any other is made.
	Path string `toml:"path"`
	Key  string `toml:"key"`
	// Arg is an argument that leads the agent to the file: @FILE@ is its path.
	Arg string `toml:"arg"`
}

// MCPFrom is one table of servers.
type MCPFrom struct {
	Path   string   `toml:"path"`
	Format string   `toml:"format"` // json or toml
	Key    []string `toml:"key"`    // where the table stands; @DIR@ is the workspace
}

// FileMark stands in MCP.Arg for the path of the file.
const FileMark = "@FILE@"

// The shapes.
const (
	shapeArgv = "argv"
	shapeList = "list"
)

func (m MCP) check() error {
	if len(m.From) == 0 && m.Path == "" {
		return nil
	}
	if m.Shape != shapeArgv && m.Shape != shapeList {
		return fmt.Errorf("shape is %q, not argv or list", m.Shape)
	}
	if m.Key == "" || strings.Contains(m.Key, ".") {
		return fmt.Errorf("key %q is not the name of a table", m.Key)
	}
	for _, f := range m.From {
		if f.Format != "json" && f.Format != "toml" {
			return fmt.Errorf("format is %q, not json or toml", f.Format)
		}
		if len(f.Key) == 0 {
			return fmt.Errorf("%q: key is empty", f.Path)
		}
		if err := checkPath(f.Path); err != nil {
			return err
		}
	}
	return checkPath(m.Path)
}

// HostServer is an MCP server of the host.
type HostServer struct {
	Name   string
	Argv   []string          // nil: it is a remote one
	Env    map[string]string // may hold secrets
	URL    string            // of a remote one; may hold secrets
	Kind   string            // what its settings call the kind of remote
	Source string            // the file
	Secret bool              // the URL, or what goes with it, holds a secret
	InURL  bool              // … and its address may hold it
}

// Servers reads the servers of one file. Entries that are off, or that make no sense,
// are left out.
func (m MCP) Servers(f MCPFrom, data []byte, dir string) ([]HostServer, error) {
	tree, err := parse(f.Format, data)
	if err != nil {
		return nil, err
	}
	for _, k := range f.Key {
		if k == DirMark {
			k = dir
		}
		tree, _ = tree[k].(map[string]any)
	}
	var out []HostServer
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		entry, ok := tree[name].(map[string]any)
		if !ok || entry["enabled"] == false || entry["disabled"] == true {
			continue
		}
		if s, ok := m.server(entry); ok {
			s.Name, s.Source = name, f.Path
			out = append(out, s)
		}
	}
	return out, nil
}

func (m MCP) server(e map[string]any) (HostServer, bool) {
	s := HostServer{Env: map[string]string{}}
	env, _ := e["env"].(map[string]any)
	if m.Shape == shapeList {
		env, _ = e["environment"].(map[string]any)
	}
	for name, v := range env {
		if text, ok := v.(string); ok {
			s.Env[name] = text
		}
	}
	for _, key := range []string{"url", "httpUrl"} {
		if text, ok := e[key].(string); ok && text != "" {
			s.URL, s.Kind = text, key
		}
	}
	if s.URL != "" {
		_, headers := e["headers"]
		s.InURL = MayBeSecret(s.URL) || strings.ContainsAny(s.URL, "@?#")
		s.Secret = headers || s.InURL
		if kind, ok := e["type"].(string); ok && s.Kind == "url" {
			s.Kind = kind
		}
		return s, true
	}
	if m.Shape == shapeList {
		s.Argv = texts(e["command"])
	} else if program, ok := e["command"].(string); ok && program != "" {
		s.Argv = append([]string{program}, texts(e["args"])...)
	}
	return s, len(s.Argv) > 0
}

func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`) })

// Filled is the server with ${NAME} and ${NAME:-default} in its texts replaced, as the
// agents do it.
func (s HostServer) Filled(getenv func(string) string) HostServer {
	fill := func(text string) string {
		return variable().ReplaceAllStringFunc(text, func(ref string) string {
			part := variable().FindStringSubmatch(ref)
			if v := getenv(part[1]); v != "" {
				return v
			}
			return part[3]
		})
	}
	out := s
	out.Argv, out.Env = nil, map[string]string{}
	for _, a := range s.Argv {
		out.Argv = append(out.Argv, fill(a))
	}
	for name, v := range s.Env {
		out.Env[name] = fill(v)
	}
	return out
}

// Entry tells the agent of a server that is started by argv.
func (m MCP) Entry(argv []string) map[string]any {
	if m.Shape == shapeList {
		return map[string]any{"type": "local", "command": argv, "enabled": true}
	}
	return map[string]any{"command": argv[0], "args": argv[1:]}
}

// Remote tells the agent of a server on the network, without what went with it.
func (m MCP) Remote(s HostServer) map[string]any {
	if m.Shape == shapeList {
		return map[string]any{"type": "remote", "url": s.URL, "enabled": true}
	}
	if s.Kind == "url" || s.Kind == "httpUrl" {
		return map[string]any{s.Kind: s.URL}
	}
	return map[string]any{"type": s.Kind, "url": s.URL}
}

// TOML is the table of servers as the end of a file.
func (m MCP) TOML(entries map[string]any) ([]byte, error) {
	return render("toml", map[string]any{m.Key: entries})
}

// JSON is the table of servers as a file.
func (m MCP) JSON(entries map[string]any) ([]byte, error) {
	return json.MarshalIndent(map[string]any{m.Key: entries}, "", "  ")
}
