package broker

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
)

// otherLogin is a login of another agent than Claude Code, which ringfence renews too.
type otherLogin struct {
	agent, home, file string
	model, renews     string // hosts
	ask               string // a request as the agent makes it
	text              func(access, refresh string, until time.Time) string
	token             func(name string, until time.Time) string
}

var otherLogins = []otherLogin{
	{"codex", ".codex", "auth.json", "chatgpt.com", "auth.openai.com",
		`-H "Authorization: Bearer $RINGFENCE_OPENAI" http://127.0.0.1:809/openai/v1/responses`,
		func(access, refresh string, _ time.Time) string {
			return fmt.Sprintf(`{"auth_mode": "chatgpt", "tokens": {"id_token": "a.b.c", "access_token": %q, "refresh_token": %q, "account_id": "mine"}, "last_refresh": "2026-01-01T00:00:00Z"}`, access, refresh)
		},
		func(name string, until time.Time) string { // how long it lasts stands in the token
			return "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, until.Unix())) + "." + name
		}},
	{"gemini", ".gemini", "oauth_creds.json", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com",
		`-H "Authorization: Bearer $GOOGLE_CLOUD_ACCESS_TOKEN" http://127.0.0.1:809/gemini/v1internal:generateContent`,
		func(access, refresh string, until time.Time) string {
			return fmt.Sprintf(`{"access_token": %q, "refresh_token": %q, "token_type": "Bearer", "expiry_date": %d}`, access, refresh, until.UnixMilli())
		},
		func(name string, _ time.Time) string { return name }},
}

// The same as TestLoginInWorkspace for Codex and Gemini CLI: their directory lies in the
// workspace, ringfence renews the login, and another client replaces it by rename.
func TestOtherLoginsInWorkspace(t *testing.T) {
	for _, o := range otherLogins {
		t.Run(o.agent, func(t *testing.T) { o.try(t) })
	}
}

func (o otherLogin) try(t *testing.T) {
	s := begin(t)
	put := o.settle(s)
	later := time.Now().Add(2 * time.Hour)
	access := o.token("CANARYaccess0001-0123456789abcdef", later)
	old := time.Now().Add(-time.Minute)
	put(o.token("CANARYaccess0000-0123456789abcdef", old), "CANARYrefresh0000-0123456789abcdef", old)
	renew := o.serve(s, access)

	const look = "cat dot/*/*.json dot/*/.*ringfence* dot/*/*.new 2>/dev/null; cat dot/plain.txt; grep -r CANARY dot"
	if got := s.host("sh", "-c", look).Stdout; !strings.Contains(got, "CANARY") {
		t.Fatalf("the control does not find it: %s", got)
	}
	h := s.hold(o.agent, "--", "sh")
	h.say("(while [ ! -e stop ]; do " + look + "; done >seen) & echo")
	if got := h.say(`curl -s -w ' %{http_code}' -H "Content-Type: application/json" -d '{}' ` + o.ask); got != "ok 200" {
		t.Fatalf("the login is not used: %s", got)
	}
	for range 20 {
		put(access, "CANARYrefresh0001-0123456789abcdef", later)
	}
	if got := h.say(look); strings.Contains(got, "CANARY") || !strings.Contains(got, "nothing secret") {
		t.Errorf("inside: %s", got)
	}
	if got := h.say("touch stop; wait; grep -c CANARY seen"); got != "0" {
		t.Errorf("it was seen in between: %s", got)
	}
	h.end()
	if n := len(renew.requests()); n != 1 {
		t.Errorf("%d renewals", n)
	}
}

// settle gives the person the agent, whose directory lies in the workspace, and returns
// how the agent itself would replace its login.
func (o otherLogin) settle(s *scene) (put func(access, refresh string, until time.Time)) {
	s.t.Helper()
	s.home(".local/bin/"+o.agent, "#!/bin/sh\nwhile [ $# -gt 0 ] && [ \"$1\" != sh ]; do shift; done\nexec \"$@\"\n", 0o755)
	s.env = append(s.env, "PATH="+stage.Home+"/.local/bin:"+os.Getenv("PATH"))
	dir, link := filepath.Join(s.Dir, "dot", o.agent), filepath.Join(stage.Home, o.home)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	os.RemoveAll(link)
	if err := os.Symlink(dir, link); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { os.Remove(link) })
	s.Put("dot/plain.txt", []byte("nothing secret\n"), 0o644)
	return func(access, refresh string, until time.Time) {
		s.t.Helper()
		at := filepath.Join(dir, o.file)
		s.write(at+".new", o.text(access, refresh, until), 0o600)
		if err := os.Rename(at+".new", at); err != nil {
			s.t.Fatal(err)
		}
	}
}

// serve begins the vendor, who takes one access token, and the server that gives it for
// the first refresh token.
func (o otherLogin) serve(s *scene, access string) (renew *vendor) {
	s.vendor(o.model, vendorAddr, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+access {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		io.WriteString(w, "ok")
	})
	return s.vendor(o.renews, renewAddr, func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); !strings.Contains(string(b), "CANARYrefresh0000") {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"access_token": access, "refresh_token": "CANARYrefresh0001-0123456789abcdef", "expires_in": 7200})
	})
}
