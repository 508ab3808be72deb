package policy

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

const maxServers = 256

// serverHeader handles [mcp] and [mcp.NAME].
func (d *decoder) serverHeader(parts []part) error {
	if err := d.once("table", parts); err != nil {
		return err
	}
	switch len(parts) {
	case 1:
		return nil
	case 2:
		_, err := d.server(parts[1])
		return err
	}
	return d.fail(parts[2].at, "", "there are no tables beneath [%s.%s]", serverSection, printable(parts[1].name))
}

// assignServer gives the value v to what parts spell under [mcp].
func (d *decoder) assignServer(parts []part, v *unstable.Node) error {
	if err := d.once("key", parts); err != nil {
		return err
	}
	last := parts[len(parts)-1]
	if len(parts) < 3 {
		if v.Kind != unstable.InlineTable {
			return d.fail(d.place(v, last), fmt.Sprintf("a server is a table of its own: [%s.NAME]", serverSection),
				"%q is a table, not %s", last.name, kindName(v.Kind))
		}
		if len(parts) == 2 {
			if _, err := d.server(last); err != nil {
				return err
			}
		}
		return d.inline(parts, v)
	}
	s, err := d.server(parts[1])
	if err != nil {
		return err
	}
	k, err := d.serverKey(s, parts[2])
	if err != nil {
		return err
	}
	if len(parts) > 3 {
		return d.fail(parts[3].at, "", "%s is %s, not a table", k, k.form)
	}
	return d.value(k, last, v)
}

// server returns the server of that name, a new one at first.
func (d *decoder) server(name part) (*Server, error) {
	if err := CheckServerName(name.name); err != nil {
		return nil, d.fail(name.at, "", "[%s]: %v", serverSection, err)
	}
	if s := d.policy.FindServer(name.name); s != nil {
		return s, nil
	}
	if len(d.policy.MCP) == maxServers {
		return nil, d.fail(name.at, "", "a policy has at most %d MCP servers", maxServers)
	}
	d.policy.MCP = append(d.policy.MCP, Server{Name: name.name, Source: d.source(name.at)})
	return &d.policy.MCP[len(d.policy.MCP)-1], nil
}

// serverKey finds a key. A project's file has one: whatever else it could say would
// start a program of its choice outside of the agent's walls.
func (d *decoder) serverKey(s *Server, name part) (*key, error) {
	known := make([]string, len(serverKeys))
	for i := range serverKeys {
		known[i] = serverKeys[i].name
	}
	k := findServerKey(name.name)
	if k == nil {
		hint := suggest(name.name, known)
		if hint == "" {
			hint = fmt.Sprintf("[%s.NAME] knows: %s", serverSection, strings.Join(known, ", "))
		}
		return nil, d.fail(name.at, hint, "unknown key %q in [%s.%s]", name.name, serverSection, s.Name)
	}
	if d.project && k.name != "off" {
		return nil, d.fail(name.at, "write it in your own policy",
			"a project's file adds and changes no MCP server: it can only switch one off, by off = true")
	}
	if s.Name == OwnServer && k.name != "off" {
		return nil, d.fail(name.at, "", "%v", errOwnServer)
	}
	return k.of(s), nil
}
