package modelapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestForwardPassesWhatIsKnownAlone(t *testing.T) {
	for _, api := range []API{Anthropic, OpenAI, Gemini} {
		in := http.Header{}
		for _, name := range slices.Concat(carriers, owners, []string{
			"X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "X-Forwarded-For", "X-Forwarded-Host", "Forwarded",
			"X-Original-Url", "X-Rewrite-Url", "Via", "Host", "Connection", "Te", "Trailer", "Transfer-Encoding", "Accept-Encoding",
			"Content-Length", "Expect", "Range", "Referer", "Origin", "X-Goog-Upload-Protocol", "X-Unknown",
		}) {
			in.Set(name, "x")
		}
		in.Set("User-Agent", "agent/1")
		in.Set("Content-Type", "application/json")
		out, err := api.Forward(in, Allow{true, true, true, true, true})
		if err != nil {
			t.Fatal(err)
		}
		if len(out) != 2 || out.Get("User-Agent") != "agent/1" || out.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v goes on", api, out)
		}
	}
}

func TestForwardIsNotTheSameMap(t *testing.T) {
	in := http.Header{"Accept": {"a"}}
	out, err := Anthropic.Forward(in, Default)
	if err != nil {
		t.Fatal(err)
	}
	out["Accept"][0] = "b"
	if in.Get("Accept") != "a" {
		t.Error("what goes on shares memory with what came")
	}
}

func TestForwardJudges(t *testing.T) {
	for _, tt := range []struct {
		api         API
		name, value string
		need        string // a feature, or a rule
	}{
		{Anthropic, "Anthropic-Beta", "claude-code-20250219,oauth-2025-04-20, context-1m-2025-08-07", ""},
		{Anthropic, "Anthropic-Beta", "structured-outputs-2025-11-13", ""},
		{Anthropic, "Anthropic-Beta", "some-new-thing-2027-01-01", ""},
		{Anthropic, "Anthropic-Beta", "computer-use-2025-11-24", ""},
		{Anthropic, "Anthropic-Beta", "claude-code-20250219,mcp-client-2025-11-20", "mcp"},
		{Anthropic, "Anthropic-Beta", "MCP-Client-2025-11-20", "mcp"},
		{Anthropic, "Anthropic-Beta", "files-api-2025-04-14", "files"},
		{Anthropic, "Anthropic-Beta", "code-execution-2025-08-25", "code"},
		{Anthropic, "Anthropic-Beta", "skills-2025-10-02", "files"},
		{Anthropic, "Anthropic-Beta", "web-fetch-2025-09-10", "fetch"},
		{Anthropic, "Anthropic-Beta", "managed-agents-2026-04-01", "unknown"},
		{Anthropic, "Anthropic-Beta", "message-batches-2024-09-24", "unknown"},
		{Anthropic, "Anthropic-Beta", "a b", "unknown"},
		{Anthropic, "Anthropic-Beta", `"files-api-2025-04-14"`, "unknown"},
		{OpenAI, "Openai-Beta", "responses=experimental", ""},
		{OpenAI, "Openai-Beta", "assistants=v2", "unknown"},
		{OpenAI, "Openai-Beta", "responses_websockets=2026-02-06", "unknown"},
		{OpenAI, "Upgrade", "websocket", "websocket"},
		{OpenAI, "Content-Encoding", "identity", ""},
		{OpenAI, "Content-Encoding", "zstd", "encoding"},
		{OpenAI, "Content-Encoding", "identity, gzip", "encoding"},
		{OpenAI, "Content-Type", "application/json; charset=utf-8", ""},
		{OpenAI, "Content-Type", "application/json; charset=UTF-8", ""},
		{OpenAI, "Content-Type", "application/json; charset=utf-16", "type"},
		{OpenAI, "Content-Type", "multipart/form-data; boundary=x", "type"},
		{OpenAI, "Content-Type", "text/plain", "type"},
		{OpenAI, "Content-Type", "application/json;;", "type"},
		{Gemini, "Content-Type", "application/x-protobuf", "type"},
	} {
		for _, f := range []struct {
			name  string
			allow Allow
		}{{"nothing", Allow{}}, {"fetch", Allow{Fetch: true}}, {"mcp", Allow{MCP: true}}, {"code", Allow{Code: true}}, {"files", Allow{Files: true}}} {
			want := tt.need
			if f.name == want {
				want = ""
			}
			_, err := tt.api.Forward(http.Header{tt.name: {tt.value}}, f.allow)
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.(*Denied).Rule, string(tt.api)+".")
			}
			if got != want {
				t.Errorf("%s: %s, with %s allowed: %q, want %q", tt.name, tt.value, f.name, got, want)
			}
		}
	}
	if _, err := OpenAI.Forward(http.Header{"Content-Type": {"application/json", "text/plain"}}, Default); err == nil {
		t.Error("two types passed")
	}
	if _, err := Anthropic.Forward(http.Header{"Anthropic-Beta": {"oauth-2025-04-20", "files-api-2025-04-14"}}, Default); err == nil {
		t.Error("the second header was not judged")
	}
}

