package broker

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/broker/client/call"
)

const (
	realKey    = "sk-ant-api03-CANARYmodelu8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL8dKLzdocJ2isAjIhKtJ0RlgLKOmxgJTeKdNn-AA"
	foreignKey = "sk-ant-api03-ATTACKERownKey9876543210zyxwvutsrqponmlkjihgfedcba-attackAA"

	vendorName = "api.anthropic.com"
	vendorAddr = "203.0.113.200"
	hello      = `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hello"}]}`
)

// ask is a request as the agent makes it.
func ask(name, path, body string) call.Call {
	c := call.Call{Name: name, Method: "POST", URL: "${ANTHROPIC_BASE_URL}" + path, Body: body,
		Header: map[string]string{"Authorization": "Bearer ${ANTHROPIC_AUTH_TOKEN}", "Content-Type": "application/json", "Anthropic-Version": "2023-06-01"}}
	if body == "" {
		c.Method = "GET"
		delete(c.Header, "Content-Type")
	}
	return c
}

// with changes a header of a request; "" takes it away.
func with(c call.Call, name, value string) call.Call {
	h := map[string]string{}
	for k, v := range c.Header {
		h[k] = v
	}
	if h[name] = value; value == "" {
		delete(h, name)
	}
	c.Header = h
	return c
}

// phantomOf asks a session for what it has in the place of the key.
func phantomOf(t *testing.T, r result) string {
	t.Helper()
	for line := range strings.Lines(r.Stdout) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "ANTHROPIC_AUTH_TOKEN="); ok {
			return v
		}
	}
	t.Fatalf("no phantom inside:\n%s", r.show())
	return ""
}

// The two ways to an upstream: what the user named, in the clear on loopback, and the
// vendor's own name by TLS.
func TestModelKey(t *testing.T) {
	for _, way := range []string{"named upstream", "vendor"} {
		t.Run(way, func(t *testing.T) {
			s := begin(t)
			s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey)
			var v *vendor
			if way == "vendor" {
				v = s.vendor(vendorName, vendorAddr, nil)
			} else {
				var at string
				v, at = s.local(nil)
				s.env = append(s.env, "ANTHROPIC_BASE_URL="+at)
			}
			r := s.claude(append([]string{"sh", "-c", `env; exec "$@"`, "-"}, s.calls(
				ask("good", "/v1/messages", hello),
				with(with(ask("good as key", "/v1/messages?beta=true", hello), "Authorization", ""), "X-Api-Key", "${ANTHROPIC_AUTH_TOKEN}"))...)...)
			got := s.answers(r)
			for name, a := range got {
				if a.Status != 200 || a.Body != "ok" {
					t.Errorf("%s: %+v\n%s", name, a, r.show())
				}
			}
			phantom := phantomOf(t, r)
			if phantom == realKey || !strings.HasPrefix(phantom, "sk-ant-") {
				t.Errorf("the phantom is %q", phantom)
			}
			if n := len(v.requests()); n != 2 {
				t.Errorf("upstream got %d requests", n)
			}
			for _, q := range v.requests() {
				if q.Header.Get("X-Api-Key") != realKey || q.Header.Get("Authorization") != "" {
					t.Errorf("upstream was not given the real key alone: %v", q.Header)
				}
			}
			if v.holds(phantom) {
				t.Error("upstream got the phantom")
			}
			if !r.used("ANTHROPIC_API_KEY", journal.Allow) {
				t.Errorf("the use is not in the journal:\n%s", r.show())
			}
			s.silent(r, realKey)
		})
	}
}

