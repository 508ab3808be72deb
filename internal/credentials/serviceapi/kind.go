package serviceapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Kind is what a brokered host is.
type Kind string

// The kinds.
const (
	NPM    Kind = "npm"
	PyPI   Kind = "pypi"
	Cargo  Kind = "cargo"
	Go     Kind = "go" // a module proxy
	Maven  Kind = "maven"
	GitHub Kind = "github" // its API
	GitLab Kind = "gitlab" // its API
	Gitea  Kind = "gitea"  // its API, Forgejo's too
	Bearer Kind = "bearer"
	Basic  Kind = "basic"
	Header Kind = "header" // a field that the user names
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{NPM, PyPI, Cargo, Go, Maven, GitHub, GitLab, Gitea, Bearer, Basic, Header}
}

func (k Kind) registry() bool { return slices.Contains([]Kind{NPM, PyPI, Cargo, Go, Maven}, k) }

// Forge holds for the kinds that keep repositories.
func (k Kind) Forge() bool { return slices.Contains([]Kind{GitHub, GitLab, Gitea}, k) }

// Public is the one host that a credential of the kind is for when nobody named
// another; "" for kinds that have none.
func (k Kind) Public() string {
	switch k {
	case GitHub:
		return "github.com"
	case GitLab:
		return "gitlab.com"
	}
	return ""
}

// Config describes one brokered host.
type Config struct {
	Kind    Kind
	Host    string   // as clients name it, with a port if it has one
	Base    string   // the path under which the service lives: "" or "/npm/private"
	Field   string   // for Header: the name of the field
	Name    string   // for Cargo: the name of the registry in cargo's settings
	Repos   []string // for forges, the session's own: "owner/name", at GitLab also the number
	Publish bool     // for registries
	Only    bool     // for forges: nothing outside Repos, not even reading
	Allow   []string // "GET,POST /path/**", on top of the rules of the kind
	Deny    []string // the same, and it beats every allow
}

// Service judges requests to one brokered host. It is safe for concurrent use.
type Service struct {
	config  Config
	base    []string // segments of Base
	graphql []string // the path of GraphQL; nil where there is none

	userDeny, userAllow, deny, allow []rule
	files                            []rule // below which a forge hands out files

	mu    sync.Mutex
	known map[string]bool // node ids of the session's own repositories
}

// New checks a configuration and compiles its rules.
func New(c Config) (*Service, error) {
	if err := check(c); err != nil {
		return nil, fmt.Errorf("service %q: %w", c.Host, err)
	}
	s := &Service{config: c, known: map[string]bool{}}
	if c.Base != "" {
		s.base = strings.Split(c.Base[1:], "/")
	}
	for _, list := range []struct {
		into  *[]rule
		texts []string
		key   string
	}{{&s.userDeny, c.Deny, "deny"}, {&s.userAllow, c.Allow, "allow"}} {
		for _, text := range list.texts {
			if strings.ContainsFunc(text, unicode.IsControl) {
				return nil, fmt.Errorf("service %q: %s: %q holds a control character", c.Host, list.key, text)
			}
			r, err := parseRule(text)
			if err != nil {
				return nil, fmt.Errorf("service %q: %s: %w", c.Host, list.key, err)
			}
			*list.into = append(*list.into, r)
		}
	}
	s.builtin()
	return s, nil
}

func check(c Config) error {
	if !slices.Contains(Kinds(), c.Kind) {
		return fmt.Errorf("kind %q is not known", c.Kind)
	}
	if c.Host == "" || strings.Trim(strings.ToLower(c.Host), "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") != "" {
		return fmt.Errorf("host %q is not a host name", c.Host)
	}
	if c.Kind == GitHub && strings.EqualFold(c.Host, "github.com") {
		return fmt.Errorf("the API of github.com is at api.github.com")
	}
	if c.Base != "" {
		if p, err := parsePath(c.Base, false); err != nil || p.dir || len(p.segs) == 0 || strings.ContainsAny(c.Base, "*{}%") {
			return fmt.Errorf("base %q is not a plain path without a slash at its end", c.Base)
		}
		if c.Kind.Forge() {
			return fmt.Errorf("base %q: a forge has a whole host", c.Base)
		}
	}
	if (c.Kind == Header) != (c.Field != "") {
		return fmt.Errorf("field %q: kind header needs one, others have none", c.Field)
	}
	if c.Kind == Header && !usableField(c.Field) {
		return fmt.Errorf("field %q cannot carry a credential", c.Field)
	}
	if c.Publish && !c.Kind.registry() {
		return fmt.Errorf("publish is for registries, not for %s", c.Kind)
	}
	if !c.Kind.Forge() && (c.Only || len(c.Repos) > 0) {
		return fmt.Errorf("repositories are for forges, not for %s", c.Kind)
	}
	for _, repo := range c.Repos {
		if err := checkRepo(c.Kind, repo); err != nil {
			return err
		}
	}
	return nil
}

// usableField keeps a credential out of fields that steer the connection or the
// request itself.
func usableField(name string) bool {
	if strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return false
	}
	name = http.CanonicalHeaderKey(name)
	return !slices.Contains(overriding, name) && !slices.Contains([]string{
		"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Cookie",
	}, name)
}

func checkRepo(k Kind, repo string) error {
	if k == GitLab && repo != "" && strings.Trim(repo, "0123456789") == "" {
		return nil
	}
	parts := strings.Split(repo, "/")
	if len(parts) < 2 || (len(parts) > 2 && k != GitLab) || len(parts) > 20 {
		return fmt.Errorf("repository %q is not owner/name", repo)
	}
	for _, p := range parts {
		if p == "" || p == "." || p == ".." || strings.Trim(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			return fmt.Errorf("repository %q: %q is not a name", repo, p)
		}
	}
	return nil
}
