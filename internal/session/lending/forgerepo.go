package lending

import (
	"fmt"
	"slices"

	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
)

// A name of a repository means one thing on one host. The same name on another forge is
// somebody else's, and a remote, which is a wish, must not choose between them.

// oneMeaning refuses a repository without a host where this session has two forges that
// it could be on.
func (fs *forges) oneMeaning(hosts map[string]*forgeHost) error {
	if hosts[serviceapi.GitHub.Public()] == nil || hosts[serviceapi.GitLab.Public()] == nil {
		return nil
	}
	for _, v := range fs.Policy.Broker.Repos {
		if r, err := policy.ParseRepo(v.Value); err == nil && r.Host == "" && !r.Groups() {
			return fault.New(fault.Refused, fmt.Sprintf("write %s/%s or %s/%[2]s", serviceapi.GitHub.Public(), r.Path, serviceapi.GitLab.Public()),
				"%s: [broker] repos: %q is on two forges of this session: say which", v.Source.String(), v.Value)
		}
	}
	return nil
}

// moreRepos adds the repositories that the policy names on a forge.
func (fs *forges) moreRepos(h *forgeHost) error {
	for _, v := range fs.Policy.Broker.Repos {
		r, err := policy.ParseRepo(v.Value)
		if err != nil {
			return fmt.Errorf("%s: [broker] repos: %w", v.Source.String(), err)
		}
		at := r.Host
		switch {
		case at != "":
		case r.Groups():
			at = serviceapi.GitLab.Public()
		default:
			at = kindOf(h.url.Host).Public() // "" where the forge is nobody's public one
		}
		if at == h.url.Host && !slices.Contains(h.repos, r.Path) {
			h.repos = append(h.repos, r.Path)
		}
		if r.Host == "" && kindOf(h.url.Host) == "" {
			fs.Notice(fmt.Sprintf("%s: [broker] repos: %s is not taken for a repository on %s; if it is one: write %[3]s/%[2]s", v.Source.String(), r.Path, h.url.Host))
		}
	}
	return nil
}
