package serviceapi

import (
	slashpath "path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// parts are what paths are made of here: the words of all rules, own and foreign
// names, and spellings that somebody may try.
func parts() []string {
	all := []string{"o", "r", "O", "R", "other", "one", "42", "7", "1", "g%2Fsub%2Fp", "g%2fsub%2fp", "other%2Fone", "g%2Fsub", "..", ".", "%2e%2e",
		"o%2Fr", "r%2F..", "", "main", "x", "api", "v3", "v4", "v1", "graphql", "-", "@s", "@s%2Fx", "42%2Fissues", "R;x", "%72", "r%00", "r.git"}
	for _, list := range [][]string{githubRepoRead, githubRead, githubWrite, githubReview, gitlabProjectRead, gitlabRead, gitlabWrite, giteaWrite, npmRead, npmPublish} {
		for _, text := range list {
			_, rest, _ := strings.Cut(text, " ")
			all = append(all, strings.Split(strings.TrimPrefix(rest, "%s"), "/")...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mine says, without any of the package's code, whether a path lies in a
// repository of the session.
func mine(k Kind, p string) bool {
	p = strings.ToLower(p)
	prefixes := map[Kind][]string{
		GitHub: {"/api/v3/repos/o/r/"},
		GitLab: {"/api/v4/projects/42/", "/api/v4/projects/g%2fsub%2fp/"},
		Gitea:  {"/api/v1/repos/o/r/"},
	}[k]
	return slashpath.Clean(p) == strings.TrimSuffix(p, "/") && slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(p, prefix) })
}

func forges(t testing.TB) map[Kind]*Service {
	return map[Kind]*Service{
		GitHub: newService(t, Config{Kind: GitHub, Host: "ghe.test", Repos: []string{"o/r"}}),
		GitLab: newService(t, Config{Kind: GitLab, Repos: []string{"g/sub/p", "42"}}),
		Gitea:  newService(t, Config{Kind: Gitea, Repos: []string{"o/r"}}),
	}
}

// checkWrite fails where a request that writes is allowed outside the session's
// repositories.
func checkWrite(t interface{ Fatalf(string, ...any) }, k Kind, s *Service, r Request) bool {
	d := s.Judge(r)
	if d.Allow && !reading(r.Method) && !mine(k, r.Path) {
		t.Fatalf("%s: %s %s is allowed by %q", k, r.Method, r.Path, d.Rule)
	}
	return d.Allow
}

func TestNoWriteOutsideTheRepository(t *testing.T) {
	services, words := forges(t), parts()
	starts := map[Kind][]string{
		GitHub: {"/api/v3/repos/o/r", "/api/v3/repos/O/r", "/api/v3/repos/other/one", "/api/v3", ""},
		GitLab: {"/api/v4/projects/42", "/api/v4/projects/g%2Fsub%2Fp", "/api/v4/projects/7", "/api/v4", ""},
		Gitea:  {"/api/v1/repos/o/r", "/api/v1/repos/other/one", "/api/v1", ""},
	}
	rules := map[Kind][]string{
		GitHub: append(githubWrite, githubReview...), GitLab: gitlabWrite, Gitea: append(giteaWrite, giteaReview...),
	}
	allowed := 0
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]Kind{GitHub, GitLab, Gitea}).Draw(t, "kind")
		for range 40 {
			p := rapid.SampledFrom(starts[k]).Draw(t, "start")
			if rapid.Bool().Draw(t, "by a rule") {
				_, rest, _ := strings.Cut(rapid.SampledFrom(rules[k]).Draw(t, "rule"), " %s")
				p += strings.NewReplacer("{n}", "1", "*", "x").Replace(rest)
			} else {
				for range rapid.IntRange(1, 5).Draw(t, "length") {
					p += "/" + rapid.SampledFrom(words).Draw(t, "part")
				}
			}
			method := rapid.SampledFrom([]string{"POST", "PUT", "PATCH", "DELETE"}).Draw(t, "method")
			if checkWrite(t, k, services[k], request(method+" "+p+" {}")) {
				allowed++
			}
		}
	})
	if allowed < 50 {
		t.Errorf("%d requests were allowed: the test proves little", allowed)
	}
}

func TestDenyBeatsAllow(t *testing.T) {
	words := []string{"a", "b", "A", "*", "**", "{}", "{n}", "7", "a*"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(from []string, label string) string {
			out := ""
			for range rapid.IntRange(1, 4).Draw(t, label) {
				out += "/" + rapid.SampledFrom(from).Draw(t, label)
			}
			return out
		}
		rule := "GET " + draw(words, "rule")
		p := draw([]string{"a", "b", "A", "7", "ab"}, "path")
		allow := newRule(t, Config{Kind: Bearer, Host: "h.test", Deny: []string{"GET /**"}, Allow: []string{rule}})
		if allow.Judge(request("GET " + p)).Allow {
			t.Fatalf("%s is allowed though all is denied", p)
		}
		open := newRule(t, Config{Kind: Header, Field: "X-K", Host: "h.test", Allow: []string{rule}})
		closed := newRule(t, Config{Kind: Header, Field: "X-K", Host: "h.test", Allow: []string{"GET /**"}, Deny: []string{rule}})
		if d := open.Judge(request("GET " + p)); d.Rule == rule && closed.Judge(request("GET "+p)).Allow {
			t.Fatalf("%q allows %s and does not deny it", rule, p)
		}
	})
}

func newRule(t *rapid.T, c Config) *Service {
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
