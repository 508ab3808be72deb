package serviceapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// line is "METHOD HOST/PATH?QUERY" and fields.
func commonRequest(t testing.TB, text string, fields ...string) (string, Request) {
	t.Helper()
	method, rest, _ := strings.Cut(text, " ")
	u, err := url.Parse("https://" + rest)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		h[http.CanonicalHeaderKey(name)] = append(h[http.CanonicalHeaderKey(name)], value)
	}
	return u.Host, Request{Method: method, Path: u.EscapedPath(), Query: u.RawQuery, Header: h}
}

func TestCommonReads(t *testing.T) {
	c := &Common{}
	for _, text := range []string{
		"GET github.com/o/r", "HEAD crates.io/api/v1/crates/x", "OPTIONS api.github.com/gists", "GET api.github.com/gists/1?per_page=3&page=2",
		"GET x.npmjs.org/@a%2fb", "GET example.org/a//b/../c", "POST x.npmjs.org/-/npm/v1/security/advisories/bulk",
		"POST x.yarnpkg.com/-/npm/v1/security/audits/quick", "POST packagist.org/api/security-advisories/", "POST casa.stackage.org/v1/pull",
	} {
		host, r := commonRequest(t, text, "User-Agent: x", "Npm-Auth-Type: web", "Npm-Session: 12", "Accept: */*", "Authorization: ")
		if d, raw := c.Judge(host, r); !d.Allow || raw {
			t.Errorf("%s: %+v", text, d)
		}
	}
}

// A write, or a credential in whatever place, does not pass.
func TestCommonRefuses(t *testing.T) {
	c := &Common{}
	for _, row := range [][]string{
		{"POST api.github.com/gists"}, {"PUT x.npmjs.org/mine"}, {"PATCH gitlab.com/api/v4/x"}, {"DELETE crates.io/x"}, {"PROPFIND sr.ht/"}, {"get github.com/"},
		{"POST x.npmjs.org/-/v1/login"}, {"PUT x.npmjs.org/-/npm/v1/security/x"}, {"POST x.npmjs.org/-/npm/v1/security/../tokens"},
		{"POST x.npmjs.org/-/npm/v1%2fsecurity/x"}, {"POST npmjs.org.evil.test/-/npm/v1/security/x"}, {"POST github.com/-/npm/v1/security/x"},
		{"POST github.com/o/r.git/git-upload-pack"}, {"CONNECT github.com/"}, {"WEBSOCKET github.com/"},
		{"GET github.com/", "Authorization: token x"}, {"GET github.com/", "Authorization: Bearer x"}, {"GET github.com/", "Cookie: user_session=x"},
		{"GET gitlab.com/", "PRIVATE-TOKEN: x"}, {"GET gitlab.com/", "Private_Token: x"}, {"GET gitlab.com/", "JOB-TOKEN: x"}, {"GET api.nuget.org/", "X-NuGet-ApiKey: x"},
		{"GET pub.dev/", "X-Api-Key: x"}, {"GET hex.pm/", "X-Anything-Secret: x"}, {"GET hex.pm/", "X-Hub-Signature: x"}, {"GET hex.pm/", "Proxy-Authorization: Basic x"},
		{"GET hex.pm/", "X-Github-Otp: 1"}, {"GET hex.pm/", "Authorization: ", "Authorization: x"},
		{"GET gitlab.com/?private_token=x"}, {"GET gitlab.com/?a=b&ACCESS_TOKEN=x"}, {"GET gitlab.com/?access_token[]=x"}, {"GET gitlab.com/?%61ccess_token=x"},
		{"GET gitlab.com/?key=x"}, {"GET gitlab.com/?a=%zz"}, {"GET gitlab.com/?a;b=1"},
		{"GET gitlab.com/", "X-HTTP-Method-Override: POST"}, {"GET gitlab.com/", "X_HTTP_Method_Override: POST"}, {"GET gitlab.com/?_method=delete"},
		{"GET gitlab.com/", "X-Original-URL: /gists"}, {"GET gitlab.com/", "Sudo: root"}, {"GET gitlab.com/", "Upgrade: websocket"},
	} {
		host, r := commonRequest(t, row[0], row[1:]...)
		if d, _ := c.Judge(host, r); d.Allow || d.Reason == "" {
			t.Errorf("%q: %+v", row, d)
		}
	}
	for _, length := range []int64{-1, 1} {
		host, r := commonRequest(t, "GET github.com/")
		r.Length = length
		if d, _ := c.Judge(host, r); d.Allow {
			t.Errorf("a body of %d passes", length)
		}
	}
}

