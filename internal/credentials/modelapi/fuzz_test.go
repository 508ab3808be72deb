package modelapi

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/strictjson"
)

// FuzzJudgeBody holds the judge against a parser that folds case as a gateway's
// may: what passes asks for nothing there. And the order of members says nothing.
func FuzzJudgeBody(f *testing.F) {
	names := []string{"messages", "responses", "chat", "generate", "assist", "load"}
	for i, seed := range []string{
		`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x.test/"}}]}],"tools":[{"type":"web_fetch_20250910"}]}`,
		`{"input":[{"content":[{"image_url":"data:x"}]}],"tools":[{"type":"namespace","tools":[{"type":"mcp"}]}]}`,
		`{"messages":[{"content":[{"image_url":{"url":"https://x.test"}}]}]}`,
		`{"contents":[{"parts":[{"fileData":{"fileUri":"gs://x"}}]}],"tools":[{"urlContext":{}}]}`,
		`{"request":{"tools":[{"googleSearch":{}}]}}`,
		`{"metadata":{"x":["https://x.test/"]}}`,
	} {
		f.Add(byte(i), byte(0), []byte(seed))
	}
	for _, requests := range captures(f) {
		for _, c := range requests {
			i := slices.IndexFunc(names, func(n string) bool {
				return kinds[n].api == c.API && strings.HasSuffix(c.Path, kinds[n].path[strings.LastIndexAny(kinds[n].path, "/:"):])
			})
			if i >= 0 && len(c.Body) < 4000 {
				f.Add(byte(i), byte(1), []byte(c.Body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind, bits byte, body []byte) {
		name := names[int(kind)%len(names)]
		allow := Allow{bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0, bits&16 != 0}
		rule := judgeBody(t, name, string(body), allow)
		if rule == "body" {
			return
		}
		if rule == "" && judgeBody(t, name, string(body), Allow{true, true, true, true, true}) != "" {
			t.Fatal("more allowed, less passes")
		}
		if strictjson.Walk(body, nil) != nil {
			if rule == "" {
				t.Fatal("passed, and not JSON")
			}
			return // it was denied before its end
		}
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		sorted := must(json.Marshal(v))
		if again := judgeBody(t, name, string(sorted), allow); (again == "") != (rule == "") {
			t.Fatalf("%q; with its members in order %q\n%s", rule, again, sorted)
		}
		if rule == "" && allow == (Allow{}) && name == "messages" {
			asksNothing(t, body)
		}
	})
}

// asksNothing reads a request as Go's parser does, which does not mind case.
func asksNothing(t *testing.T, body []byte) {
	type block struct {
		Source  json.RawMessage
		Content json.RawMessage
	}
	var request struct {
		Servers  []any `json:"mcp_servers"`
		Tools    []struct{ Type string }
		Messages []struct{ Content []block }
	}
	if json.Unmarshal(body, &request) != nil {
		return // no provider would take it
	}
	if len(request.Servers) > 0 {
		t.Fatalf("servers passed: %s", body)
	}
	for _, tool := range request.Tools {
		if strings.HasPrefix(tool.Type, "web_") || strings.HasPrefix(tool.Type, "code_") || strings.HasPrefix(tool.Type, "mcp") {
			t.Fatalf("a tool of type %s passed", tool.Type)
		}
	}
	for _, m := range request.Messages {
		for _, b := range m.Content {
			var source struct{ Type, URL string }
			if json.Unmarshal(b.Source, &source) == nil && (source.Type == "url" || source.URL != "") {
				t.Fatalf("a source passed: %s", b.Source)
			}
		}
	}
}

// FuzzJudge: what passes can be read in one way only.
func FuzzJudge(f *testing.F) {
	f.Add("POST", "/v1/messages", "beta=true")
	f.Add("POST", "/v1beta/models/x:streamGenerateContent", "alt=sse")
	f.Add("GET", "/v1/models/..%2f..", "limit=1&limit=2")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		for _, api := range []API{Anthropic, OpenAI, Gemini} {
			rule, err := api.Judge(method, path, query)
			if err != nil {
				if d := err.(*Denied); d.Status < 400 || strings.ContainsAny(d.Reason, "\x00\r\n\x1b") || len(d.Reason) > 256 {
					t.Fatalf("%+v", d)
				}
				continue
			}
			u, err := url.ParseRequestURI(path + "?" + query)
			if err != nil || u.Path != path || u.EscapedPath() != path || u.JoinPath().Path != path {
				t.Fatalf("%s passed as %s: %v", path, rule.Name, err)
			}
			q, err := url.ParseQuery(query)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			for _, name := range parameters {
				if q.Has(name) {
					t.Fatalf("a credential passed in %s", query)
				}
			}
		}
	})
}
