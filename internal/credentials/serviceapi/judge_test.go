package serviceapi

import (
	"net/http"
	"strings"
	"testing"
)

func newService(t testing.TB, c Config) *Service {
	t.Helper()
	if c.Host == "" {
		c.Host = "host.test"
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request makes one of "METHOD /path?query BODY".
func request(line string) Request {
	method, rest, _ := strings.Cut(line, " ")
	target, body, _ := strings.Cut(rest, " ")
	path, query, _ := strings.Cut(target, "?")
	return Request{Method: method, Path: path, Query: query, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Length: int64(len(body)), Body: []byte(body)}
}

// judged checks that all lines of a list are decided alike.
func judged(t *testing.T, s *Service, allow bool, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		d := s.Judge(request(line))
		if d.Allow != allow {
			t.Errorf("%s %s: allow %v by %q: %s", s.config.Kind, line, d.Allow, d.Rule, d.Reason)
		}
		if d.Rule == "" || d.Reason == "" {
			t.Errorf("%s %s: no rule or no reason: %+v", s.config.Kind, line, d)
		}
	}
}

const npmReads = `
	GET /
	GET /left-pad
	HEAD /left-pad
	GET /left-pad/1.0.0
	GET /left-pad/-/left-pad-1.0.0.tgz
	GET /@s%2fx
	GET /@s%2Fx
	GET /@s/x
	GET /@s/x/1.0.0
	GET /@s/x/-/x-1.0.0.tgz
	GET /@s%2fx/-/x-1.0.0.tgz
	GET /-/whoami
	GET /-/ping
	GET /-/v1/search?text=foo
	GET /-/package/x/dist-tags
	GET /-/package/@s%2fx/dist-tags
	GET /download/@s/x/1.0.0/0123abc
	POST /-/npm/v1/security/advisories/bulk {}
	POST /-/npm/v1/security/audits/quick {}
	GET /-/npm/v1/keys
	GET /-/npm/v1/attestations/x@1.0.0`

const npmNever = `
	DELETE /x/-rev/1-a
	PUT /x/-rev/1-a
	PUT /@s%2fx/-rev/1-a
	DELETE /-/package/x/dist-tags/beta
	GET /-/npm/v1/tokens
	POST /-/npm/v1/tokens
	DELETE /-/npm/v1/tokens/token/abc
	GET /-/npm/v1/user
	POST /-/npm/v1/user
	GET /-/NPM/v1/tokens
	PUT /-/user/org.couchdb.user:me
	GET /-/user/org.couchdb.user:me
	POST /-/v1/login
	GET /-/v1/done
	GET /-/npm/v1/hooks
	POST /-/npm/v1/hooks/hook
	GET /-/org/o/user
	PUT /-/team/s/developers/user
	POST /-/package/x/access
	POST /-/package/@s%2fx/access
	GET /-/package/@s%2fx/collaborators
	GET /-/unheard-of
	GET /-/npm/v1/unheard-of
	GET /left%2fpad
	GET /@s%2fx%2fy
	GET /-/npm%2fv1/tokens
	GET /@s%2f..%2fx
	PUT /
	PATCH /x
	OPTIONS /x
	GET /artifactory/api/security/apiKey`

const npmPublishes = `
	PUT /x
	PUT /@s%2fx
	PUT /@s/x
	PUT /-/package/x/dist-tags/beta
	PUT /-/package/@s%2fx/dist-tags/beta`

func TestNPM(t *testing.T) {
	s := newService(t, Config{Kind: NPM})
	judged(t, s, true, npmReads)
	judged(t, s, false, npmNever+npmPublishes)
	p := newService(t, Config{Kind: NPM, Publish: true})
	judged(t, p, true, npmReads+npmPublishes)
	judged(t, p, false, npmNever)
}

func TestOtherRegistries(t *testing.T) {
	for _, c := range []struct {
		kind                 Kind
		read, publish, never string
	}{
		{PyPI, `
			GET /simple/requests/
			GET /pypi/requests/json
			GET /packages/aa/bb/requests-1.0.tar.gz
			HEAD /simple/`, `
			POST /legacy/
			POST /`, `
			POST /pypi
			PUT /simple/x
			DELETE /pypi/x
			GET /manage/account/
			GET /account/login/
			POST /_/oidc/mint-token
			GET /simple//x
			GET /simple/../legacy/`},
		{Cargo, `
			GET /config.json
			GET /se/rd/serde
			GET /api/v1/crates?q=x
			GET /api/v1/crates/serde/1.0.0/download
			GET /api/v1/crates/serde/owners`, `
			PUT /api/v1/crates/new`, `
			DELETE /api/v1/crates/serde/1.0.0/yank
			PUT /api/v1/crates/serde/1.0.0/unyank
			PUT /api/v1/crates/serde/owners
			DELETE /api/v1/crates/serde/owners
			GET /api/v1/me
			GET /api/v1/me/tokens
			PUT /api/v1/me/tokens
			POST /api/v1/trusted_publishing/tokens
			GET /me`},
		{Go, `
			GET /example.test/mod/@v/list
			GET /example.test/mod/@v/v1.0.0+incompatible.zip
			GET /example.test/mod/@v/v1.0.0%2Bincompatible.zip
			GET /example.test/!upper/@latest
			GET /sumdb/sum.test/supported`, ``, `
			PUT /example.test/mod/@v/v1.zip
			POST /
			DELETE /example.test/mod`},
		{Maven, `
			GET /org/example/a/1.0/a-1.0.jar
			GET /org/example/a/1.0/a-1.0.pom.sha1
			HEAD /org/example/maven-metadata.xml`, `
			PUT /org/example/a/1.0/a-1.0.jar`, `
			DELETE /org/example/a/1.0/a-1.0.jar
			POST /org/example
			GET /artifactory/api/security/apiKey
			GET /service/rest/v1/security/users
			GET /org/example/a;x=1/a.jar
			GET /org/example/%2e%2e/a.jar`},
		{Bearer, `
			GET /anything/at/all?x=1
			HEAD /`, ``, `
			POST /anything
			DELETE /anything`},
		{Basic, `GET /x`, ``, `PUT /x`},
	} {
		s := newService(t, Config{Kind: c.kind})
		judged(t, s, true, c.read)
		judged(t, s, false, c.never+c.publish)
		if !c.kind.registry() {
			continue
		}
		p := newService(t, Config{Kind: c.kind, Publish: true})
		judged(t, p, true, c.read+c.publish)
		judged(t, p, false, c.never)
	}
}

func TestBaseBoundsARegistry(t *testing.T) {
	s := newService(t, Config{Kind: NPM, Base: "/npm/private", Publish: true})
	judged(t, s, true, `
		GET /npm/private/x
		PUT /npm/private/x
		GET /npm/private/-/whoami`)
	judged(t, s, false, `
		GET /
		GET /x
		GET /npm/x
		GET /npm/other/x
		PUT /npm/other
		GET /npm/private/-/npm/v1/tokens`)
}

// The credential of a registry below a path goes below it, as managers of repositories
// have theirs, and no rule of a user leads it out. Requests that some server reads as
// another path are refused.
func TestBaseIsAWall(t *testing.T) {
	for base, file := range map[string]string{"/artifactory/api/npm/main": "/lodash/-/lodash-4.17.21.tgz", "/repository/npm-all": "/@corp%2flib", "/api/v4/projects/7/packages/npm": "/@corp/lib/-/@corp/lib-1.0.0.tgz"} {
		for _, kind := range []Kind{NPM, PyPI, Cargo, Go, Maven, Bearer, Basic} {
			s := newService(t, Config{Kind: kind, Base: base, Allow: []string{"* /**", "GET /other/**"}})
			if kind == NPM {
				judged(t, newService(t, Config{Kind: NPM, Base: base}), true, "GET "+base+file)
			}
			judged(t, s, true, "GET "+base+"/x\nGET "+base)
			up := base[:strings.LastIndex(base, "/")]
			judged(t, s, false, strings.Join([]string{"GET /", "GET " + up, "GET " + up + "/other/x", "GET " + base + "x/y", "GET " + base + "/../other/x", "GET " + base + "/%2e%2e/other/x",
				"GET " + base + "/..%2fother/x", "GET " + base + "/x/..%2f..%2f..%2fother", "GET " + up + "//" + base[len(up)+1:] + "/x", "GET " + up + "/./x", "GET /other/x", "GET " + strings.ToUpper(base) + "/x",
				"GET " + up + "%2F" + base[len(up)+1:] + "/x", "GET " + base + ";a=b/x", "GET " + base + "/..;/other/x", "GET " + base + "\\x", "GET /" + base + "/x", "PUT /other/x", "GET " + base + "%00/x"}, "\n"))
		}
	}
	wide := newService(t, Config{Kind: NPM, Base: "/artifactory/api"})
	judged(t, wide, false, "GET /artifactory/api/security/apiKey\nGET /artifactory/api/security/token")
	if d := newService(t, Config{Kind: NPM, Host: "reg.test"}).Judge(request("GET /artifactory/api/npm/main/lodash")); d.Allow || !strings.Contains(d.Hint, "ringfence secret set NAME --use npm --host reg.test/PATH") {
		t.Errorf("%+v", d)
	}
}

const githubReads = `
	GET %/user
	GET %/
	GET %/rate_limit
	GET %/repos/o/r
	GET %/repos/O/R
	GET %/repos/o/r/issues?state=all
	GET %/repos/o/r/pulls/1/files
	GET %/repos/o/r/pulls/1/merge
	GET %/repos/o/r/contents/src/actions/secrets/main.go
	GET %/repos/o/r/branches/feat%2Fx
	GET %/repos/o/r/git/ref/heads/feat/x
	GET %/repos/o/r/commits/abc/check-runs
	GET %/repos/o/r/actions/runs/1/jobs
	GET %/repos/o/r/readme
	HEAD %/repos/o/r/tarball/main`

const githubElsewhere = `
	GET %/repos/other/one
	GET %/repos/other/one/issues/1/comments
	GET %/repositories/42/issues?page=2
	GET %/search/code?q=x
	GET %/users/someone
	GET %/orgs/acme/repos
	GET %/user/repos`

const githubWrites = `
	POST %/repos/o/r/issues {"title":"t"}
	PATCH %/repos/o/r/issues/1 {"state":"closed"}
	POST %/repos/o/r/issues/1/comments {"body":"/merge"}
	PATCH %/repos/o/r/issues/comments/5 {"body":"x"}
	POST %/repos/o/r/issues/1/labels {"labels":["bug"]}
	DELETE %/repos/o/r/issues/1/labels/bug
	POST %/repos/O/R/pulls {"head":"f","base":"main","title":"t"}
	PATCH %/repos/o/r/pulls/1 {"title":"t"}
	POST %/repos/o/r/pulls/1/comments {"body":"x"}
	POST %/repos/o/r/pulls/1/comments/2/replies {"body":"x"}
	POST %/repos/o/r/pulls/1/reviews {"event":"COMMENT","body":"x"}
	POST %/repos/o/r/pulls/1/reviews {"event":"REQUEST_CHANGES","body":"x"}
	POST %/repos/o/r/pulls/1/reviews {"body":"x"}
	POST %/repos/o/r/pulls/1/requested_reviewers {"reviewers":["a"]}
	POST %/repos/o/r/labels {"name":"x"}`

const githubNever = `
	GET %/gists
	POST %/gists {"files":{}}
	GET %/gists/starred
	GET %/gists/abc
	PATCH %/gists/abc {}
	GET %/Gists
	GET %/users/o/gists
	GET %/user/keys
	POST %/user/keys {}
	GET %/user/gpg_keys
	GET %/user/ssh_signing_keys
	GET %/user/emails
	GET %/user/unheard-of
	POST %/user/repos {"name":"x"}
	POST %/orgs/o/repos {"name":"x"}
	GET %/authorizations
	POST %/applications/x/token {}
	GET %/app
	POST %/app/installations/1/access_tokens {}
	DELETE %/installation/token
	GET %/installation/repositories
	GET %/feeds
	GET %/notifications
	GET %/enterprises/e/audit-log
	GET %/repos/o/r/actions/secrets
	GET %/repos/o/r/actions/secrets/public-key
	PUT %/repos/o/r/actions/secrets/X {}
	GET %/repos/o/r/actions/variables
	GET %/orgs/o/actions/secrets
	GET %/repos/o/r/codespaces/secrets
	GET %/repos/o/r/dependabot/secrets
	POST %/repos/o/r/actions/runners/registration-token
	GET %/repos/o/r/actions/runners
	GET %/repos/o/r/secret-scanning/alerts
	GET %/repositories/1/secret-scanning/alerts
	GET %/repos/o/r/environments
	GET %/repos/o/r/hooks
	POST %/repos/o/r/hooks {}
	GET %/repos/o/r/keys
	POST %/repos/o/r/keys {}
	GET %/repos/o/r/collaborators
	PUT %/repos/o/r/collaborators/evil {}
	PUT %/repos/o/r/pulls/1/merge {}
	POST %/repos/o/r/merges {}
	POST %/repos/o/r/merge-upstream {}
	PUT %/repos/o/r/pulls/1/update-branch {}
	POST %/repos/o/r/git/refs {}
	PATCH %/repos/o/r/git/refs/heads/main {}
	DELETE %/repos/o/r/git/refs/heads/x
	POST %/repos/o/r/git/trees {}
	PUT %/repos/o/r/contents/a {}
	DELETE %/repos/o/r/contents/a
	POST %/repos/o/r/dispatches {}
	POST %/repos/o/r/actions/workflows/1/dispatches {}
	POST %/repos/o/r/actions/runs/1/rerun
	PATCH %/repos/o/r {}
	DELETE %/repos/o/r
	POST %/repos/o/r/transfer {}
	POST %/repos/o/r/forks {}
	PUT %/repos/o/r/branches/main/protection {}
	POST %/repos/o/r/rulesets {}
	POST %/repos/o/r/releases {}
	POST %/repos/o/r/deployments {}
	POST %/repos/o/r/pages {}
	POST %/repos/o/r/statuses/abc {}
	POST %/repos/o/r/check-runs {}
	POST %/repos/o/r/pulls/1/reviews {"event":"APPROVE"}
	POST %/repos/o/r/pulls/1/reviews {"Event":"APPROVE"}
	POST %/repos/o/r/pulls/1/reviews {"event":"approve"}
	POST %/repos/o/r/pulls/1/reviews {"event":["APPROVE"]}
	POST %/repos/o/r/pulls/1/reviews {"event":"COMMENT","event":"APPROVE"}
	POST %/repos/o/r/pulls/1/reviews/2/events {"event":"APPROVE"}
	POST %/repos/o/r/issues/../../../gists {"files":{}}
	POST %/repos/o/r/issues%2F..%2F..%2Fx {"title":"t"}
	POST %/repos/o%2Fr/issues {"title":"t"}
	POST %/repos/other/one/issues {"title":"t"}
	POST %/repos/o/r2/issues {"title":"t"}
	POST %/repos/o2/r/pulls {"title":"t"}
	POST %/repositories/42/issues {"title":"t"}
	POST %/repos/o/r/issues?_method=DELETE {"title":"t"}
	POST %/repos/o/r/issues?access_token=x {"title":"t"}
	POST %/repos/o/r/issues {"title":"t","access_token":"x"}
	POST %/repos/o/r/issues title=t
	POST %/repos/o/r/issues [{"title":"t"}]
	POST %/repos/o/r/issues/x/comments {"body":"b"}
	GET %/repos/o/r/issues {"title":"t"}
	POST %/markdown {}`

func at(prefix, lines string) string { return strings.ReplaceAll(lines, " %/", " "+prefix+"/") }

func TestGitHub(t *testing.T) {
	for _, c := range []struct{ host, prefix string }{{"api.github.com", ""}, {"ghe.test", "/api/v3"}} {
		s := newService(t, Config{Kind: GitHub, Host: c.host, Repos: []string{"o/r"}})
		judged(t, s, true, at(c.prefix, githubReads+githubElsewhere+githubWrites))
		judged(t, s, false, at(c.prefix, githubNever))
		only := newService(t, Config{Kind: GitHub, Host: c.host, Repos: []string{"o/r"}, Only: true})
		judged(t, only, true, at(c.prefix, githubReads+githubWrites))
		judged(t, only, false, at(c.prefix, githubNever+githubElsewhere))
		none := newService(t, Config{Kind: GitHub, Host: c.host})
		judged(t, none, true, at(c.prefix, githubReads+githubElsewhere))
		judged(t, none, false, at(c.prefix, githubNever+githubWrites))
	}
	s := newService(t, Config{Kind: GitHub, Host: "ghe.test", Repos: []string{"o/r"}})
	judged(t, s, false, `
		GET /o/r
		GET /login
		GET /repos/o/r
		GET /o/r.git/info/refs?service=git-upload-pack
		POST /api/uploads/repos/o/r/releases/1/assets
		GET /api/v3/graphql
		GET /api/graphql`)
}

const gitlabReads = `
	GET %/projects/g%2Fsub%2Fp
	GET %/projects/G%2fsub%2fP
	GET %/projects/42/issues?state=opened
	GET %/projects/42/merge_requests/1/changes
	GET %/projects/42/repository/files/src%2Fvariables%2Fa.tf/raw?ref=main
	GET %/projects/42/repository/branches/feat%2Fx
	GET %/projects/42/pipelines/1/jobs
	GET %/user
	GET %/version`

const gitlabElsewhere = `
	GET %/projects/other%2Fone
	GET %/projects/7
	GET %/projects/7/repository/tree
	GET %/groups/g%2Fsub/projects
	GET %/search?scope=projects&search=x`

const gitlabWrites = `
	POST %/projects/42/issues {"title":"t"}
	POST %/projects/g%2Fsub%2Fp/issues {"title":"t"}
	PUT %/projects/42/issues/1 {"state_event":"close"}
	POST %/projects/42/issues/1/notes {"body":"/usr/bin/x_is_a_path"}
	POST %/projects/42/merge_requests {"source_branch":"f","target_branch":"main"}
	POST %/projects/42/merge_requests {"source_branch":"f","target_project_id":42}
	PUT %/projects/42/merge_requests/1 {"title":"t"}
	POST %/projects/42/merge_requests/1/notes {"body":"x"}
	POST %/projects/42/merge_requests/1/discussions {"body":"x"}`

const gitlabNever = `
	GET %/snippets
	POST %/snippets {}
	GET %/projects/42/snippets
	POST %/projects/42/snippets {}
	GET %/personal_access_tokens
	POST %/personal_access_tokens/self/rotate
	POST %/user/personal_access_tokens {}
	GET %/user/keys
	POST %/user/keys {}
	GET %/projects/42/variables
	GET %/groups/g/variables
	GET %/projects/7%2Fvariables
	GET %/projects/42/pipelines/1/variables
	GET %/projects/42/pipeline_schedules/1
	GET %/projects/42/triggers
	POST %/projects/42/trigger/pipeline {}
	GET %/runners
	GET %/projects/42/runners
	GET %/projects/42/hooks
	POST %/projects/42/hooks {}
	GET %/projects/42/deploy_keys
	GET %/projects/42/access_tokens
	GET %/projects/42/terraform/state/x
	GET %/projects/42/secure_files
	GET %/projects/42/unheard_of
	PUT %/projects/42/merge_requests/1/merge {}
	POST %/projects/42/merge_requests/1/approve {}
	PUT %/projects/42/merge_requests/1/rebase {}
	POST %/projects/42/repository/commits {}
	POST %/projects/42/repository/branches {}
	POST %/projects/42/repository/files/a {}
	POST %/projects/42/pipeline {}
	POST %/projects/42/jobs/1/play {}
	PUT %/projects/42 {}
	DELETE %/projects/42
	POST %/projects {"name":"x"}
	POST %/projects/7/issues {"title":"t"}
	POST %/projects/other%2Fone/issues {"title":"t"}
	POST %/projects/g%2Fsub%2Fp%2Fq/issues {"title":"t"}
	POST %/projects/g/sub/p/issues {"title":"t"}
	POST %/projects/g%252Fsub/issues {"title":"t"}
	POST %/projects/42/issues/1/move {"to_project_id":7}
	POST %/projects/42/issues?title=t
	POST %/projects/42/issues {"title":"t","private_token":"x"}
	POST %/projects/42/issues {"title":"t","_method":"DELETE"}
	POST %/projects/42/merge_requests {"source_branch":"f","target_project_id":7}
	POST %/projects/42/merge_requests {"source_branch":"f","target_project_id":"7"}
	POST %/projects/42/merge_requests/1/notes {"body":"/merge"}
	POST %/projects/42/merge_requests/1/notes {"body":"well\n\t/approve"}
	POST %/projects/42/issues/1/notes {"body":"a\r/close"}
	POST %/projects/42/issues/1/notes {"body":"a\r\n/move\u0020other/project"}
	POST %/projects/42/issues {"title":"t","description":"x\n/MOVE\tother/project"}
	GET /api/graphql
	POST /api/graphql {"query":"{a}"}
	GET /g/sub/p`

func TestGitLab(t *testing.T) {
	s := newService(t, Config{Kind: GitLab, Repos: []string{"g/sub/p", "42"}})
	judged(t, s, true, at("/api/v4", gitlabReads+gitlabElsewhere+gitlabWrites))
	judged(t, s, false, at("/api/v4", gitlabNever))
	only := newService(t, Config{Kind: GitLab, Repos: []string{"g/sub/p", "42"}, Only: true})
	judged(t, only, true, at("/api/v4", gitlabReads+gitlabWrites))
	judged(t, only, false, at("/api/v4", gitlabNever+gitlabElsewhere))
}

func TestGitea(t *testing.T) {
	s := newService(t, Config{Kind: Gitea, Repos: []string{"o/r"}})
	judged(t, s, true, at("/api/v1", `
		GET %/version
		GET %/user
		GET %/repos/o/r/issues
		GET %/repos/other/one/raw/README.md
		GET %/repos/o/r/branches/feat%2Fx
		POST %/repos/o/r/issues {"title":"t"}
		POST %/repos/O/R/pulls {"head":"f"}
		POST %/repos/o/r/pulls/1/reviews {"event":"COMMENT"}`))
	judged(t, s, false, at("/api/v1", `
		GET %/users/o/tokens
		POST %/users/o/tokens {}
		GET %/user/keys
		GET %/user/emails
		GET %/admin/users
		GET %/repos/o/r/hooks
		GET %/repos/o/r/keys
		GET %/repos/o/r/actions/secrets
		POST %/user/repos {}
		POST %/repos/migrate {}
		POST %/repos/o/r/forks {}
		POST %/repos/o/r/pulls/1/merge {}
		POST %/repos/o/r/pulls/1/reviews {"event":"APPROVED"}
		POST %/repos/o/r/contents/a {}
		POST %/repos/o/r/branches {}
		PATCH %/repos/o/r {}
		POST %/repos/other/one/issues {"title":"t"}
		GET %/repos/o/r/issues?sudo=admin`))
}

func TestUserRules(t *testing.T) {
	s := newService(t, Config{Kind: GitHub, Host: "api.github.com", Repos: []string{"o/r"},
		Allow: []string{"PUT /repos/o/r/pulls/{n}/merge", "POST /repos/o/*/issues", "GET /gists/**", "WEBSOCKET /live/*"},
		Deny:  []string{"GET /search/**", "* /repos/o/secret/**", "GET /repos/*/*/contents/**"},
	})
	judged(t, s, true, `
		PUT /repos/o/r/pulls/1/merge {}
		POST /repos/o/other/issues title=t
		GET /gists/abc
		GET /repos/o/r`)
	judged(t, s, false, `
		PUT /repos/o/r/pulls/x/merge {}
		GET /search/code?q=x
		GET /SEARCH/code
		POST /repos/o/secret/issues {"title":"t"}
		GET /repos/o/secret
		GET /repos/o/Secret/issues
		GET /repos/o/r/contents/a%2Fb
		POST /gists {"files":{}}
		GET /live/x`)
	up := request("GET /live/x")
	up.Header.Set("Upgrade", "websocket")
	if d := s.Judge(up); !d.Allow {
		t.Errorf("an upgrade that a rule allows: %+v", d)
	}
	up.Path = "/repos/o/r"
	if d := s.Judge(up); d.Allow || !strings.Contains(d.Reason, "WebSocket") {
		t.Errorf("an upgrade that none allows: %+v", d)
	}
	if s.NeedsBody(request("POST /repos/o/x/issues")) || !s.NeedsBody(request("POST /repos/o/r/labels")) || s.NeedsBody(request("GET /repos/o/r")) {
		t.Error("NeedsBody")
	}
}

func TestFormHoldsWhateverIsAllowed(t *testing.T) {
	s := newService(t, Config{Kind: Bearer, Allow: []string{"* /**"}})
	judged(t, s, true, `
		POST /a/b?x=1
		DELETE /a/
		GET /a%20b/%C3%A4`)
	judged(t, s, false, `
		GET a
		GET *
		GET /a//b
		GET //a
		GET /a/./b
		GET /a/../b
		GET /a/..
		GET /a/%2e%2e/b
		GET /a/%2E/b
		GET /a%2fb
		GET /a%5cb
		GET /a\b
		GET /a%00
		GET /a%0d%0a
		GET /%61
		GET /a%25
		GET /a%2
		GET /a%zz
		GET /a;b
		GET /a%3bb
		GET /%ff
		GET /ä
		GET /a#b
		GET /a?_method=PUT
		GET /a?_METHOD[]=PUT
		GET /a?%5fmethod=PUT
		GET /a?x-http-method-override=PUT
		GET /a?b;c
		GET /a?%zz
		TRACE /a
		CONNECT /a
		get /a
		WEBSOCKET /a`)
	for _, name := range []string{"X-HTTP-Method-Override", "X-Http-Method", "X-METHOD-OVERRIDE", "X-Original-URL", "X-Rewrite-Url", "Sudo", "X_Http_Method_Override"} {
		r := request("GET /a")
		r.Header[name] = []string{"DELETE"}
		if d := s.Judge(r); d.Allow {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestBodyIsWhatItIsCalled: what is called a form is read as one, and this text
// would be an order to delete.
func TestBodyIsWhatItIsCalled(t *testing.T) {
	s := newService(t, Config{Kind: GitLab, Repos: []string{"42"}})
	for called, allow := range map[string]bool{
		"application/json":                             true,
		"application/json; charset=UTF-8":              true,
		"application/vnd.api+json":                     true,
		"":                                             false,
		"application/x-www-form-urlencoded":            false,
		"multipart/form-data; boundary=x":              false,
		"text/plain":                                   false,
		"application/json; charset=utf-16":             false,
		"application/json; charset=utf-8; q=1":         false,
		"application/x-www-form-urlencoded; x=\"+json": false,
	} {
		r := request(`POST /api/v4/projects/42/issues {"title":"&_method=DELETE&private_token=x&"}`)
		r.Header.Set("Content-Type", called)
		if called == "" {
			r.Header.Del("Content-Type")
		}
		if d := s.Judge(r); d.Allow != allow {
			t.Errorf("%q: %v %s", called, d.Allow, d.Reason)
		}
	}
	twice := request(`POST /api/v4/projects/42/issues {"title":"t"}`)
	twice.Header["Content-Type"] = []string{"application/json", "application/x-www-form-urlencoded"}
	if s.Judge(twice).Allow {
		t.Error("two types of one body")
	}
	chunked := request(`GET /api/v4/projects/42/issues`)
	chunked.Length = -1
	if s.Judge(chunked).Allow {
		t.Error("a body with a request that reads")
	}
	long := request(`POST /api/v4/projects/42/issues`)
	long.Body = []byte(`{"title":"` + strings.Repeat("x", MaxBody) + `"}`)
	long.Length = int64(len(long.Body))
	if s.Judge(long).Allow {
		t.Error("a body that is too long to be looked at")
	}
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		"kind":       {Kind: "ftp", Host: "a.test"},
		"host":       {Kind: NPM, Host: "a.test/x"},
		"api.github": {Kind: GitHub, Host: "github.com"},
		"base":       {Kind: NPM, Host: "a.test", Base: "/a/../b"},
		"plain path": {Kind: NPM, Host: "a.test", Base: "/a*"},
		"whole host": {Kind: GitLab, Host: "a.test", Base: "/lab"},
		"field":      {Kind: Header, Host: "a.test"},
		"carry":      {Kind: Header, Host: "a.test", Field: "Host"},
		"publish":    {Kind: Bearer, Host: "a.test", Publish: true},
		"forges":     {Kind: NPM, Host: "a.test", Repos: []string{"o/r"}},
		"owner/name": {Kind: GitHub, Host: "a.test", Repos: []string{"o"}},
		"not a name": {Kind: GitHub, Host: "a.test", Repos: []string{"o/.."}},
		"form":       {Kind: NPM, Host: "a.test", Allow: []string{"/x"}},
		"FETCH":      {Kind: NPM, Host: "a.test", Deny: []string{"FETCH /x"}},
		"dot":        {Kind: NPM, Host: "a.test", Allow: []string{"GET /a/../b"}},
		"control":    {Kind: NPM, Host: "a.test", Allow: []string{"GET /\x00a"}},
		"braces":     {Kind: NPM, Host: "a.test", Allow: []string{"GET /{x}"}},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// A write to Gitea holds the fields that its API has for it today, in their own letters:
// one of tomorrow may merge or lead to another repository.
func TestFieldsOfGitea(t *testing.T) {
	s := newService(t, Config{Kind: Gitea, Repos: []string{"o/r"}})
	judged(t, s, true, at("/api/v1", `
		POST %/repos/o/r/issues {"title":"t","body":"b","ref":"main","assignees":["a"],"labels":[1],"milestone":1,"due_date":"2026-01-01T00:00:00Z","closed":false}
		PATCH %/repos/o/r/issues/1 {"title":"t","state":"closed","unset_due_date":true}
		POST %/repos/o/r/issues/1/comments {"body":"b"}
		PUT %/repos/o/r/issues/1/labels {"labels":["bug"]}
		DELETE %/repos/o/r/issues/1/labels/2
		POST %/repos/o/r/issues/1/reactions {"content":"+1"}
		POST %/repos/o/r/pulls {"head":"f","base":"main","title":"t","body":"b","reviewers":["a"],"team_reviewers":["b"]}
		PATCH %/repos/o/r/pulls/1 {"title":"t","base":"main","allow_maintainer_edit":true}
		POST %/repos/o/r/labels {"name":"n","color":"#fff","description":"d","exclusive":true}
		POST %/repos/o/r/pulls/1/reviews {"event":"REQUEST_CHANGES","body":"b","commit_id":"a","comments":[{"path":"f","body":"b","new_position":1,"old_position":0}]}
		POST %/repos/o/r/pulls/1/reviews/2 {"event":"COMMENT","body":"b"}`))
	judged(t, s, false, at("/api/v1", `
		POST %/repos/o/r/issues {"title":"t","target_repo":"o/other"}
		POST %/repos/o/r/issues {"Title":"t"}
		PATCH %/repos/o/r/issues/1 {"repo":"o/other"}
		POST %/repos/o/r/issues/1/comments {"body":"b","updated_at":"2000-01-01T00:00:00Z"}
		POST %/repos/o/r/pulls {"head":"f","base":"main","auto_merge":true}
		POST %/repos/o/r/pulls {"head":"f","merge_when_checks_succeed":true}
		PATCH %/repos/o/r/pulls/1 {"Do":"merge"}
		POST %/repos/o/r/pulls/1/reviews {"event":"COMMENT","comments":[{"path":"f","body":"b","event":"APPROVED"}]}
		POST %/repos/o/r/pulls/1/reviews {"event":"COMMENT","comments":"x"}
		POST %/repos/o/r/pulls/1/reviews {"event":"COMMENT","comments":["x"]}
		POST %/repos/o/r/pulls/1/reviews {"event":"APPROVED"}`))
}

// Answers that are files of a repository are known by their path, and others are not.
func TestFilesOfForges(t *testing.T) {
	for _, c := range []struct {
		config Config
		files  string
		others string
	}{
		{Config{Kind: GitHub, Host: "api.github.com", Repos: []string{"o/r"}}, "/repos/o/r/contents/a/b /repos/x/y/readme /repos/o/r/zipball/main /repos/o/r/git/blobs/abc /repos/o/r/pulls/1 /repos/o/r/commits/abc /repos/o/r/compare/a...b", "/repos/o/r /user /repos/o/r/issues/1 /repos/o/r/pulls /repos/o/r/pulls/1/files"},
		{Config{Kind: GitLab, Repos: []string{"o/r"}}, "/api/v4/projects/o%2Fr/repository/files/README.md/raw /api/v4/projects/7/repository/files/a%2Fb/raw /api/v4/projects/7/repository/archive.zip /api/v4/projects/7/repository/blobs/abc/raw /api/v4/projects/7/merge_requests/1/raw_diffs",
			"/api/v4/projects/7 /api/v4/projects/o%2Fr /api/v4/projects/7/repository/files/a /api/v4/projects/7/jobs/1/trace /api/v4/projects/7/merge_requests/1 /api/v4/projects/7/merge_requests/1/diffs"},
		{Config{Kind: Gitea, Repos: []string{"o/r"}}, "/api/v1/repos/o/r/raw/a/b /api/v1/repos/x/y/media/a /api/v1/repos/o/r/archive/main.zip /api/v1/repos/o/r/pulls/1.diff /api/v1/repos/o/r/git/commits/abc.patch", "/api/v1/repos/o/r/pulls/1 /api/v1/repos/o/r /api/v1/user /api/v1/repos/o/r/contents/a"},
	} {
		s := newService(t, c.config)
		for list, want := range map[string]bool{c.files: true, c.others: false} {
			for p := range strings.FieldsSeq(list) {
				if d := s.Judge(request("GET " + p)); !d.Allow || d.Files != want {
					t.Errorf("%s %s: allow %v, files %v", c.config.Kind, p, d.Allow, d.Files)
				}
			}
		}
	}
}
