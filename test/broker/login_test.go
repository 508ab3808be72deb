package broker

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

const (
	renewName = "platform.claude.com"
	renewAddr = "203.0.113.206"
)

// account is a vendor with logins: access tokens that end, and refresh tokens each of
// which is good for one renewal.
type account struct {
	mu                   sync.Mutex
	serial               int
	access, refresh      string
	renewals, refusals   int
	away, attempts       int // how the renewing server is, and how often it was asked in vain
	model, renew         *vendor
	answered, mistrusted int
}

func (a *account) tokens(n int) (access, refresh string) {
	return fmt.Sprintf("sk-ant-oat01-CANARYaccess%04d-0123456789abcdefghijklmnop", n), fmt.Sprintf("sk-ant-ort01-CANARYrefresh%04d-0123456789abcdefghijklmnop", n)
}

func (s *scene) account() *account {
	s.t.Helper()
	a := &account{}
	a.access, a.refresh = a.tokens(0)
	a.model = s.vendor(vendorName, vendorAddr, func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+a.access {
			a.mistrusted++
			http.Error(w, `{"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired"}}`, http.StatusUnauthorized)
			return
		}
		a.answered++
		io.WriteString(w, "ok")
	})
	a.renew = s.vendor(renewName, renewAddr, a.serveRenewal)
	s.writeLogin(a, time.Hour)
	s.t.Cleanup(func() { os.RemoveAll(stage.Home + "/.claude") })
	return a
}

func (a *account) serveRenewal(w http.ResponseWriter, r *http.Request) {
	var q struct{ Grant_type, Refresh_token string }
	err := json.NewDecoder(r.Body).Decode(&q)
	time.Sleep(100 * time.Millisecond) // so that who asks at once meets the others
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.away > 0:
		a.attempts++
		http.Error(w, "down", a.away)
	case err != nil || q.Grant_type != "refresh_token" || q.Refresh_token != a.refresh:
		a.refusals++
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
	default:
		a.renewals++
		a.serial++
		a.access, a.refresh = a.tokens(a.serial)
		json.NewEncoder(w).Encode(map[string]any{"access_token": a.access, "refresh_token": a.refresh, "expires_in": 28800, "scope": "user:inference user:profile"})
	}
}

const loginFile = stage.Home + "/.claude/.credentials.json"

// writeLogin writes the file as Claude Code leaves it.
func (s *scene) writeLogin(a *account, left time.Duration) {
	s.t.Helper()
	text := fmt.Sprintf(`{"mcpOAuth":{"kept":"as it is"},"claudeAiOauth":{"accessToken":%q,"refreshToken":%q,"expiresAt":%d,"scopes":["user:inference","user:profile"],"subscriptionType":"max","rateLimitTier":"default_claude_max_20x"}}`,
		a.access, a.refresh, time.Now().Add(left).UnixMilli())
	s.write(loginFile+".new", text, 0o600)
	if err := os.Rename(loginFile+".new", loginFile); err != nil {
		s.t.Fatal(err)
	}
}

