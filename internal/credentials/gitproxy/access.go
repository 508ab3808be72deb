package gitproxy

import (
	"net/http"
	"strings"
)

// access is a request that may go upstream, and how.
type access struct {
	route
	transport http.RoundTripper
	anonymous bool
}

// access decides which credential goes with a repository: ours for those of the
// session, none for others.
func (f *Forge) access(rt route) (access, *denial) {
	for _, own := range f.Repos {
		if strings.EqualFold(own, rt.repo) {
			rt.repo = own
			return access{rt, f.Transport, false}, nil
		}
	}
	if f.allow[OtherRepos] {
		return access{rt, f.Transport, false}, nil
	}
	reads := rt.service == fetchService || rt.call == lfsBatch // LFS says in its body which way it goes
	switch {
	case rt.service == pushService:
		return access{}, f.other("pushes to")
	case reads && f.Anonymous != nil:
		return access{rt, f.Anonymous, true}, nil
	}
	return access{}, f.other("")
}

// other refuses what is done to a repository that is not the session's.
func (f *Forge) other(done string) *denial {
	if len(f.Repos) == 0 {
		return deny(http.StatusForbidden, "this session has no repository at %s: it can be read there and not written", f.host())
	}
	return deny(http.StatusForbidden, "%s are denied; %s", strings.TrimSpace(done+" other repositories than "+strings.Join(f.Repos, ", ")), allows(OtherRepos))
}
