package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Server is an MCP server of the host that a session may start, in a sandbox of its
// own. A nil field was not written.
type Server struct {
	Name   string
	Source Source // of its table

	Command   List  // argv; nil means as the agent's own settings say
	Hosts     List  // what it can reach; nil means nothing
	Read      List  // paths that it sees
	Write     List  // paths that it may change
	Env       List  // NAME or NAME=VALUE
	Secrets   List  // names of secrets that are brokered for it
	Workspace *Rule // "none", "ro" or "rw"; nil means none
	Drift     *Rule // "refuse" or "tell"; nil means refuse

	Off *Flag // it cannot be started
}

// OwnServer is the name of the server that is ringfence itself.
const OwnServer = "ringfence"

const serverSection = "mcp"

const maxServers = 256

// serverTables is [mcp.NAME]. Of a project's file there is one key: whatever else it
// could say would start a program of its choice outside of the agent's walls.
var serverTables = &tables[Server]{section: serverSection, one: "a server", many: "MCP servers", most: maxServers, keys: serverKeys, bare: true,
	pattern: patternServer, about: "MCP servers of the host that a session may start, each in a sandbox of its own.", checkName: CheckServerName,
	all:  func(p *Policy) *[]Server { return &p.MCP },
	head: func(s *Server) head { return head{s.Name, s.Source, &s.Off} },
	make: func(name string, src Source) Server { return Server{Name: name, Source: src} },
	refuse: func(name, _ string, project bool) (reason, hint string) {
		switch {
		case project:
			return "a project's file adds and changes no MCP server: it can only switch one off, by off = true", "write it in your own policy"
		case name == OwnServer:
			return errOwnServer.Error(), ""
		}
		return "", ""
	}}

// The words of a server's keys.
const (
	SeesNothing = "none"
	SeesRead    = "ro"
	SeesWrite   = "rw"
	DriftRefuse = "refuse"
	DriftTell   = "tell"
)

const (
	patternServer = `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`
	patternEnv    = `^[A-Za-z_][A-Za-z0-9_]*(=.*)?$`
)

var serverKeys = []tableKey[Server]{
	{key: key{name: "command", form: formArgs, check: checkText,
		about: "The program and its arguments; no shell reads them. Without this key: those of the agent's own settings on the host."},
		listOf: func(s *Server) *List { return &s.Command }},
	{key: key{name: "hosts", form: formList, check: checkHost, pattern: patternHost,
		about: "Hosts that the server can reach, written as in [network] allow. Without this key it has no network."},
		listOf: func(s *Server) *List { return &s.Hosts }},
	{key: key{name: "read", form: formList, check: checkPath, pattern: patternPath,
		about: "Paths that the server can read."},
		listOf: func(s *Server) *List { return &s.Read }},
	{key: key{name: "write", form: formList, check: checkPath, pattern: patternPath,
		about: "Paths that the server can read and write."},
		listOf: func(s *Server) *List { return &s.Write }},
	{key: key{name: "env", form: formList, check: checkVariable, pattern: patternEnv, same: variableName,
		about: "Variables of the server: NAME from your environment, or NAME=VALUE. A secret in one of them is visible to the server and to nobody else."},
		listOf: func(s *Server) *List { return &s.Env }},
	{key: key{name: "secrets", form: formList, check: checkSecretName, pattern: patternSecret,
		about: "Secrets that the server uses through the broker. It does not see them."},
		listOf: func(s *Server) *List { return &s.Secrets }},
	{key: key{name: "workspace", form: formWord, words: func() []string { return []string{SeesNothing, SeesRead, SeesWrite} },
		about: "What the server sees of the project: none (the default), ro or rw."},
		wordOf: func(s *Server) **Rule { return &s.Workspace }},
	{key: key{name: "drift", form: formWord, words: func() []string { return []string{DriftRefuse, DriftTell} },
		about: "What happens if its tools differ from those that were recorded first: refuse them until you trust them (the default), or only report it."},
		wordOf: func(s *Server) **Rule { return &s.Drift }},
	{key: key{name: "off", form: formFlag, about: "The server cannot be started. The only key that a project's file may write."},
		flagOf: func(s *Server) **Flag { return &s.Off }},
}

// CheckServerName reports why a server cannot have that name.
func CheckServerName(v string) error {
	const most = 64
	if v == "" || len(v) > most || strings.Trim(v, nameBytes) != "" || v[0] == '-' || v[0] == '_' {
		return fmt.Errorf("the name of an MCP server has 1 to %d letters, digits, - and _, and begins with a letter or a digit", most)
	}
	return nil
}

func variableName(v string) string {
	name, _, _ := strings.Cut(v, "=")
	return name
}

func checkVariable(v string) error {
	if err := checkName(variableName(v)); err != nil {
		return err
	}
	return checkText(v)
}

// IsOff reports whether the server is switched off.
func (s *Server) IsOff() bool { return s.Off != nil && s.Off.Value }

// Sees is what the server sees of the project.
func (s *Server) Sees() string {
	if s.Workspace == nil {
		return SeesNothing
	}
	return s.Workspace.Value
}

// Tells holds where drift is told and not refused.
func (s *Server) Tells() bool { return s.Drift != nil && s.Drift.Value == DriftTell }

// FindServer returns the server of that name, or nil.
func (p *Policy) FindServer(name string) *Server { return serverTables.lookup(p, name) }

// ServersOn lists the servers that may be started, ringfence's own apart.
func (p *Policy) ServersOn() []Server {
	return slices.DeleteFunc(slices.Clone(p.MCP), func(s Server) bool { return s.IsOff() || s.Name == OwnServer })
}

// OwnServerOn reports whether the agent may ask ringfence itself.
func (p *Policy) OwnServerOn() bool {
	s := p.FindServer(OwnServer)
	return s == nil || !s.IsOff()
}

// servers finds those that could not be started as they are written.
func (c *checker) servers() {
	for _, s := range c.p.ServersOn() {
		for _, r := range s.Secrets {
			if c.p.FindSecret(r.Value) == nil {
				c.add(r.Source, "[%s.%s] is to use the secret %s, and there is none of that name", serverSection, s.Name, r.Value)
			}
		}
		if len(s.Command) > 0 && s.Command[0].Value == "" {
			c.add(s.Command[0].Source, "the program of [%s.%s] is empty", serverSection, s.Name)
		}
		if s.Command != nil && len(s.Command) == 0 {
			c.add(s.Source, "[%s.%s] has an empty command", serverSection, s.Name)
		}
	}
}

var errOwnServer = errors.New("ringfence's own server has one key: off")
