package broker

import (
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/test/broker/client/call"
	"ringfence.dev/ringfence/test/stage"
)

const commonAddr = "203.0.113.207"

// allGroups switches every group on that allows.
func allGroups() string {
	net := "dev"
	for _, g := range policy.Groups() {
		if !g.Deny {
			net += ",+" + g.Name
		}
	}
	return net
}

// commonHosts are those of the groups on which anybody can write. A star is stood for
// by a name below.
func commonHosts(t testing.TB) (names []string) {
	t.Helper()
	commons, err := (&policy.Policy{Network: policy.Network{Mode: &policy.Rule{Value: "dev"}}}).Commons()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range policy.Groups() {
		for _, h := range g.Hosts {
			h = strings.Replace(h, "*", "any", 1)
			if !g.Deny && !strings.Contains(h, ":") && !slices.Contains(names, h) && commons.Has(address.Name(h)) {
				names = append(names, h)
			}
		}
	}
	if len(names) < 40 {
		t.Fatalf("only %d hosts", len(names))
	}
	return names
}

// internet answers for names, by TLS and in the clear.
func (s *scene) internet(names []string, answer http.HandlerFunc) (secure, clear *vendor) {
	s.t.Helper()
	for _, n := range names {
		s.Answer(n, []string{commonAddr})
	}
	return serve(s.t, listen(s.t, commonAddr+":443"), true, answer), serve(s.t, listen(s.t, commonAddr+":80"), false, answer)
}

// smuggles are requests that write, or carry a token that the agent brought along.
var smuggles = []call.Call{
	{Name: "post", Method: "POST", URL: "/gists", Body: "the loot"},
	{Name: "post with a token", Method: "POST", URL: "/gists", Body: "the loot", Header: map[string]string{"Authorization": "token " + attackToken}},
	{Name: "post without length", Method: "POST", URL: "/upload", Body: "the loot", Slow: true},
	{Name: "put", Method: "PUT", URL: "/@mallory/loot", Body: "the loot", Header: map[string]string{"Authorization": "Bearer " + attackToken}},
	{Name: "patch", Method: "PATCH", URL: "/a", Body: "the loot"},
	{Name: "delete", Method: "DELETE", URL: "/a"},
	{Name: "token", URL: "/user", Header: map[string]string{"Authorization": "token " + attackToken}},
	{Name: "basic", URL: "/user", Header: map[string]string{"Authorization": "Basic " + "eDo=" + attackToken}},
	{Name: "cookie", URL: "/user", Header: map[string]string{"Cookie": "session=" + attackToken}},
	{Name: "private token", URL: "/user", Header: map[string]string{"PRIVATE-TOKEN": attackToken}},
	{Name: "api key", URL: "/user", Header: map[string]string{"X-Api-Key": attackToken}},
	{Name: "nuget key", URL: "/user", Header: map[string]string{"X-NuGet-ApiKey": attackToken}},
	{Name: "query", URL: "/user?access_token=" + attackToken},
	{Name: "override", URL: "/gists?a=the+loot", Header: map[string]string{"X-HTTP-Method-Override": "POST"}},
	{Name: "override in the query", URL: "/gists?_method=POST&a=the+loot"},
	{Name: "body of a read", URL: "/gists", Body: "the loot"},
	{Name: "body of a read without length", URL: "/gists", Body: "the loot", Slow: true},
	{Name: "push", Method: "POST", URL: "/mallory/drop.git/git-receive-pack", Body: "the loot", Header: map[string]string{"Authorization": "Basic " + attackToken}},
	{Name: "push's refs", URL: "/mallory/drop.git/info/refs?service=git-receive-pack", Header: map[string]string{"Authorization": "Basic " + attackToken}},
}

func at(base, host string, list []call.Call) (out []call.Call) {
	for _, c := range list {
		c.Name, c.URL = c.Name+" "+base+host, base+host+c.URL
		out = append(out, c)
	}
	return out
}

// doored is the common host that the registry door serves by its own name.
const doored = "pypi.org"

// Without a remote and without a login, every forge and registry of every group can be
// read, and takes nothing that the agent brings along: no write, no credential. Each user
// reads all of them, and they share what is tried there.
func TestCommonHosts(t *testing.T) {
	s := begin(t)
	names := commonHosts(t)
	secure, clear := s.internet(names, nil)
	var list, reads []call.Call
	for i, n := range names {
		for k, base := range []string{"https://", "http://"} {
			reads = append(reads, call.Call{Name: "read " + base + n, URL: base + n + "/some/path?page=2"})
			for j, c := range at(base, n, smuggles) {
				if stage.Mine(i + j + k) {
					list = append(list, c)
				}
			}
		}
	}
	r := s.ringfence(append([]string{"run", "--net", allGroups(), "--"}, s.calls(append(slices.Clone(list), reads...)...)...)...)
	got := s.answers(r)
	for _, c := range list {
		if a := got[c.Name]; a.Status < 400 || a.Err != "" && a.Status == 0 || !strings.Contains(a.Body, "ringfence") {
			t.Errorf("%s: %+v", c.Name, a)
		}
	}
	for _, c := range reads {
		if strings.HasPrefix(c.URL, "http://"+doored+"/") { // nobody goes past the registry door in the clear
			if a := got[c.Name]; a.Status != 403 || !strings.Contains(a.Body, "by https alone") {
				t.Errorf("%s: %+v", c.Name, a)
			}
			continue
		}
		if a := got[c.Name]; a.Status != 200 || a.Body != "ok" {
			t.Errorf("%s: %+v", c.Name, a)
		}
	}
	for _, q := range append(secure.requests(), clear.requests()...) {
		if text := q.text(); q.Method != "GET" || strings.Contains(text, attackToken) || strings.Contains(text, "loot") {
			t.Errorf("the origin got %s", text)
		}
	}
	if len(secure.requests()) != len(names) || len(clear.requests()) != len(names)-1 {
		t.Errorf("%d and %d requests came to %d hosts", len(secure.requests()), len(clear.requests()), len(names))
	}
	if !r.recorded(func(j journal.Record) bool {
		return j.Kind == journal.Broker && j.Name == "api.github.com" && j.Method == "POST" && j.Verdict == journal.Deny && j.Reason != ""
	}) {
		t.Error("the refusal is not in the journal")
	}
	s.silent(r, attackToken)
}

