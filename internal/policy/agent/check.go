package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// check refuses a profile that says what cannot be meant. It does not judge
// whether a path holds a credential: that is policy, and the catalogue knows.
func (p *Profile) check() error {
	for i, s := range p.State {
		if err := s.check(); err != nil {
			return fmt.Errorf("state %d: %w", i+1, err)
		}
	}
	for i, c := range p.Config {
		if err := c.check(); err != nil {
			return fmt.Errorf("config %d: %w", i+1, err)
		}
	}
	for _, m := range p.Managed {
		if err := checkPath(m.Path); err != nil {
			return fmt.Errorf("managed: %w", err)
		}
		if strings.HasPrefix(m.Path, "~/") {
			return fmt.Errorf("managed: %q: HOME is the user's; only an absolute path", m.Path)
		}
	}
	if len(p.Search.Names) == 0 && p.Name != Command {
		return fmt.Errorf("binary: names is empty: say which program it is")
	}
	if err := p.Search.check(); err != nil {
		return fmt.Errorf("binary: %w", err)
	}
	if err := p.Env.check(); err != nil {
		return fmt.Errorf("env: %w", err)
	}
	if err := p.Network.check(); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	for i, m := range p.Models {
		if err := m.check(); err != nil {
			return fmt.Errorf("model %d: %w", i+1, err)
		}
	}
	if err := p.MCP.check(); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	if err := p.History.check(p.State); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return p.Note.check()
}

// check sees to it that conversations are shared only from what is kept for the project.
func (h History) check(kept []State) error {
	if h.Path == "" {
		return nil
	}
	if err := checkPath(h.Path); err != nil {
		return err
	}
	if filepath.Base(h.Path) != SlugMark || !slices.ContainsFunc(kept, func(s State) bool { return s.Kind == KindDir && strings.HasPrefix(h.Path, s.Path+"/") }) {
		return fmt.Errorf("%q: name a directory of the agent's state that ends in /%s", h.Path, SlugMark)
	}
	return nil
}

func (s State) check() error {
	if err := checkPath(s.Path); err != nil {
		return err
	}
	if !strings.HasPrefix(s.Path, "~/") {
		return fmt.Errorf("%q: state lies under HOME; start it with ~/", s.Path)
	}
	switch s.Kind {
	case KindFile:
		return nil
	case KindDir:
		if s.Seed != "" || len(s.Carry) > 0 || len(s.Answer) > 0 {
			return fmt.Errorf("%q: only a file has a seed", s.Path)
		}
		return nil
	default:
		return fmt.Errorf("%q: kind is %q, not dir or file", s.Path, s.Kind)
	}
}

func (c Config) check() error {
	switch c.Format {
	case "", "json", "toml":
	default:
		return fmt.Errorf("scrub is %q, not json or toml", c.Format)
	}
	for _, o := range c.Omit {
		if !filepath.IsLocal(o) {
			return fmt.Errorf("omit: %q leads out of the directory", o)
		}
	}
	return checkPaths(c.Paths)
}

func (s Search) check() error {
	for _, n := range s.Names {
		if n == "" || strings.ContainsAny(n, "/\x00") {
			return fmt.Errorf("name %q: not a file name", n)
		}
	}
	if err := checkPaths(s.Places); err != nil {
		return err
	}
	return checkPaths(s.Trees)
}

func (e Env) check() error {
	names := append([]string(nil), e.Pass...)
	for _, m := range []map[string]string{e.Set, e.Root} {
		for n, v := range m {
			if strings.Contains(v, "\x00") {
				return fmt.Errorf("%q: value holds a zero byte", n)
			}
			names = append(names, n)
		}
	}
	for _, n := range names {
		if n == "" || strings.ContainsAny(n, "=\x00") {
			return fmt.Errorf("%q: not a name of a variable", n)
		}
	}
	return nil
}

func (c Channel) check() error {
	if c.Path == "" && len(c.Base) == 0 {
		return nil
	}
	if err := checkPaths(append([]string{c.Path}, c.Base...)); err != nil {
		return fmt.Errorf("note: %w", err)
	}
	return nil
}

func checkPaths(paths []string) error {
	for _, p := range paths {
		if err := checkPath(p); err != nil {
			return err
		}
	}
	return nil
}

// checkPath accepts a clean path below / or below HOME, never either itself.
func checkPath(p string) error {
	rest, ok := strings.CutPrefix(p, "~/")
	if !ok {
		rest, ok = strings.CutPrefix(p, "/")
	}
	switch {
	case !ok:
		return fmt.Errorf("%q: not absolute and not below ~/", p)
	case rest == "" || rest == ".", filepath.Clean(rest) != rest, !filepath.IsLocal(rest), strings.Contains(p, "\x00"):
		return fmt.Errorf("%q: not a clean path", p)
	}
	return nil
}

func (n *Network) check() error {
	for _, h := range n.Hosts {
		if _, err := address.ParseRule(h); err != nil {
			return fmt.Errorf("hosts: %w", err)
		}
	}
	for _, h := range n.Needless {
		if r, err := address.ParseRule(h); err != nil || !r.Whole() || r.Port != 0 || r.Proto != "" {
			return fmt.Errorf("needless: %q is not the name of a host", h)
		}
	}
	return nil
}
