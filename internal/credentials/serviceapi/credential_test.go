package serviceapi

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const phantom = "ghp_phantomphantomphantomphantomphantom"

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestPut(t *testing.T) {
	for _, c := range []struct {
		kind              Kind
		field, user, want string
	}{
		{NPM, "", "", "Bearer REAL"},
		{NPM, "", "u", basic("u", "REAL")},
		{PyPI, "", "", basic("__token__", "REAL")},
		{PyPI, "", "u", basic("u", "REAL")},
		{Cargo, "", "", "REAL"},
		{Go, "", "u", basic("u", "REAL")},
		{Maven, "", "u", basic("u", "REAL")},
		{GitHub, "", "", "Bearer REAL"},
		{GitHub, "", "x-access-token", basic("x-access-token", "REAL")},
		{GitLab, "", "", "Bearer REAL"},
		{Gitea, "", "", "token REAL"},
		{Bearer, "", "", "Bearer REAL"},
		{Basic, "", "u", basic("u", "REAL")},
		{Header, "X-Our-Key", "", ""},
	} {
		s := newService(t, Config{Kind: c.kind, Field: c.field})
		r := httptest.NewRequest("GET", "https://host.test/x", nil)
		s.Put(r, c.user, "REAL")
		if got := r.Header.Get("Authorization"); got != c.want {
			t.Errorf("%s: %q", c.kind, got)
		}
		if c.field != "" && r.Header.Get(c.field) != "REAL" {
			t.Errorf("%s: %v", c.kind, r.Header)
		}
	}
}

// places are all the ways to carry a credential that are known of.
var places = []struct{ header, value, query string }{
	{"Authorization", "Bearer " + phantom, ""},
	{"Authorization", "token " + phantom, ""},
	{"Authorization", phantom, ""},
	{"Authorization", basic("x-access-token", phantom), ""},
	{"Authorization", basic(phantom, "x-oauth-basic"), ""},
	{"Authorization", basic(phantom, ""), ""},
	{"Authorization", "basic " + strings.TrimPrefix(basic("u", phantom), "Basic "), ""},
	{"Private-Token", phantom, ""},
	{"Job-Token", phantom, ""},
	{"X-Api-Key", phantom, ""},
	{"X-Jfrog-Art-Api", phantom, ""},
	{"X-Our-Key", phantom, ""},
	{"", "", "access_token=" + phantom},
	{"", "", "private_token=" + phantom},
	{"", "", "PRIVATE_TOKEN[]=" + phantom},
	{"", "", "%70rivate_token=" + phantom},
	{"", "", "_authToken=" + phantom},
	{"", "", "job_token=" + phantom},
	{"", "", "token=" + phantom},
}

func TestPresentedAndStripped(t *testing.T) {
	s := newService(t, Config{Kind: Header, Field: "x-our-key"})
	for _, p := range places {
		r := httptest.NewRequest("GET", "https://host.test/x?page=2&a=%20b&"+p.query, nil)
		if p.header != "" {
			r.Header.Set(p.header, p.value)
		}
		r.Header.Set("Cookie", "session="+phantom)
		r.Header["X_api_key"] = []string{phantom}
		value, where, err := s.Presented(r)
		if value != phantom || where == "" || err != nil {
			t.Errorf("%+v: %q in %q, %v", p, value, where, err)
		}
		s.Strip(r)
		var b strings.Builder
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "hantom") || strings.Contains(b.String(), "Authorization") {
			t.Errorf("%+v: left over:\n%s", p, b.String())
		}
		if !strings.Contains(r.URL.RawQuery, "page=2&a=%20b") {
			t.Errorf("%+v: query %q", p, r.URL.RawQuery)
		}
		if value, where, err := s.Presented(r); value != "" || where != "" || err != nil {
			t.Errorf("%+v: after: %q %q %v", p, value, where, err)
		}
	}
}