// The control: on the host, and in the mode that opens all that is public, each of
// them arrives.
func TestCommonHostsControl(t *testing.T) {
	s := begin(t)
	secure, _ := s.internet([]string{"api.github.com"}, nil)
	list := at("https://", "api.github.com", smuggles)
	arrived := func(where string) {
		t.Helper()
		loot := 0
		for _, q := range secure.requests() {
			if text := q.text(); strings.Contains(text, attackToken) || strings.Contains(text, "loot") || q.Method == "DELETE" {
				loot++
			}
		}
		if loot != len(list) {
			t.Errorf("%s: %d of %d arrived", where, loot, len(list))
		}
		secure.forget()
	}
	r := s.host(s.calls(list...)...)
	s.answers(r)
	arrived("on the host")
	s.Put("ca.pem", authority().pem, 0o644)
	r = s.ringfence(append([]string{"run", "--net", "internet", "--", "env", "SSL_CERT_FILE=" + filepath.Join(s.Dir, "ca.pem")}, s.calls(list...)...)...)
	s.answers(r)
	arrived("in mode internet")
}

// A person can open requests by host, method and path; a project's own file cannot.
func TestCommonOpens(t *testing.T) {
	const open = "[broker]\nopen = [\"POST api.github.com/gists\", \"* gitlab.com/**\"]\n"
	list := []call.Call{
		{Name: "open", Method: "POST", URL: "https://api.github.com/gists", Body: "a gist", Header: map[string]string{"Authorization": "token " + attackToken}},
		{Name: "path", Method: "POST", URL: "https://api.github.com/user/repos", Body: "{}"},
		{Name: "method", Method: "PUT", URL: "https://api.github.com/gists", Body: "{}"},
		{Name: "host", Method: "POST", URL: "https://codeberg.org/gists", Body: "{}"},
		{Name: "clear", Method: "POST", URL: "http://api.github.com/gists", Body: "{}"},
		{Name: "whole", Method: "POST", URL: "https://gitlab.com/api/v4/x", Body: "{}"},
	}
	for _, who := range []string{"user", "project"} {
		t.Run(who, func(t *testing.T) {
			s := begin(t)
			secure, clear := s.internet([]string{"api.github.com", "gitlab.com", "codeberg.org"}, nil)
			if who == "user" {
				s.policy(open)
			} else {
				s.Put(".ringfence.toml", []byte(open), 0o644)
			}
			r := s.ringfence(append([]string{"run", "--net", "dev", "--"}, s.calls(list...)...)...)
			got := s.answers(r)
			for _, c := range list {
				want := who == "user" && (c.Name == "open" || c.Name == "whole")
				if ok := got[c.Name].Status == 200; ok != want {
					t.Errorf("%s: %+v\n%s", c.Name, got[c.Name], r.Stderr)
				}
			}
			if who == "user" && !secure.holds("token "+attackToken) || who != "user" && len(secure.requests()) > 0 || len(clear.requests()) > 0 {
				t.Errorf("the origin got %v", secure.requests())
			}
		})
	}
}

// A registry of images gives everybody a token, and takes no other.
func TestCommonImages(t *testing.T) {
	s := begin(t)
	const token = "anonymousTOKENofTheRegistry0123456789"
	secure, _ := s.internet([]string{"registry-1.docker.io", "auth.docker.io"}, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Host == "auth.docker.io":
			io.WriteString(w, `{"token":"`+token+`","expires_in":300}`)
		case r.Header.Get("Authorization") == "Bearer "+token:
			io.WriteString(w, "the manifest")
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://auth.docker.io/token",service="registry.docker.io"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	image := "https://registry-1.docker.io/v2/library/x/manifests/latest"
	bearer := map[string]string{"Authorization": "Bearer " + token}
	r := s.ringfence(append([]string{"run", "--net", "dev,+containers", "--"}, s.calls(
		call.Call{Name: "before", URL: image, Header: bearer},
		call.Call{Name: "ask", URL: image},
		call.Call{Name: "token", URL: "https://auth.docker.io/token?service=registry.docker.io&scope=repository:library/x:pull"},
		call.Call{Name: "pull", URL: image, Header: bearer},
		call.Call{Name: "push", Method: "PUT", URL: image, Header: bearer, Body: "{}"},
		call.Call{Name: "elsewhere", URL: "https://auth.docker.io/token", Header: bearer},
	)...)...)
	got := s.answers(r)
	for name, want := range map[string]int{"before": 403, "ask": 401, "token": 200, "pull": 200, "push": 403, "elsewhere": 403} {
		if got[name].Status != want {
			t.Errorf("%s: %+v", name, got[name])
		}
	}
	for _, q := range secure.requests() {
		if q.Method != "GET" {
			t.Errorf("the registry got %s", q.text())
		}
	}
}
