package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/test/wait"
)

// soon bounds every wait in a test.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	t.Cleanup(cancel)
	return ctx
}

func mustToken(t testing.TB, l *Login) Token {
	t.Helper()
	token, err := l.Token(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

var (
	past   = time.Now().Add(-time.Hour)
	future = time.Now().Add(time.Hour).Truncate(time.Second)
)

func TestRead(t *testing.T) {
	want := map[Agent]Token{
		Claude:   {Plan: "max", Scopes: []string{"user:inference", "user:design:read"}},
		Codex:    {Plan: "plus", Account: "acct"},
		Gemini:   {},
		Opencode: {Account: "acct"},
	}
	each(t, func(t *testing.T, a Agent) {
		sc := newScene(t, a, future)
		got := mustToken(t, sc.open(t))
		w := want[a]
		w.Kind, w.Expires, w.value = OAuth, future, got.value
		if d := cmp.Diff(w, got, cmp.AllowUnexported(Token{})); d != "" || !strings.HasSuffix(got.Value(), ".0") {
			t.Error(got.Value(), d)
		}
		if asked, _ := sc.s.count(); asked != 0 {
			t.Error("the server was asked")
		}
	})
}

// TestRenew: the file holds the new tokens, and everything else byte for byte.
func TestRenew(t *testing.T) {
	each(t, func(t *testing.T, a Agent) {
		sc := newScene(t, a, past)
		was := sc.text(t)
		l := sc.open(t)
		got := mustToken(t, l)
		if got.Value() != accessOf(1) || !got.Expires.After(time.Now().Add(7*time.Hour)) {
			t.Error(got.Value(), got.Expires)
		}
		text := sc.text(t)
		for _, is := range []string{`"` + accessOf(1) + `"`, `"refresh-1"`} {
			if !strings.Contains(text, is) {
				t.Errorf("no %s in %s", is, text)
			}
		}
		if d := cmp.Diff(blank(t, l, was), blank(t, l, text)); d != "" {
			t.Error(d)
		}
		if other := mustToken(t, sc.open(t)); other.Value() != got.Value() {
			t.Error("another reader finds another token")
		}
		if asked, _ := sc.s.count(); asked != 1 || len(sc.warns) != 0 {
			t.Error(asked, sc.warns)
		}
		if led := l.readLedger(); led.Rescue != nil || led.Renewed.IsZero() {
			t.Error("the ledger still holds a rescue, or no time")
		}
		if fi, err := os.Stat(sc.c.Path); err != nil || fi.Mode() != 0o600 {
			t.Error(fi.Mode(), err)
		}
		onlyOurs(t, sc)
	})
}

// blank is a text in which the members that are renewed are the same.
func blank(t *testing.T, l *Login, text string) string {
	d, err := parseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	edits := l.format.edits(d, grant{access: "A", refresh: "R", expires: past, scopes: []string{"S"}}, past)
	out, err := d.apply(edits)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// onlyOurs: no lock and no temporary file of ours is left beside the client's.
func onlyOurs(t *testing.T, sc *scene) {
	t.Helper()
	filepath.WalkDir(sc.dir, func(path string, e fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if strings.Contains(name, "ringfence") || name == ".oauth_refresh.lock" || name == ".claude.lock" {
			t.Errorf("%s is left", path)
		}
		return err
	})
}

// TestAsk: what the vendors' servers are sent.
func TestAsk(t *testing.T) {
	want := map[Agent]map[string]string{
		Claude: {"client_id": claudeEndpoint.ClientID,
			"scope": "user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload user:design:read"},
		Codex:    {"client_id": codexEndpoint.ClientID},
		Gemini:   {"client_id": geminiEndpoint.ClientID, "client_secret": geminiEndpoint.ClientSecret},
		Opencode: {"client_id": codexEndpoint.ClientID},
	}
	each(t, func(t *testing.T, a Agent) {
		sc := newScene(t, a, past)
		mustToken(t, sc.open(t))
		w := want[a]
		w["grant_type"], w["refresh_token"] = "refresh_token", "refresh-0"
		if d := cmp.Diff(w, sc.s.last); d != "" {
			t.Error(d)
		}
	})
}

func TestKeys(t *testing.T) {
	for _, tc := range []struct {
		a    Agent
		text string
		want string // of the error, or the key
	}{
		{Codex, `{"OPENAI_API_KEY":"sk-1"}`, "sk-1"},
		{Codex, `{"auth_mode":"apikey","OPENAI_API_KEY":"sk-1","tokens":null}`, "sk-1"},
		{Codex, `{"auth_mode":"chatgpt","OPENAI_API_KEY":"sk-1"}`, "codex is not logged in"},
		{Codex, `{"auth_mode":"agentIdentity"}`, "auth_mode is not one that is known"},
		{Codex, `{}`, "codex is not logged in"},
		{Opencode, `{"openai":{"type":"api","key":"sk-2"}}`, "sk-2"},
		{Opencode, `{"openai":{"type":"api","key":""}}`, "is empty"},
		{Opencode, `{"anthropic":{"type":"api","key":"sk-2"}}`, "opencode is not logged in"},
		{Opencode, `{"openai":{"type":"wellknown"}}`, `the type of "openai" is not one that is known`},
		{Claude, `{"mcpOAuth":{}}`, "claude is not logged in"},
		{Claude, `{"claudeAiOauth":{"accessToken":"a","expiresAt":1}}`, "has ended, and nothing there renews it"},
		{Claude, "{\"claudeAiOauth\":{\n\"accessToken\":7}}", `line 2: "accessToken" is not a string`},
		{Claude, `{"claudeAiOauth":{"accessToken":"a\nb"}}`, `"accessToken" holds what no header can`},
		{Claude, `{"claudeAiOauth":{"accessToken":"a","accessToken":"b"}}`, "line 1: a name that was there before"},
		{Claude, "{\n\"x\": secret}", "not JSON: line 2"},
		{Claude, `["x"]`, "not an object"},
		{Claude, ``, "not JSON"},
		{Gemini, `{"token_type":"Bearer"}`, "gemini is not logged in"},
	} {
		t.Run(string(tc.a), func(t *testing.T) {
			t.Parallel()
			sc := newScene(t, tc.a, past)
			sc.put(t, tc.text)
			token, err := sc.open(t).Token(soon(t))
			if err == nil && token.Value() != tc.want || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s %s: %s %v", tc.a, tc.text, token.Value(), err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error quotes the file: %v", err)
			}
		})
	}
}

func TestNoFile(t *testing.T) {
	each(t, func(t *testing.T, a Agent) {
		sc := newScene(t, a, past)
		os.Remove(sc.c.Path)
		_, err := sc.open(t).Token(soon(t))
		if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(fault.HintOf(err), "log in again: run "+string(a)) {
			t.Error(err, fault.HintOf(err))
		}
		if _, err := os.Lstat(sc.c.Path); !errors.Is(err, fs.ErrNotExist) {
			t.Error("a file was made")
		}
	})
}

// TestAway: while the server is away Token waits; it recovers by itself.
func TestAway(t *testing.T) {
	sc := newScene(t, Claude, past)
	sc.s.before = func(n int) (int, string) {
		switch n {
		case 1:
			return http.StatusServiceUnavailable, "<html>"
		case 2:
			return http.StatusTooManyRequests, ""
		}
		return 0, ""
	}
	if got := mustToken(t, sc.open(t)); got.Value() != accessOf(1) {
		t.Error(got.Value())
	}
	if asked, issued := sc.s.count(); asked != 3 || issued != 1 {
		t.Error(asked, issued)
	}
}

// TestGone: when ctx ends first, that is an error, and the file is as it was.
func TestGone(t *testing.T) {
	sc := newScene(t, Claude, past)
	sc.s.Close()
	was := sc.text(t)
	ctx, cancel := context.WithTimeout(soon(t), 700*time.Millisecond)
	defer cancel()
	_, err := sc.open(t).Token(ctx)
	if !errors.Is(err, errAway) || sc.text(t) != was {
		t.Error(err)
	}
	onlyOurs(t, sc)
}

// TestEarly: a token that is about to end is used while it cannot be renewed, and the
// server is not asked at every call.
func TestEarly(t *testing.T) {
	sc := newScene(t, Claude, time.Now().Add(3*time.Minute))
	sc.s.before = func(n int) (int, string) { return http.StatusBadGateway, "" }
	l := sc.open(t)
	for range 3 {
		if got := mustToken(t, l); !strings.HasSuffix(got.Value(), ".0") {
			t.Error(got.Value())
		}
	}
	if asked, _ := sc.s.count(); asked != 1 || len(sc.warns) != 1 {
		t.Error(asked, sc.warns)
	}
	// Once it has ended there is no way around.
	sc.c.Now = func() time.Time { return time.Now().Add(time.Hour) }
	sc.s.before = nil
	if got := mustToken(t, sc.open(t)); got.Value() != accessOf(1) {
		t.Error(got.Value())
	}
}

// TestRefused: one clear sentence, and nobody asks with that token again.
func TestRefused(t *testing.T) {
	each(t, func(t *testing.T, a Agent) {
		sc := newScene(t, a, past)
		sc.s.good = "another"
		was := sc.text(t)
		for i := range 3 {
			l := sc.open(t)
			_, err := l.Token(soon(t))
			if err == nil || !strings.HasPrefix(fault.HintOf(err), "log in again: run ") || strings.Contains(err.Error(), "refresh-0") {
				t.Errorf("%d: %v (%s)", i, err, fault.HintOf(err))
			}
		}
		if asked, _ := sc.s.count(); asked != 1 || sc.text(t) != was {
			t.Error(asked, sc.text(t))
		}
		sc.put(t, strings.Replace(was, "refresh-0", "another", 1))
		if got := mustToken(t, sc.open(t)); got.Value() != accessOf(1) {
			t.Error(got.Value())
		}
	})
}

// TestOddAnswers: other refusals and what is no answer are not asked for at once
// again, but later.
func TestOddAnswers(t *testing.T) {
	for _, tc := range []struct {
		status int
		body   string
		want   string
	}{
		{403, "blocked", "answered 403"},
		{400, `{"error":"invalid_client"}`, "answered 400 invalid_client"},
		{401, `{"error":{"code":"token <x>","type":"invalid_request_error"}}`, "answered 401 invalid_request_error"},
		{302, "", "answered 302"},
		{200, "{}", "no access_token"},
		{200, `{"access_token":"a\u0000"}`, "what no header can"},
		{200, "<html>", "not JSON"},
	} {
		sc := newScene(t, Claude, past)
		sc.s.before = func(n int) (int, string) {
			if n > 1 {
				return 0, ""
			}
			return tc.status, tc.body
		}
		_, err := sc.open(t).Token(soon(t))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc, err)
		}
		if _, err = sc.open(t).Token(soon(t)); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%+v: %v", tc, err)
		}
		sc.c.Now = func() time.Time { return time.Now().Add(2 * calm) }
		mustToken(t, sc.open(t))
		if asked, _ := sc.s.count(); asked != 2 {
			t.Errorf("%+v: asked %d times", tc, asked)
		}
	}
}

