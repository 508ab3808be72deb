package repo

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/settings"
)

// Remote is a repository on another host that a repository's config names.
type Remote struct {
	Host string // lower case, as written
	Port string // "" for the usual one
	Path string // OWNER/NAME, without slashes around it and without .git
	SSH  bool
}

const maxRemotes = 64

// Remotes lists the remotes of a repository, from its own config. An agent may have
// written that file: what it names is a wish, not a right.
func (r *Repo) Remotes() ([]Remote, error) {
	b, err := r.config()
	if err != nil || b == nil {
		return nil, err
	}
	entries, err := settings.ParseGit(b)
	if err != nil {
		return nil, fmt.Errorf("%s/config: %w", r.CommonDir, err)
	}
	var out []Remote
	seen := map[Remote]bool{}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Key, "remote.")
		if !ok || !strings.HasSuffix(name, ".url") && !strings.HasSuffix(name, ".pushurl") {
			continue
		}
		m, ok := ParseRemote(e.Value)
		if ok && !seen[m] && len(out) < maxRemotes {
			seen[m] = true
			out = append(out, m)
		}
	}
	return out, nil
}

// Login returns who and what stands in the address of a remote on this host, by TLS. It is
// false where there is none, or more than one.
func (r *Repo) Login(is func(Remote) bool) (user, secret string, ok bool) {
	b, err := r.config()
	if err != nil || b == nil {
		return "", "", false
	}
	_, found, err := settings.WithoutGitLogins(b)
	for _, l := range found {
		m, named := ParseRemote(l.URL)
		if !named || !strings.HasPrefix(l.URL, "https://") || !strings.HasPrefix(l.Key, "remote.") || !is(m) {
			continue
		}
		if l.Secret == "" { // the token stands in the place of the name
			l.User, l.Secret = "", l.User
		}
		if ok && (user != l.User || secret != l.Secret) {
			return "", "", false
		}
		user, secret, ok = l.User, l.Secret, true
	}
	return user, secret, ok && err == nil
}

// config reads the repository's own settings; nil if there are none.
func (r *Repo) config() ([]byte, error) {
	if r.CommonDir == "" {
		return nil, nil
	}
	d, err := openDir(unix.AT_FDCWD, r.CommonDir, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, err
	}
	defer d.close()
	b, err := d.read("config", settings.MaxGitBytes)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	return b, err
}

// ParseRemote reads the address of a remote in one of the forms that git knows. It is
// false for what is no repository on another host.
func ParseRemote(s string) (Remote, bool) {
	if !isText(s) {
		return Remote{}, false
	}
	if !strings.Contains(s, "://") {
		return scpRemote(s)
	}
	u, err := url.Parse(s)
	if err != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return Remote{}, false
	}
	m := Remote{Host: strings.ToLower(u.Hostname()), Port: u.Port()}
	switch u.Scheme {
	case "ssh", "git+ssh", "ssh+git":
		m.SSH = true
	case "https", "http", "git":
	default:
		return Remote{}, false
	}
	return m.at(u.EscapedPath())
}

// scpRemote is [USER@]HOST:PATH.
func scpRemote(s string) (Remote, bool) {
	where, path, ok := strings.Cut(s, ":")
	if !ok || strings.Contains(where, "/") || strings.HasPrefix(s, "-") {
		return Remote{}, false
	}
	if i := strings.LastIndexByte(where, '@'); i >= 0 {
		where = where[i+1:]
	}
	return Remote{Host: strings.ToLower(where), SSH: true}.at(path)
}

// at adds the path, if it is one that a forge could have.
func (m Remote) at(path string) (Remote, bool) {
	m.Path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	parts := strings.Split(m.Path, "/")
	for _, p := range parts {
		if p == "" || p == "." || p == ".." || strings.HasPrefix(p, "~") || strings.ContainsAny(p, "%\\?#;:@ ") {
			return Remote{}, false
		}
	}
	return m, m.Host != "" && len(parts) >= 2
}

const maxText = 256

func isText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != "" && len(s) <= maxText
}