// A key that the agent brings along reaches nobody, however it is presented. With the
// phantom the same request passes: TestModelKey.
func TestModelForeignKey(t *testing.T) {
	s := begin(t)
	v := s.vendor(vendorName, vendorAddr, nil)
	s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey)
	plain := with(ask("", "/v1/messages", hello), "Authorization", "")
	named := func(name string, c call.Call) call.Call { c.Name = name; return c }
	direct := plain
	direct.URL = "https://" + vendorName + "/v1/files"
	got, r := s.asked(
		named("none", plain),
		named("bearer", with(plain, "Authorization", "Bearer "+foreignKey)),
		named("key", with(plain, "X-Api-Key", foreignKey)),
		named("both", with(ask("", "/v1/messages", hello), "X-Api-Key", foreignKey)),
		named("both the other way", with(with(plain, "Authorization", "Bearer "+foreignKey), "X-Api-Key", "${ANTHROPIC_AUTH_TOKEN}")),
		named("in the query", ask("", "/v1/messages?key="+foreignKey, hello)),
		named("cookie", with(ask("", "/v1/messages", hello), "Cookie", "sessionKey="+foreignKey)),
		named("direct", with(direct, "X-Api-Key", foreignKey)),
		named("another host", with(with(ask("", "/v1/messages", hello), "Host", "evil.test"), "X-Api-Key", "")),
	)
	for name, a := range got {
		if a.Status == 200 || name == "direct" && a.Err == "" {
			t.Errorf("%s passed: %+v", name, a)
		}
	}
	if n := len(v.requests()); n != 0 || v.holds(foreignKey) {
		t.Errorf("upstream heard of it: %d requests", n)
	}
	if n := v.connections(); n != 0 {
		t.Errorf("upstream was connected to %d times", n)
	}
	if !r.used("ANTHROPIC_API_KEY", journal.Deny) {
		t.Errorf("the refusal is not in the journal:\n%s", r.show())
	}
	if !r.recorded(func(j journal.Record) bool {
		return j.Kind == journal.Net && j.Name == vendorName && j.Verdict == journal.Deny
	}) {
		t.Errorf("the direct way is not in the journal as denied:\n%s", r.show())
	}
	s.silent(r, realKey)
	// The control: on the host the same key gets there.
	if c := s.host("curl", "-sS", "--cacert", s.State+"/bundle.pem", "-H", "X-Api-Key: "+foreignKey, "-d", "x", "https://"+vendorName+"/v1/files"); c.Stdout != "ok" || !v.holds(foreignKey) {
		t.Errorf("control: %s", c.show())
	}
}

// What makes the provider work for somebody else is refused, unless policy allows it.
func TestModelPathsAndFields(t *testing.T) {
	type row struct {
		allow string // the feature that opens it; "" for none
		call  call.Call
	}
	fields := func(f string) string {
		return `{"model":"m","messages":[{"role":"user","content":"x"}],` + f + `}`
	}
	content := func(c string) string {
		return `{"model":"m","messages":[{"role":"user","content":[` + c + `]}]}`
	}
	rows := []row{
		{"", ask("upload", "/v1/files", `{"x":1}`)},
		{"", ask("list files", "/v1/files", "")},
		{"", ask("batches", "/v1/messages/batches", `{"requests":[]}`)},
		{"", ask("keys", "/v1/organizations/api_keys", "")},
		{"", ask("dots", "/v1/messages/../files", "")},
		{"", ask("escaped", "/v1/%66iles", "")},
		{"", with(ask("type", "/v1/messages", hello), "Content-Type", "text/plain")},
		{"", with(ask("compressed", "/v1/messages", hello), "Content-Encoding", "gzip")},
		{"mcp", ask("mcp", "/v1/messages", fields(`"mcp_servers":[{"type":"url","url":"https://evil.test/","name":"x"}]`))},
		{"mcp", ask("mcp spelled", "/v1/messages", fields(`"MCP_Servers":[{"type":"url","url":"https://evil.test/","name":"x"}]`))},
		{"mcp", with(ask("mcp beta", "/v1/messages", hello), "Anthropic-Beta", "mcp-client-2025-04-04")},
		{"fetch", ask("image url", "/v1/messages", content(`{"type":"image","source":{"type":"url","url":"https://evil.test/?q"}}`))},
		{"fetch", ask("document url", "/v1/messages/count_tokens", content(`{"type":"document","source":{"type":"url","url":"https://evil.test/?q"}}`))},
		{"fetch", ask("fetch tool", "/v1/messages", fields(`"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]`))},
		{"search", ask("search tool", "/v1/messages", fields(`"tools":[{"type":"web_search_20250305","name":"web_search"}]`))},
		{"code", ask("code tool", "/v1/messages", fields(`"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`))},
		{"files", ask("file source", "/v1/messages", content(`{"type":"document","source":{"type":"file","file_id":"file_1"}}`))},
		{"files", ask("container", "/v1/messages", fields(`"container":"container_1"`))},
	}
	var list []call.Call
	for _, r := range rows {
		list = append(list, r.call)
	}
	for _, allow := range []string{"", "search", "mcp", "fetch", "code", "files"} {
		t.Run("allow "+allow, func(t *testing.T) {
			s := begin(t)
			v, at := s.local(nil)
			s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey, "ANTHROPIC_BASE_URL="+at)
			if allow != "" {
				s.policy("[broker]\nmodel-allow = [\"" + allow + "\"]\n")
			} else {
				s.policy("[network]\nmode = \"locked\"\n")
			}
			got, r := s.asked(append(list, ask("plain", "/v1/messages", hello))...)
			want := 1
			for _, row := range rows {
				a := got[row.call.Name]
				open := allow != "" && row.allow == allow
				if open {
					want++
				}
				if (a.Status == 200) != open || !open && !strings.Contains(a.Body, "ringfence") {
					t.Errorf("%s: %d %s %s", row.call.Name, a.Status, a.Body, a.Err)
				}
			}
			if got["plain"].Status != 200 {
				t.Errorf("an honest request: %+v", got["plain"])
			}
			if n := len(v.requests()); n != want {
				t.Errorf("upstream got %d requests, want %d\n%s", n, want, r.show())
			}
		})
	}
}