// checkLogin: the file is whole, private, and has what the account has now.
func (s *scene) checkLogin(a *account) {
	s.t.Helper()
	st, err := os.Stat(loginFile)
	if err != nil {
		s.t.Fatal(err)
	}
	if st.Mode() != 0o600 {
		s.t.Errorf("the file has mode %v", st.Mode())
	}
	data, err := os.ReadFile(loginFile)
	if err != nil {
		s.t.Fatal(err)
	}
	var file struct {
		McpOAuth      map[string]string
		ClaudeAiOauth struct {
			AccessToken, RefreshToken, SubscriptionType string
			ExpiresAt                                   int64
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		s.t.Fatalf("the file is broken: %v: %s", err, data)
	}
	o := file.ClaudeAiOauth
	if o.AccessToken != a.access || o.RefreshToken != a.refresh || time.UnixMilli(o.ExpiresAt).Before(time.Now().Add(time.Hour)) || o.SubscriptionType != "max" || file.McpOAuth["kept"] != "as it is" {
		s.t.Errorf("the file has %s", data)
	}
}

const postAsLogin = `curl -s -w ' %{http_code}' -H "Authorization: Bearer $CLAUDE_CODE_OAUTH_TOKEN" -H "Content-Type: application/json" -d '` + hello + `' $ANTHROPIC_BASE_URL/v1/messages`

// all has every session say something at once.
func all(sessions []*held, line string) []string {
	out := make([]string, len(sessions))
	var wg sync.WaitGroup
	for i, h := range sessions {
		wg.Go(func() { out[i] = h.say(line) })
	}
	wg.Wait()
	return out
}

// Twenty sessions meet the end of a login at once: one renewal, and nobody notices.
func TestLoginCrowd(t *testing.T) {
	s := begin(t)
	a := s.account()
	sessions := make([]*held, 20)
	for i := range sessions {
		sessions[i] = s.hold("claude", "--", "sh")
	}
	check := func(when string, renewals int) {
		t.Helper()
		for i, got := range all(sessions, postAsLogin) {
			if got != "ok 200" {
				t.Errorf("%s: session %d got %q", when, i, got)
			}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.renewals != renewals || a.refusals != 0 {
			t.Errorf("%s: %d renewals, %d refusals, want %d", when, a.renewals, a.refusals, renewals)
		}
	}
	check("before", 0)
	a.mu.Lock()
	a.access, _ = a.tokens(900) // the one in the file is not good any more, as its date says
	_, keep := a.tokens(0)
	a.mu.Unlock()
	s.writeLogin(&account{access: tokenOf(a, 0), refresh: keep}, -time.Minute)
	check("the file says that it ended", 1)
	s.checkLogin(a)
	for _, env := range all(sessions[:2], "env") {
		if strings.Contains(env, "CANARY") || !strings.Contains(env, "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-") || !strings.Contains(env, "CLAUDE_CODE_SUBSCRIPTION_TYPE=max") {
			t.Errorf("inside: %s", env)
		}
	}
	if !a.model.holds("oauth-2025-04-20") {
		t.Error("the vendor is not told that it is a login")
	}
	for _, h := range sessions {
		h.end()
	}
}

func tokenOf(a *account, n int) string { access, _ := a.tokens(n); return access }

// The vendor ends a login before its time: 401 is answered by one renewal for all.
func TestLoginRevoked(t *testing.T) {
	s := begin(t)
	a := s.account()
	sessions := make([]*held, 5)
	for i := range sessions {
		sessions[i] = s.hold("claude", "--", "sh")
	}
	a.mu.Lock()
	a.access, _ = a.tokens(900)
	a.mu.Unlock()
	for i, got := range all(sessions, postAsLogin) {
		if got != "ok 200" {
			t.Errorf("session %d got %q", i, got)
		}
	}
	if a.renewals != 1 || a.refusals != 0 {
		t.Errorf("%d renewals, %d refusals", a.renewals, a.refusals)
	}
	s.checkLogin(a)
}

// The renewing server is away: sessions wait, and go on when it is back.
func TestLoginServerAway(t *testing.T) {
	s := begin(t)
	a := s.account()
	s.writeLogin(a, -time.Minute)
	a.away = http.StatusServiceUnavailable
	sessions := make([]*held, 4)
	for i := range sessions {
		sessions[i] = s.hold("claude", "--", "sh")
	}
	done := make(chan []string, 1)
	go func() { done <- all(sessions, postAsLogin) }()
	if !wait.For(func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.attempts >= 3 }) {
		t.Fatalf("the server was asked %d times", a.attempts)
	}
	select {
	case got := <-done:
		t.Fatalf("they did not wait: %q", got)
	default:
	}
	a.mu.Lock()
	a.away = 0
	a.mu.Unlock()
	for i, got := range <-done {
		if got != "ok 200" {
			t.Errorf("session %d got %q", i, got)
		}
	}
	if a.renewals != 1 || a.refusals != 0 {
		t.Errorf("%d renewals, %d refusals", a.renewals, a.refusals)
	}
	s.checkLogin(a)
}

// A login that is over for good: one sentence, and the file stays as it is.
func TestLoginOver(t *testing.T) {
	s := begin(t)
	a := s.account()
	s.writeLogin(a, -time.Minute)
	before, err := os.ReadFile(loginFile)
	if err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	_, a.refresh = a.tokens(901)
	a.mu.Unlock()
	h := s.hold("claude", "--", "sh")
	for range 2 {
		if got := h.say(postAsLogin); !strings.HasSuffix(got, " 401") || !strings.Contains(got, "ringfence: ") || !strings.Contains(got, "/login") || strings.Contains(got, "CANARY") {
			t.Errorf("it was told %q", got)
		}
	}
	after, err := os.ReadFile(loginFile)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file changed: %v, %s", err, after)
	}
	if a.refusals != 1 {
		t.Errorf("a dead token was tried %d times", a.refusals)
	}
}
