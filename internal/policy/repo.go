package policy

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// Repo is a repository that a session may have besides its own, on one forge.
type Repo struct {
	Host string // NAME or NAME:PORT; "": the public host of the forge's kind
	Path string // OWNER/NAME; some forges have groups in between
}

const patternRepo = `^([A-Za-z0-9.-]+(:[0-9]{1,5})?/)?[A-Za-z0-9_.][A-Za-z0-9_.-]*(/[A-Za-z0-9_.][A-Za-z0-9_.-]*)+$`

// ParseRepo reads HOST/OWNER/NAME or OWNER/NAME. What has a dot or a port before the
// first slash is a host: a group of that look is written with its host.
func ParseRepo(v string) (Repo, error) {
	const form = "write HOST/OWNER/NAME, or OWNER/NAME on github.com or gitlab.com"
	r := Repo{Path: v}
	if first, rest, ok := strings.Cut(v, "/"); ok && strings.ContainsAny(first, ".:") {
		host, err := address.ParseRule(first)
		if err != nil || !host.Whole() || host.Below || host.Proto != "" {
			return Repo{}, fmt.Errorf("%q: %q is no host: %s", v, first, form)
		}
		r.Host, r.Path = string(host.Name), rest
		if host.Port != 0 && host.Port != 443 {
			r.Host = fmt.Sprintf("%s:%d", host.Name, host.Port)
		}
		if !strings.Contains(rest, "/") {
			return Repo{}, fmt.Errorf("%q: %q is taken for a host, and no OWNER/NAME follows: %s", v, first, form)
		}
	}
	parts := strings.Split(r.Path, "/")
	if len(parts) < 2 || len(v) > maxBranch {
		return Repo{}, fmt.Errorf("%q is no repository: %s", v, form)
	}
	for _, p := range parts {
		if p == "" || p == "." || p == ".." || p[0] == '-' || strings.Trim(p, nameBytes+".") != "" {
			return Repo{}, fmt.Errorf("%q is no repository: %s", v, form)
		}
	}
	if strings.HasSuffix(v, ".git") {
		return Repo{}, fmt.Errorf("%q: a repository is written without .git", v)
	}
	return r, nil
}

func checkRepo(v string) error {
	_, err := ParseRepo(v)
	return err
}

// plainRepo is the one spelling of a repository.
func plainRepo(v string) string {
	r, err := ParseRepo(v)
	if err != nil || r.Host == "" {
		return v
	}
	return r.Host + "/" + r.Path
}

// Groups holds for a path that no forge but GitLab has.
func (r Repo) Groups() bool { return strings.Count(r.Path, "/") > 1 }
