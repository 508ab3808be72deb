package serviceapi

import (
	"fmt"
	"strings"
)

// own marks a segment of a pattern as the name of a repository of the session:
// it is compared as forges compare names. ownSlash is a slash of such a name that
// does not part segments. No path and no rule of a user holds these bytes.
const (
	own      = "\x00"
	ownSlash = "\x01"
)

// ownPath is a name with all its slashes in one segment, as GitLab wants it.
func ownPath(repo string) string { return own + strings.ReplaceAll(repo, "/", ownSlash) }

var readable = strings.NewReplacer(own, "", ownSlash, "%2F")

// refused is a denial with its own reason.
type refused struct{ text, reason string }

// builtin adds the rules of the service's kind. They are written in this package,
// so one that cannot be read is a mistake in it.
func (s *Service) builtin() {
	base := s.config.Base
	switch s.config.Kind {
	case NPM:
		s.registry(base, npmDeny, npmRead, npmPublish)
	case PyPI:
		s.registry(base, pypiDeny, readAll, pypiPublish)
	case Cargo:
		s.registry(base, cargoDeny, readAll, cargoPublish)
	case Go:
		s.registry(base, managerDeny, readAll, nil)
	case Maven:
		s.registry(base, managerDeny, readAll, mavenPublish)
	case GitHub:
		s.github(base)
	case GitLab:
		s.add(&s.files, base+"/api/v4/projects/{}/repository", "GET /files/{}/raw", "GET /blobs/*/raw", "GET /archive*")
		s.add(&s.files, base+"/api/v4/projects/{}/merge_requests", "GET /*/raw_diffs")
		s.gitlab(base + "/api/v4")
	case Gitea:
		s.add(&s.files, base+"/api/v1/repos/*/*", "GET /raw/**", "GET /raw/{}", "GET /media/**", "GET /archive/**", "GET /archive/{}", "GET /pulls/*.diff", "GET /pulls/*.patch",
			"GET /git/commits/*.diff", "GET /git/commits/*.patch")
		s.gitea(base + "/api/v1")
	default:
		s.add(&s.allow, base, readAll...)
	}
}

func (s *Service) registry(base string, deny []refused, read, publish []string) {
	s.refuse(base, deny...)
	if base != "" { // which may be above what is closed: "/artifactory/api"
		s.refuse("", managerDeny...)
	}
	s.add(&s.allow, base, read...)
	if s.config.Publish {
		s.add(&s.allow, base, publish...)
	}
}

func (s *Service) add(into *[]rule, base string, texts ...string) {
	for _, text := range texts {
		*into = append(*into, must(base, text))
	}
}

func (s *Service) refuse(base string, list ...refused) {
	for _, d := range list {
		r := must(base, d.text)
		r.reason = d.reason
		s.deny = append(s.deny, r)
	}
}

func must(base, text string) rule {
	verbs, rest, _ := strings.Cut(text, " ")
	r, err := parseRule(verbs + " " + base + rest)
	if err != nil {
		panic(fmt.Sprintf("service: a rule of ours: %v", err))
	}
	r.text = readable.Replace(r.text)
	return r
}

// under spells each rule once for each root: "GET,HEAD %s/issues" with
// "/repos/o/r".
func under(roots, texts []string) []string {
	var out []string
	for _, root := range roots {
		for _, text := range texts {
			out = append(out, fmt.Sprintf(text, root))
		}
	}
	return out
}
