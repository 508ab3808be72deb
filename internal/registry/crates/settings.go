package crates

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// Settings are what cargo's files on the host say about where crates come from.
type Settings struct {
	Index      string            // what stands in for crates.io, as it is written; "": nothing does
	Registry   string            // its name, by which its login is found; "": none
	Registries map[string]string // other registries, by their names
	Tokens     map[string]string // by the names of registries
	Programs   map[string]bool   // registries whose login a program of the host is asked for; "": all
}

var form = settings.Rules{Depth: 32, Nodes: 1 << 16}

// Read reads config.toml. A source may stand in for another that stands in for crates.io.
func Read(data []byte) (Settings, error) {
	root, _, err := form.TOML(data)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{Registries: map[string]string{}, Tokens: map[string]string{}, Programs: map[string]bool{}}
	s.programs(root)
	for _, n := range root.Get("registries").Members() {
		if v := n.Get("index").Str(); v != "" && crateName().MatchString(n.Name) {
			s.Registries[n.Name] = v
		}
	}
	s.tokens(root)
	name := "crates-io"
	for range 8 {
		next := root.Get("source", name, "replace-with").Str()
		if next == "" {
			break
		}
		name = next
	}
	if name == "crates-io" {
		return s, nil
	}
	s.Registry = name
	if s.Index = root.Get("source", name, "registry").Str(); s.Index == "" {
		s.Index = s.Registries[name]
	}
	if s.Index == "" {
		return s, errors.New("crates come from a directory or a repository on this host: that is not asked")
	}
	return s, nil
}

// programs finds who is asked for logins. What cargo does by itself, with the tokens of its
// own files, is no program.
func (s *Settings) programs(root *settings.Node) {
	asks := func(n *settings.Node) bool {
		words := n.Strs()
		return len(words) > 0 && words[0].Text != "cargo:token"
	}
	for _, n := range root.Get("registries").Members() {
		if asks(n.Get("credential-provider")) {
			s.Programs[n.Name] = true
		}
	}
	for _, n := range root.Get("registry", "global-credential-providers").Strs() {
		if n.Text != "cargo:token" {
			s.Programs[""] = true
		}
	}
}

// CAInfo is the file of authorities that config.toml names; "": none. A relative path is
// below a directory.
func CAInfo(data []byte, below string) string {
	root, _, err := form.TOML(data)
	if err != nil {
		return "" // it is told with the registries
	}
	path := root.Get("http", "cainfo").Str()
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(below, path)
	}
	return path
}

// Credentials adds the logins of credentials.toml.
func (s *Settings) Credentials(data []byte) error {
	root, _, err := form.TOML(data)
	if err == nil {
		s.tokens(root)
	}
	return err
}

func (s *Settings) tokens(root *settings.Node) {
	for _, n := range root.Get("registries").Members() {
		if v := n.Get("token").Str(); v != "" {
			s.Tokens[n.Name] = v
		}
	}
}

var errURL = errors.New("not a sparse+http:// or sparse+https:// URL without a query")

// ParseIndex reads the address of a sparse index; it may hold a login. An index that is a
// git repository is none.
func ParseIndex(text string) (*url.URL, error) {
	at, sparse := strings.CutPrefix(strings.TrimSpace(text), "sparse+")
	u, err := url.Parse(at)
	if err != nil || !sparse || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errURL // never with the text: it may hold a password
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}