// TestOddLife: what is odd beside the tokens does not lose the login.
func TestOddLife(t *testing.T) {
	for _, rest := range []string{``, `,"expires_in":"3600"`, `,"expires_in":-1`, `,"expires_in":1e300`, `,"scope":7`, `,"id_token":{}`} {
		sc := newScene(t, Gemini, past)
		sc.s.before = func(int) (int, string) { return 200, `{"access_token":"new"` + rest + `}` }
		got := mustToken(t, sc.open(t))
		if left := time.Until(got.Expires); got.Value() != "new" || left < 50*time.Minute || left > 70*time.Minute {
			t.Error(rest, got.Value(), left)
		}
		if !strings.Contains(sc.text(t), `"refresh-0"`) {
			t.Error("the refresh token that is still good was lost")
		}
	}
}

// TestSomebodyElse: the client logged in or renewed while the server was asked.
func TestSomebodyElse(t *testing.T) {
	theirs := strings.Replace(fileAt(Claude, future), "refresh-0", "theirs", 1)
	t.Run("refused", func(t *testing.T) {
		sc := newScene(t, Claude, past)
		sc.s.before = func(int) (int, string) {
			sc.put(t, theirs)
			return 400, `{"error":"invalid_grant"}`
		}
		if got := mustToken(t, sc.open(t)); !got.Expires.Equal(future) || sc.text(t) != theirs {
			t.Error(got.Expires, sc.text(t))
		}
	})
	t.Run("refused, written later", func(t *testing.T) {
		sc := newScene(t, Codex, past)
		sc.s.good = "theirs"
		l := sc.open(t)
		l.step = func(s string) {
			if s == "answered" {
				time.AfterFunc(100*time.Millisecond, func() { sc.put(t, strings.Replace(fileAt(Codex, future), "refresh-0", "theirs", 1)) })
			}
		}
		if got := mustToken(t, l); !got.Expires.Equal(future) {
			t.Error(got.Expires)
		}
	})
	t.Run("issued", func(t *testing.T) {
		sc := newScene(t, Claude, past)
		sc.s.during = func() { sc.put(t, theirs) }
		if got := mustToken(t, sc.open(t)); !got.Expires.Equal(future) || sc.text(t) != theirs {
			t.Error(got.Expires, sc.text(t))
		}
	})
	t.Run("emptied", func(t *testing.T) {
		sc := newScene(t, Claude, past)
		emptied := `{"claudeAiOauth":{"accessToken":"","refreshToken":"","expiresAt":0}}`
		sc.s.during = func() { sc.put(t, emptied) }
		if got := mustToken(t, sc.open(t)); got.Value() != accessOf(1) || !strings.Contains(sc.text(t), "refresh-1") {
			t.Error(got.Value(), sc.text(t))
		}
	})
	t.Run("logged out", func(t *testing.T) {
		sc := newScene(t, Claude, past)
		sc.s.during = func() { os.Remove(sc.c.Path) }
		l := sc.open(t)
		mustToken(t, l)
		if _, err := l.Token(soon(t)); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	t.Run("between calls", func(t *testing.T) {
		sc := newScene(t, Claude, future)
		l := sc.open(t)
		first := mustToken(t, l)
		sc.put(t, strings.Replace(sc.text(t), `.0"`, `.9"`, 1))
		if second := mustToken(t, l); second.Value() == first.Value() {
			t.Error("the file was not read again")
		}
	})
}

// TestTorn: a client writes in place; what is not whole is read again.
func TestTorn(t *testing.T) {
	sc := newScene(t, Codex, future)
	whole := sc.text(t)
	sc.put(t, whole[:len(whole)/2])
	done := make(chan error, 1)
	l := sc.open(t)
	go func() {
		_, err := l.Token(context.Background())
		done <- err
	}()
	sc.put(t, whole)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestStale: upstream refuses a token that looks good.
func TestStale(t *testing.T) {
	sc := newScene(t, Codex, future)
	a, b := sc.open(t), sc.open(t)
	old := mustToken(t, a)
	mustToken(t, b)
	a.Stale(old)
	b.Stale(old)
	if mustToken(t, a).Value() != accessOf(1) || mustToken(t, b).Value() != accessOf(1) {
		t.Error("not renewed")
	}
	// Refused again right away: an error, no request; then the token has another chance.
	fresh := mustToken(t, a)
	a.Stale(fresh)
	if _, err := a.Token(soon(t)); err == nil || !strings.Contains(err.Error(), "only just now") {
		t.Error(err)
	}
	if mustToken(t, a).Value() != fresh.Value() {
		t.Error("another token")
	}
	if asked, _ := sc.s.count(); asked != 1 {
		t.Error(asked)
	}
	sc.put(t, `{"OPENAI_API_KEY":"sk-1"}`)
	a.Stale(mustToken(t, a))
	if _, err := a.Token(soon(t)); err == nil || !strings.Contains(err.Error(), "a key that upstream refuses") {
		t.Error(err)
	}
}

// TestShortLife: a life shorter than the margin is not renewed at every call.
func TestShortLife(t *testing.T) {
	sc := newScene(t, Gemini, past)
	sc.s.before = func(n int) (int, string) { return 200, fmt.Sprintf(`{"access_token":"a%d","expires_in":120}`, n) }
	l := sc.open(t)
	for range 3 {
		if got := mustToken(t, l); got.Value() != "a1" {
			t.Error(got.Value())
		}
	}
}

// TestSilence: no way to print a token or a login shows a secret.
func TestSilence(t *testing.T) {
	sc := newScene(t, Claude, future)
	l := sc.open(t)
	token := mustToken(t, l)
	text, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	led := ledger{}
	led.keepRescue("refresh-0", grant{access: token.Value(), refresh: "refresh-1"})
	type holder struct{ t Token }
	shown := string(text) + fmt.Sprintf("%v %+v %#v %s %q %x %v", token, token, token, token, &token, token, []Token{token}) +
		fmt.Sprintf("%v %+v %#v %+v %#v", l.grant, holder{token}, holder{token}, l, l) + fmt.Sprint(led.Rescue)
	if strings.Contains(shown, token.Value()) || strings.Contains(shown, "refresh-") {
		t.Error(shown)
	}
}

func TestOpen(t *testing.T) {
	good := config(Claude, "/home/x", "http://127.0.0.1:1")
	for name, change := range map[string]func(*Config){
		"agent":     func(c *Config) { c.Agent = "vi" },
		"provider":  func(c *Config) { c.Provider = "openai" },
		"path":      func(c *Config) { c.Path = "x" },
		"state":     func(c *Config) { c.State = "" },
		"transport": func(c *Config) { c.Transport = nil },
	} {
		c := good
		change(&c)
		if _, err := Open(c); err == nil {
			t.Error(name)
		}
	}
}

func TestPath(t *testing.T) {
	env := map[string]string{}
	get := func(name string) string { return env[name] }
	for _, tc := range []struct {
		a           Agent
		name, value string
		want        string
	}{
		{Claude, "", "", "/h/.claude/.credentials.json"},
		{Claude, "CLAUDE_CONFIG_DIR", "/c", "/c/.credentials.json"},
		{Claude, "CLAUDE_CONFIG_DIR", "c", "/h/.claude/.credentials.json"},
		{Codex, "", "", "/h/.codex/auth.json"},
		{Codex, "CODEX_HOME", "/c", "/c/auth.json"},
		{Gemini, "", "", "/h/.gemini/oauth_creds.json"},
		{Gemini, "GEMINI_CLI_HOME", "/c", "/c/.gemini/oauth_creds.json"},
		{Opencode, "", "", "/h/.local/share/opencode/auth.json"},
		{Opencode, "XDG_DATA_HOME", "/c", "/c/opencode/auth.json"},
	} {
		clear(env)
		env[tc.name] = tc.value
		if got := Path(tc.a, get, "/h"); got != tc.want {
			t.Error(tc, got)
		}
	}
}