func TestPresentedErrors(t *testing.T) {
	s := newService(t, Config{Kind: GitLab})
	for name, h := range map[string]http.Header{
		"two values":  {"Authorization": {"Bearer " + phantom}, "Private-Token": {"glpat-theirs"}},
		"two headers": {"Authorization": {"Bearer " + phantom, "Bearer theirs-secret"}},
		"not base64":  {"Authorization": {"Basic theirs-secret!"}},
		"a scheme":    {"Authorization": {"Digest username=\"theirs-secret\", response=\"x\""}},
	} {
		r := httptest.NewRequest("GET", "https://host.test/x", nil)
		r.Header = h
		value, _, err := s.Presented(r)
		if err == nil || value != "" || strings.Contains(err.Error(), "theirs") || strings.Contains(err.Error(), "phantom") {
			t.Errorf("%s: %q %v", name, value, err)
		}
	}
	same := httptest.NewRequest("GET", "https://host.test/x?private_token="+phantom, nil)
	same.Header.Set("Authorization", "Bearer "+phantom)
	if value, _, err := s.Presented(same); value != phantom || err != nil {
		t.Errorf("one value in two places: %q %v", value, err)
	}
}

func TestShapes(t *testing.T) {
	for kind, want := range map[Kind]struct {
		prefix string
		length int
	}{NPM: {"npm_", 36}, PyPI: {"pypi-AgEIcHlwaS5vcmc", 150}, Cargo: {"cio", 32}, GitHub: {"ghp_", 36}, GitLab: {"glpat-", 20}, Gitea: {"", 40}} {
		prefix, length, alphabet := Shape(kind)
		if prefix != want.prefix || length != want.length || len(alphabet) < 16 {
			t.Errorf("%s: %q %d %q", kind, prefix, length, alphabet)
		}
	}
	for _, kind := range Kinds() {
		if _, length, alphabet := Shape(kind); length < 20 || len(alphabet) < 16 {
			t.Errorf("%s: a phantom could be guessed", kind)
		}
	}
}

func TestRefusals(t *testing.T) {
	d := Decision{Reason: "publishing \"x\" is denied", Hint: "ask"}
	for _, kind := range Kinds() {
		contentType, body := Refusal(kind, 403, d)
		if strings.HasPrefix(contentType, "application/json") {
			if !json.Valid(body) || !strings.Contains(string(body), `publishing \"x\" is denied (ask)`) {
				t.Errorf("%s: %s", kind, body)
			}
		} else if string(body) != "ringfence: publishing \"x\" is denied (ask)\n" {
			t.Errorf("%s: %s", kind, body)
		}
	}
}

func TestClientEnv(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Kind: NPM, Host: "npm.test", Base: "/private"}, "NPM_TOKEN"},
		{Config{Kind: NPM}, "NPM_TOKEN"},
		{Config{Kind: PyPI}, "TWINE_PASSWORD"},
		{Config{Kind: Cargo}, "CARGO_REGISTRY_TOKEN"},
		{Config{Kind: Cargo, Name: "our-crates"}, "CARGO_REGISTRIES_OUR_CRATES_TOKEN"},
		{Config{Kind: GitHub, Host: "api.github.com"}, "GH_TOKEN"},
		{Config{Kind: GitHub, Host: "ghe.test"}, "GH_ENTERPRISE_TOKEN"},
		{Config{Kind: GitLab}, "GITLAB_TOKEN"},
		{Config{Kind: Gitea}, "GITEA_SERVER_TOKEN"},
	} {
		if got := newService(t, c.config).ClientEnv(phantom)[c.want]; got != phantom {
			t.Errorf("%s: %s = %q", c.config.Kind, c.want, got)
		}
	}
	for _, kind := range []Kind{Go, Maven, Bearer, Basic} {
		if env := newService(t, Config{Kind: kind}).ClientEnv(phantom); len(env) > 0 {
			t.Errorf("%s: %v", kind, env)
		}
	}
}