func TestCredential(t *testing.T) {
	for _, tt := range []struct {
		name         string
		h            http.Header
		q            string
		value, where string
		many         bool
	}{
		{"none", http.Header{}, "", "", "", false},
		{"bearer", http.Header{"Authorization": {"Bearer p"}}, "", "p", "Authorization", false},
		{"bearer in small letters", http.Header{"Authorization": {"bearer p"}}, "", "p", "Authorization", false},
		{"basic", http.Header{"Authorization": {"Basic p"}}, "", "Basic p", "Authorization", false},
		{"x-api-key", http.Header{"X-Api-Key": {"p"}}, "", "p", "X-Api-Key", false},
		{"x-goog-api-key", http.Header{"X-Goog-Api-Key": {"p"}}, "", "p", "X-Goog-Api-Key", false},
		{"key", http.Header{}, "key=p", "p", "key", false},
		{"access_token", http.Header{}, "access_token=p", "p", "access_token", false},
		{"two headers", http.Header{"Authorization": {"Bearer p"}, "X-Api-Key": {"p"}}, "", "", "", true},
		{"one header twice", http.Header{"X-Api-Key": {"p", "q"}}, "", "", "", true},
		{"header and query", http.Header{"X-Goog-Api-Key": {"p"}}, "key=q", "", "", true},
		{"query twice", http.Header{}, "key=p&key=q", "", "", true},
		{"key and cookie", http.Header{"X-Api-Key": {"p"}, "Cookie": {"sessionKey=q"}}, "", "", "", true},
	} {
		q, err := url.ParseQuery(tt.q)
		if err != nil {
			t.Fatal(err)
		}
		for _, api := range []API{Anthropic, OpenAI, Gemini} {
			value, where, many := api.Credential(tt.h, q)
			if value != tt.value || where != tt.where || many != tt.many {
				t.Errorf("%s, %s: %q in %q, %v", api, tt.name, value, where, many)
			}
		}
		q.Set("alt", "sse")
		tt.h.Set("Accept", "x")
		tt.h.Set("Openai-Organization", "org-1")
		Anthropic.Strip(tt.h, q)
		if len(tt.h) != 1 || len(q) != 1 {
			t.Errorf("%s: %v and %v are left", tt.name, tt.h, q)
		}
	}
}

