package broker

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/broker/client/call"
	"ringfence.dev/ringfence/test/stage"
)

// Each agent, each kind of credential that the launcher may have for it: the vendor
// gets it in its own form, and inside there is only what stands for it.
func TestAgents(t *testing.T) {
	const canary = "CANARYkeyOfTheLauncher-w8Jx2LqZ5vTn0RbY7cKd"
	for _, row := range []struct {
		agent, variable, host, path string
		header, want                string // at the vendor
		phantom                     string // the variable inside
	}{
		{"claude", "ANTHROPIC_API_KEY", "api.anthropic.com", "/anthropic/v1/messages", "X-Api-Key", canary, "ANTHROPIC_AUTH_TOKEN"},
		{"claude", "ANTHROPIC_AUTH_TOKEN", "api.anthropic.com", "/anthropic/v1/messages", "Authorization", "Bearer " + canary, "ANTHROPIC_AUTH_TOKEN"},
		{"claude", "CLAUDE_CODE_OAUTH_TOKEN", "api.anthropic.com", "/anthropic/v1/messages", "Authorization", "Bearer " + canary, "CLAUDE_CODE_OAUTH_TOKEN"},
		{"codex", "OPENAI_API_KEY", "api.openai.com", "/openai/v1/responses", "Authorization", "Bearer " + canary, "RINGFENCE_OPENAI"},
		{"gemini", "GEMINI_API_KEY", "generativelanguage.googleapis.com", "/gemini/v1beta/models/x:generateContent", "X-Goog-Api-Key", canary, "GEMINI_API_KEY"},
	} {
		t.Run(row.agent+" "+row.variable, func(t *testing.T) {
			s := begin(t)
			s.home(".local/bin/"+row.agent, "#!/bin/sh\nwhile [ $# -gt 0 ] && [ \"$1\" != sh ]; do shift; done\nexec \"$@\"\n", 0o755)
			s.env = append(s.env, row.variable+"="+canary, "PATH="+stage.Home+"/.local/bin:"+os.Getenv("PATH"))
			v := s.vendor(row.host, vendorAddr, nil)
			header := "Authorization: Bearer "
			if row.agent == "gemini" {
				header = "X-Goog-Api-Key: "
			}
			r := s.ringfence(row.agent, "--", "sh", "-c", `curl -sS -H "`+header+`$`+row.phantom+`" -H "Content-Type: application/json" -d '{}' http://127.0.0.1:809`+row.path+`; env; cat /etc/codex/* ~/.gemini/* 2>/dev/null`)
			if !strings.HasPrefix(r.Stdout, "ok") || len(v.requests()) != 1 {
				t.Fatalf("%d requests\n%s", len(v.requests()), r.show())
			}
			q := v.requests()[0]
			if q.Header.Get(row.header) != row.want || strings.Count(q.text(), canary) != 1 {
				t.Errorf("the vendor got %v", q.Header)
			}
			s.silent(r, canary)
		})
	}
}

// In a body a phantom is a text like any other, and nothing that an upstream says sends
// the real key elsewhere.
func TestModelKeyStaysPut(t *testing.T) {
	s := begin(t)
	evil := s.vendor("evil.test", "203.0.113.207", nil)
	v := s.vendor(vendorName, vendorAddr, func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); strings.Contains(string(b), "redirect") {
			w.Header().Set("Alt-Svc", `h2="evil.test:443"`)
			http.Redirect(w, r, "https://evil.test/v1/messages", http.StatusTemporaryRedirect)
			return
		}
		io.WriteString(w, "ok")
	})
	s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey)
	hop := with(ask("hop", "/v1/messages", hello), "Connection", "x-api-key, authorization")
	forwarded := with(with(ask("forwarded", "/v1/messages", hello), "X-Forwarded-Host", "evil.test"), "X-Original-Url", "/v1/files")
	absolute := ask("absolute", "/v1/messages", hello)
	absolute.Header = map[string]string{"Authorization": absolute.Header["Authorization"], "Content-Type": "application/json", "Host": "evil.test"}
	got, r := s.asked(
		ask("inert", "/v1/messages", `{"model":"m","messages":[{"role":"user","content":"${ANTHROPIC_AUTH_TOKEN}"}]}`),
		ask("redirect", "/v1/messages", `{"model":"redirect","messages":[]}`), hop, forwarded, absolute,
		call.Call{Name: "elsewhere", URL: "http://127.0.0.1:809/evil.test/v1/messages"})
	if !v.holds(`"content":"sk-ant-api03-`) {
		t.Errorf("the phantom in a body was changed:\n%s", r.show())
	}
	for _, q := range v.requests() {
		if q.Header.Get("X-Api-Key") != realKey || q.Host != vendorName || strings.Contains(string(q.Body), realKey) ||
			q.Header.Get("X-Forwarded-Host") != "" || q.Header.Get("X-Original-Url") != "" || q.Header.Get("X-Forwarded-For") != "" {
			t.Errorf("the vendor got %s", q.text())
		}
	}
	if a := got["redirect"]; a.Status != http.StatusTemporaryRedirect || a.Header.Get("Alt-Svc") != "" {
		t.Errorf("redirect: %+v", a)
	}
	if got["absolute"].Status != http.StatusMisdirectedRequest || got["elsewhere"].Status != http.StatusNotFound {
		t.Errorf("%+v %+v", got["absolute"], got["elsewhere"])
	}
	if n := evil.connections(); n != 0 {
		t.Errorf("evil.test was connected to %d times", n)
	}
	s.silent(r, realKey)
}