func TestCommonOpens(t *testing.T) {
	c := &Common{}
	if err := c.Open(is("api.github.com"), "POST /gists/**"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"POST api.github.com/gists": true, "POST api.github.com/gists/1": true, "PUT api.github.com/gists": false, "POST github.com/gists": false,
		"POST api.github.com/gists/../user": false, "POST api.github.com/%67ists": false, "POST api.github.com/GISTS": false,
	} {
		host, r := commonRequest(t, text, "Authorization: token x")
		r.Length = 7
		if d, raw := c.Judge(host, r); d.Allow != want || raw != want {
			t.Errorf("%s: %+v", text, d)
		}
	}
	// Not even what is open passes for another request.
	host, r := commonRequest(t, "POST api.github.com/gists", "X-HTTP-Method-Override: DELETE")
	if d, _ := c.Judge(host, r); d.Allow {
		t.Errorf("%+v", d)
	}
}

// A token that a registry gives to everybody is no credential of anybody's.
func TestCommonTokens(t *testing.T) {
	c := &Common{}
	c.Given("auth.docker.io", []byte(`{"token":"anonymous","access_token":"the same"}`))
	c.Given("github.com", []byte(`{"token":"a file of somebody's"}`))
	c.Given("auth.docker.io", []byte(`not JSON`))
	for _, row := range []struct {
		text, field string
		want        bool
	}{
		{"GET registry-1.docker.io/v2/library/x/manifests/1", "Authorization: Bearer anonymous", true},
		{"HEAD registry-1.docker.io/v2/library/x/manifests/1", "Authorization: Bearer the same", true},
		{"PUT registry-1.docker.io/v2/library/x/manifests/1", "Authorization: Bearer anonymous", false},
		{"GET ghcr.io/v2/library/x/manifests/1", "Authorization: Bearer anonymous", false},
		{"GET registry-1.docker.io/v2/", "Authorization: Bearer other", false},
		{"GET registry-1.docker.io/v2/", "Authorization: Bearer a file of somebody's", false},
		{"GET registry-1.docker.io/v2/", "Authorization: Basic anonymous", false},
		{"GET registry-1.docker.io/v2/", "Authorization: anonymous", false},
		{"GET registry-1.docker.io/v2/", "X-Auth-Token: Bearer anonymous", false},
	} {
		host, r := commonRequest(t, row.text, row.field)
		if d, _ := c.Judge(host, r); d.Allow != row.want {
			t.Errorf("%s, %s: %+v", row.text, row.field, d)
		}
	}
	if !c.Issues("auth.docker.io", "/token") || c.Issues("github.com", "/token") || c.Issues("auth.docker.io", "/x") {
		t.Error("the issuers are not known")
	}
}

func FuzzCommon(f *testing.F) {
	f.Add("GET", "/a", "b=c", "Accept", "x")
	f.Add("POST", "/-/npm/v1/security/advisories/bulk", "", "Authorization", "Bearer x")
	f.Add("GET", "/%2e%2e/", "access_token=x", "Private-Token", "x")
	f.Fuzz(func(t *testing.T, method, path, query, name, value string) {
		c := &Common{}
		d, raw := c.Judge("x.npmjs.org", Request{Method: method, Path: path, Query: query, Header: http.Header{name: {value}}})
		if raw || d.Reason == "" {
			t.Fatalf("%+v", d)
		}
		if d.Allow && method != "GET" && method != "HEAD" && method != "OPTIONS" && !strings.HasPrefix(path, "/-/npm/v1/security") {
			t.Fatalf("%s %s passes", method, path)
		}
		if d.Allow && strings.EqualFold(name, "Authorization") && strings.TrimSpace(value) != "" {
			t.Fatalf("a credential passes: %q", value)
		}
	})
}