func TestPut(t *testing.T) {
	for _, tt := range []struct {
		api     API
		kind    Kind
		account string
		want    map[string]string // nil: an error
	}{
		{Anthropic, Key, "", map[string]string{"X-Api-Key": "s3cret"}},
		{Anthropic, Token, "", map[string]string{"Authorization": "Bearer s3cret"}},
		{Anthropic, OAuth, "", map[string]string{"Authorization": "Bearer s3cret", "Anthropic-Beta": "a-1,b-2,oauth-2025-04-20"}},
		{Anthropic, ChatGPT, "acc", nil},
		{OpenAI, Key, "", map[string]string{"Authorization": "Bearer s3cret"}},
		{OpenAI, Token, "", map[string]string{"Authorization": "Bearer s3cret"}},
		{OpenAI, ChatGPT, "acc", map[string]string{"Authorization": "Bearer s3cret", "Chatgpt-Account-Id": "acc"}},
		{OpenAI, ChatGPT, "", nil},
		{OpenAI, ChatGPT, "a\nb", nil},
		{OpenAI, OAuth, "", nil},
		{Gemini, Key, "", map[string]string{"X-Goog-Api-Key": "s3cret"}},
		{Gemini, OAuth, "", map[string]string{"Authorization": "Bearer s3cret"}},
		{Gemini, Token, "", map[string]string{"Authorization": "Bearer s3cret"}},
		{Gemini, Kind(""), "", nil},
	} {
		h := http.Header{"Anthropic-Beta": {"a-1, b-2"}, "X-Api-Key": {"smuggled"}, "Authorization": {"Bearer smuggled"}, "Chatgpt-Account-Id": {"smuggled"}}
		err := tt.api.Put(h, tt.kind, "s3cret", tt.account)
		if (err != nil) != (tt.want == nil) || err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s, %s: %v", tt.api, tt.kind, err)
		}
		want := http.Header{"Anthropic-Beta": {"a-1, b-2"}}
		for name, value := range tt.want {
			want.Set(name, value)
		}
		if got, _ := json.Marshal(h); string(got) != string(must(json.Marshal(want))) {
			t.Errorf("%s, %s: %s", tt.api, tt.kind, got)
		}
	}
	for _, value := range []string{"", "a b", "a\r\nX: y", "a\x00", "ü"} {
		if err := Anthropic.Put(http.Header{}, Key, value, ""); err == nil {
			t.Errorf("%q was put", value)
		}
	}
	h := http.Header{"Anthropic-Beta": {"oauth-2025-04-20,x-1"}}
	if err := Anthropic.Put(h, OAuth, "s3cret", ""); err != nil || h.Get("Anthropic-Beta") != "oauth-2025-04-20,x-1" {
		t.Errorf("beta twice: %v, %v", h, err)
	}
}

func TestTakes(t *testing.T) {
	for _, tt := range []struct {
		api          API
		method, path string
		kinds        []Kind
	}{
		{Anthropic, "HEAD", "/", []Kind{Key, Token, OAuth}},
		{OpenAI, "GET", "/v1/models", []Kind{Key, Token}},
		{OpenAI, "GET", "/backend-api/codex/models", []Kind{ChatGPT}},
		{Gemini, "GET", "/v1beta/models", []Kind{Key, Token, OAuth}},
		{Gemini, "POST", "/v1internal:countTokens", []Kind{OAuth}},
	} {
		rule, err := tt.api.Judge(tt.method, tt.path, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []Kind{Key, Token, OAuth, ChatGPT, ""} {
			if rule.Takes(kind) != slices.Contains(tt.kinds, kind) {
				t.Errorf("%s takes %q: %v", tt.path, kind, rule.Takes(kind))
			}
			if rule.Takes(kind) && tt.api.Put(http.Header{}, kind, "x", "y") != nil {
				t.Errorf("%s takes %q, and it cannot be put", tt.path, kind)
			}
		}
	}
	if (Rule{}).Takes(Key) {
		t.Error("no rule takes a key")
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestRefusal(t *testing.T) {
	d := Denied{Rule: "x.fetch", Reason: "the \"broker\" says no", Hint: "ask"}
	for _, tt := range []struct {
		api    API
		status int
		want   string
	}{
		{Anthropic, 403, `{"error":{"message":"ringfence: the \"broker\" says no; ask","type":"permission_error"},"type":"error"}`},
		{Anthropic, 400, `{"error":{"message":"ringfence: the \"broker\" says no; ask","type":"invalid_request_error"},"type":"error"}`},
		{OpenAI, 403, `{"error":{"code":"ringfence_fetch","message":"ringfence: the \"broker\" says no; ask","param":null,"type":"invalid_request_error"}}`},
		{Gemini, 403, `{"error":{"code":403,"message":"ringfence: the \"broker\" says no; ask","status":"PERMISSION_DENIED"}}`},
		{Gemini, 502, `{"error":{"code":502,"message":"ringfence: the \"broker\" says no; ask","status":"INTERNAL"}}`},
	} {
		kind, body := tt.api.Refusal(tt.status, d)
		if kind != "application/json" || string(body) != tt.want {
			t.Errorf("%s, %d: %s %s", tt.api, tt.status, kind, body)
		}
	}
}