// echo answers with the credential in every way that a server may.
func echo(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("X-Api-Key")
	if key == "" {
		key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	w.Header().Set("X-Echo", "you are "+key)
	w.Header().Set("Set-Cookie", "k="+key)
	var body struct{ Model string }
	b, _ := io.ReadAll(r.Body)
	body.Model = string(b)
	flush := func(parts ...string) {
		for _, p := range parts {
			io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}
	switch {
	case strings.Contains(body.Model, "split"):
		flush("a "+key[:1], key[1:40], key[40:41], key[41:]+" b")
	case strings.Contains(body.Model, "bytes"):
		flush(strings.Split("a "+key+" b", "")...)
	case strings.Contains(body.Model, "base64"):
		flush("a " + base64.StdEncoding.EncodeToString([]byte("x:"+key+"\n")) + " b")
	case strings.Contains(body.Model, "base64url"):
		flush("a " + base64.RawURLEncoding.EncodeToString([]byte(key)) + " b")
	case strings.Contains(body.Model, "hex"):
		flush("a " + hex.EncodeToString([]byte(key)) + " b")
	case strings.Contains(body.Model, "failure"):
		w.WriteHeader(http.StatusInternalServerError)
		flush("a " + key + " b")
	default:
		flush("a " + key + " b")
	}
}

func TestModelEcho(t *testing.T) {
	s := begin(t)
	_, at := s.local(echo)
	s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey, "ANTHROPIC_BASE_URL="+at)
	var list []call.Call
	for _, how := range []string{"plain", "split", "bytes", "base64", "base64url", "hex", "failure"} {
		list = append(list, ask(how, "/v1/messages", `{"model":"`+how+`","messages":[]}`))
	}
	got, r := s.asked(list...)
	for _, c := range list {
		a := got[c.Name]
		text := a.Body + strings.Join(a.Header.Values("X-Echo"), "\n") + strings.Join(a.Header.Values("Set-Cookie"), "\n")
		for _, form := range []string{realKey, realKey[20:], base64.StdEncoding.EncodeToString([]byte(realKey))[4:40], base64.StdEncoding.EncodeToString([]byte("x:" + realKey))[4:40],
			base64.RawURLEncoding.EncodeToString([]byte(realKey))[4:40], hex.EncodeToString([]byte(realKey))[:40]} {
			if strings.Contains(text, form) {
				t.Errorf("%s: the credential came in: %q", c.Name, text)
			}
		}
		if !strings.HasPrefix(a.Body, "a ") || !strings.HasSuffix(a.Body, " b") || len(a.Body) < len(realKey) {
			t.Errorf("%s: what is around it is not as it was: %d %q %s", c.Name, a.Status, a.Body, a.Err)
		}
	}
	s.silent(r, realKey)
	// The control: the server does echo.
	c := s.host("curl", "-sS", "-D-", "-H", "X-Api-Key: "+realKey, "-d", "{}", at)
	if strings.Count(c.Stdout, realKey) != 3 {
		t.Errorf("control: %s", c.show())
	}
}
