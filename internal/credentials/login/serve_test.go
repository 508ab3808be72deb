package login

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// server renews tokens as the vendors do: each refresh token may be used once.
type server struct {
	*httptest.Server

	mu     sync.Mutex
	good   string // the refresh token that is good now
	asked  int
	issued int
	last   map[string]string
	before func(n int) (status int, body string) // may answer instead; n counts from 1
	during func()                                // after a token was issued, before it is sent
}

func newServer(t testing.TB, refresh string) *server {
	s := &server{good: refresh}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.before != nil {
		if status, body := s.before(s.asked); status != 0 {
			w.WriteHeader(status)
			io.WriteString(w, body)
			return
		}
	}
	s.last = readAsk(r)
	if s.last["refresh_token"] != s.good || s.last["grant_type"] != "refresh_token" {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error": "invalid_grant", "error_description": "`+s.last["refresh_token"]+`"}`)
		return
	}
	s.issued++
	s.good = fmt.Sprintf("refresh-%d", s.issued)
	if s.during != nil {
		s.during()
	}
	fmt.Fprintf(w, `{"token_type": "Bearer", "access_token": %q, "refresh_token": %q, "expires_in": 28800}`, accessOf(s.issued), s.good)
}

// accessOf is what the server issues as its nth.
func accessOf(n int) string { return inParts(ends, n) }

// inParts is a token as ChatGPT's: its end can be read from it.
func inParts(end time.Time, n int) string {
	claims := fmt.Sprintf(`{"exp":%d,"https://api.openai.com/auth":{"chatgpt_plan_type":"plus"}}`, end.Unix())
	return fmt.Sprintf("eyJ9.%s.%d", base64.RawURLEncoding.EncodeToString([]byte(claims)), n)
}

// ends is when issued tokens end.
var ends = time.Now().Add(8 * time.Hour).Truncate(time.Second)

func readAsk(r *http.Request) map[string]string {
	ask := map[string]string{}
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("Content-Type") == "application/json" {
		json.Unmarshal(body, &ask)
		return ask
	}
	form, _ := url.ParseQuery(string(body))
	for name := range form {
		ask[name] = form.Get(name)
	}
	return ask
}

func (s *server) count() (asked, issued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.issued
}

// scene is a HOME with a login in it, and a server.
type scene struct {
	dir   string
	c     Config
	s     *server
	warns []string
}

// fileAt returns a client's file with a token that ends at a time. It holds members
// that nobody knows, at all levels.
func fileAt(a Agent, end time.Time) string {
	access := inParts(end, 0)
	ms := end.UnixMilli()
	switch a {
	case Claude:
		return fmt.Sprintf(`{"mcpOAuth": {"x|1": {"n": 1.50e2}}, "claudeAiOauth": {"accessToken": %q,`+"\n"+
			`"refreshToken":"refresh-0", "expiresAt" : %d, "scopes":["user:inference","user:design:read"],"subscriptionType":"max","later":[1,{"a":null}]}, "big": 12345678901234567890}`+"\n", access, ms)
	case Codex:
		return fmt.Sprintf(`{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"a.b.c","access_token":%q,"refresh_token":"refresh-0","account_id":"acct","later":true},`+
			`"last_refresh":"2026-01-01T00:00:00Z","later":{"z":1,"a":2}}`, access)
	case Gemini:
		return fmt.Sprintf(`{"access_token":%q,"refresh_token":"refresh-0","expiry_date":%d,"token_type":"Bearer","scope":"a b","later":"\u00e9"}`, access, ms)
	}
	return fmt.Sprintf(`{"groq":{"type":"api","key":"k"},"openai":{"type":"oauth","access":%q,"refresh":"refresh-0","expires":%d,"accountId":"acct","later":1},"w":{"type":"wellknown"}}`, access, ms)
}

func newScene(t testing.TB, a Agent, end time.Time) *scene {
	t.Helper()
	sc := &scene{dir: t.TempDir(), s: newServer(t, "refresh-0")}
	sc.c = config(a, sc.dir, sc.s.URL)
	sc.c.Warn = func(err error) { sc.warns = append(sc.warns, err.Error()) }
	if err := os.MkdirAll(filepath.Dir(sc.c.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	sc.put(t, fileAt(a, end))
	return sc
}

// config is the same for the test and for the processes that it starts.
func config(a Agent, dir, server string) Config {
	c := Config{Agent: a, Path: Path(a, func(string) string { return "" }, dir), State: filepath.Join(dir, "state"), Transport: &http.Transport{}}
	if a == Opencode {
		c.Provider = "openai"
	}
	f, err := formatOf(a, c.Provider)
	if err != nil {
		panic(err)
	}
	e := *f.endpoint
	e.URL = server
	c.Endpoint = &e
	return c
}

func (sc *scene) put(t testing.TB, text string) {
	t.Helper()
	if err := os.WriteFile(sc.c.Path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (sc *scene) text(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(sc.c.Path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (sc *scene) open(t testing.TB) *Login {
	t.Helper()
	l, err := Open(sc.c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// each runs a test for every client.
func each(t *testing.T, f func(t *testing.T, a Agent)) {
	for _, a := range Agents() {
		t.Run(string(a), func(t *testing.T) {
			t.Parallel()
			f(t, a)
		})
	}
}
