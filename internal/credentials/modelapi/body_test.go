package modelapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// kinds are requests by a short name.
var kinds = map[string]struct {
	api  API
	path string
}{
	"messages": {Anthropic, "/v1/messages"}, "responses": {OpenAI, "/v1/responses"}, "chat": {OpenAI, "/v1/chat/completions"},
	"generate": {Gemini, "/v1beta/models/x:generateContent"}, "assist": {Gemini, "/v1internal:generateContent"},
	"load": {Gemini, "/v1internal:loadCodeAssist"},
}

func judgeBody(t testing.TB, kind, body string, allow Allow) string {
	t.Helper()
	k := kinds[kind]
	rule, err := k.api.Judge("POST", k.path, "")
	if err != nil {
		t.Fatal(err)
	}
	err = k.api.JudgeBody(rule, []byte(body), allow)
	if err == nil {
		return ""
	}
	var d *Denied
	if !errors.As(err, &d) || d.Reason == "" || d.Status == 0 {
		t.Fatalf("%s: %#v", body, err)
	}
	return strings.TrimPrefix(d.Rule, string(k.api)+".")
}

// What needs a feature is denied without it and passes with it, and no other
// feature helps.
func block(s string) string { return `{"messages":[{"role":"user","content":[` + s + `]}]}` }
func item(s string) string  { return `{"input":[{"role":"user","content":[` + s + `]}]}` }
func part(s string) string  { return `{"contents":[{"parts":[` + s + `]}]}` }

var featureBodies = []struct{ kind, body, need string }{
	{"messages", `{"mcp_servers":[{"type":"url","url":"https://x.test/","name":"x"}]}`, "mcp"},
	{"messages", `{"mcp_servers":{}}`, "mcp"},
	{"messages", `{"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]}`, "mcp"},
	{"messages", `{"container":"container_1"}`, "files"},
	{"messages", `{"container":{"skills":[{"type":"anthropic","skill_id":"pptx"}]}}`, "files"},
	{"messages", `{"container":{}}`, "files"},
	{"messages", `{"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}`, "fetch"},
	{"messages", `{"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8}]}`, "search"},
	{"messages", `{"tools":[{"type":"code_execution_20250825","name":"code_execution"}]}`, "code"},
	{"messages", `{"tools":[{"name":"a","input_schema":{}},{"name":"b","type":"web_fetch_20260209"}]}`, "fetch"},
	{"messages", block(`{"type":"image","source":{"type":"url","url":"https://x.test/?secret"}}`), "fetch"},
	{"messages", block(`{"source":{"url":"https://x.test/"},"type":"document"}`), "fetch"},
	{"messages", block(`{"type":"image","source":{"type":"url"}}`), "fetch"},
	{"messages", block(`{"type":"document","source":{"type":"file","file_id":"file_1"}}`), "files"},
	{"messages", block(`{"type":"container_upload","file_id":"file_1"}`), "files"},
	{"messages", block(`{"type":"container_upload"}`), "files"},
	{"messages", block(`{"type":"tool_result","content":[{"type":"image","source":{"type":"url","url":"http://x.test"}}]}`), "fetch"},
	{"messages", block(`{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"http://x.test"}}]}}`), "fetch"},
	{"messages", `{"system":[{"type":"document","source":{"type":"url","url":"http://x.test"}}]}`, "fetch"},
	{"messages", block(`{"type":"image","url":"https://x.test/"}`), "fetch"},
	{"messages", block(`{"type":"image_url","image_url":{"url":"https://x.test/"}}`), "fetch"},
	{"messages", `{"betas":["mcp-client-2025-11-20"]}`, "mcp"},
	{"messages", `{"anthropic_beta":["files-api-2025-04-14"]}`, "files"},
	{"messages", `{"fallbacks":[{"model":"x","tools":[{"type":"web_fetch_20250910"}]}]}`, "fetch"},
	{"messages", `{"new_thing":{"deep":[{"where":"https://x.test/"}]}}`, "fetch"},
	{"messages", `{"new_thing":{"deep":[{"mcp_servers":["x"]}]}}`, "mcp"},
	{"messages", `{"new_thing":"` + strings.Repeat(" ", 100) + `\u0068ttps://x.test/"}`, "fetch"},
	{"messages", `{"new_thing":"\ufeff\u200bHTTPS:x.test"}`, "fetch"},
	{"messages", `{"new_thing":{"url":"x.test/secret"}}`, "fetch"},
	// The same names, written otherwise.
	{"messages", `{"MCP_Servers":[{}]}`, "mcp"},
	{"messages", `{"mcpServers":[{}]}`, "mcp"},
	{"messages", `{"mcp_\u0073ervers":[{}]}`, "mcp"},
	{"messages", `{"mcp_ſervers":[{}]}`, "mcp"},
	{"messages", `{"mcp_servers":[[[{}]]]}`, "mcp"},
	{"messages", `{"Messages":{"Content":{"Source":{"Type":"url"}}}}`, "fetch"},

	{"responses", `{"tools":[{"type":"mcp","server_label":"x","server_url":"https://x.test"}]}`, "mcp"},
	{"responses", `{"tools":[{"type":"mcp","connector_id":"connector_gmail"}]}`, "mcp"},
	{"responses", `{"tools":[{"type":"web_search"}]}`, "search"},
	{"responses", `{"tools":[{"type":"web_search_preview_2025_03_11"}]}`, "search"},
	{"responses", `{"tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}`, "files"},
	{"responses", `{"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`, "code"},
	{"chat", `{"model":"gpt-4o-search-preview","messages":[]}`, "search"},
	{"chat", `{"model":"maker/model:online","messages":[]}`, "search"},
	{"responses", `{"model":"o4-mini-deep-research","input":"x"}`, "search"},
	{"chat", `{"plugins":[{"id":"web"}]}`, "search"},
	{"chat", `{"search_parameters":{"mode":"on"}}`, "search"},
	{"chat", `{"enable_search":true}`, "search"},
	{"responses", `{"tools":[{"type":"function","name":"f","environment":{"network_policy":{"allowed_domains":["a.test"]}}}]}`, "fetch"},
	{"responses", `{"tools":[{"type":"shell","environment":{"type":"container_auto"}}]}`, "code"},
	{"responses", `{"tools":[{"type":"function","name":"f","container":"cntr_1"}]}`, "files"},
	{"responses", `{"tools":[{"type":"function","name":"f","container":{"type":"auto","file_ids":["file-1"]}}]}`, "files"},
	{"responses", `{"tools":[{"type":"namespace","name":"x","tools":[{"type":"mcp"}]}]}`, "mcp"},
	{"responses", `{"input":[{"type":"additional_tools","tools":[{"type":"mcp"}]}]}`, "mcp"},
	{"responses", `{"input":[{"type":"mcp_approval_response","approve":true}]}`, "mcp"},
	{"responses", `{"input":[{"type":"item_reference","id":"msg_1"}]}`, "files"},
	{"responses", item(`{"type":"input_image","image_url":"https://x.test/a.png"}`), "fetch"},
	{"responses", item(`{"type":"input_image","image_url":" data:image/png;base64,AA"}`), "fetch"},
	{"responses", item(`{"type":"input_image","image_url":"sediment://file_1"}`), "fetch"},
	{"responses", item(`{"type":"input_file","file_url":"https://x.test/a.pdf"}`), "fetch"},
	{"responses", item(`{"type":"input_file","file_id":"file-1"}`), "files"},
	{"responses", `{"input":[{"type":"function_call_output","call_id":"1","output":[{"type":"input_image","image_url":"http://x.test"}]}]}`, "fetch"},
	{"responses", `{"instructions":[{"role":"user","content":[{"type":"input_image","image_url":"http://x.test"}]}]}`, "fetch"},
	{"responses", `{"background":true}`, "files"},
	{"responses", `{"conversation":"conv_1"}`, "files"},
	{"responses", `{"conversation":{"id":"conv_1"}}`, "files"},
	{"responses", `{"previous_response_id":"resp_1"}`, "files"},
	{"responses", `{"prompt":{"id":"pmpt_1"}}`, "files"},

	{"chat", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}]}`, "fetch"},
	{"chat", `{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`, "files"},
	{"chat", `{"web_search_options":{}}`, "search"},
	{"chat", `{"tools":[{"type":"mcp"}]}`, "mcp"},

	{"generate", `{"tools":[{"urlContext":{}}]}`, "fetch"},
	{"generate", `{"tools":[{"url_context":{}}]}`, "fetch"},
	{"generate", `{"tools":[{"googleSearch":{}}]}`, "search"},
	{"generate", `{"tools":[{"google_search":{}}]}`, "search"},
	{"generate", `{"tools":[{"googleSearchRetrieval":{"dynamicRetrievalConfig":{}}}]}`, "search"},
	{"generate", `{"tools":{"urlContext":{}}}`, "fetch"},
	{"generate", `{"tools":[{"codeExecution":{}}]}`, "code"},
	{"generate", `{"tools":[{"fileSearch":{"fileSearchStoreNames":["x"]}}]}`, "files"},
	{"generate", `{"tools":[{"mcpServers":[{"name":"x"}]}]}`, "mcp"},
	{"generate", `{"cachedContent":"cachedContents/1"}`, "files"},
	{"generate", `{"cached_content":"cachedContents/1"}`, "files"},
	{"generate", part(`{"fileData":{"fileUri":"https://x.test/v"}}`), "fetch"},
	{"generate", part(`{"file_data":{"file_uri":"gs://bucket/x"}}`), "fetch"},
	{"generate", part(`{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/1"}}`), "files"},
	{"generate", part(`{"functionResponse":{"name":"x","response":{},"parts":[{"fileData":{"fileUri":"https://x.test/"}}]}}`), "fetch"},
	{"generate", `{"systemInstruction":{"parts":[{"fileData":{"fileUri":"https://x.test/v"}}]}}`, "fetch"},
	{"generate", `{"generateContentRequest":{"tools":[{"urlContext":{}}]}}`, "fetch"},
	{"assist", `{"request":{"tools":[{"urlContext":{}}]}}`, "fetch"},
	{"assist", `{"request":{"cachedContent":"x"}}`, "files"},
	{"assist", `{"tools":[{"urlContext":{}}]}`, "fetch"},
}

func TestFeatures(t *testing.T) {
	for _, tt := range featureBodies {
		for _, f := range []struct {
			name  string
			allow Allow
		}{{"nothing", Allow{}}, {"search", Allow{Search: true}}, {"fetch", Allow{Fetch: true}}, {"mcp", Allow{MCP: true}}, {"code", Allow{Code: true}}, {"files", Allow{Files: true}}} {
			want := tt.need
			if f.name == tt.need {
				want = ""
			}
			if got := judgeBody(t, tt.kind, tt.body, f.allow); got != want {
				t.Errorf("%s with %s allowed: %q, want %q\n%s", tt.kind, f.name, got, want, tt.body)
			}
		}
	}
}

// What a person, a model or a tool said is not judged, and neither are schemas,
// arguments and fields that we do not know but that ask for nothing.
func TestWordsAreNotJudged(t *testing.T) {
	evil := `"mcp_servers":[{"url":"https://x.test/"}],"source":{"type":"url","url":"https://x.test/"},"type":"web_fetch_20250910","fileUri":"gs://x"`
	text := `"{\"mcp_servers\":[{\"url\":\"https://x.test/\"}]}"`
	for _, tt := range []struct{ kind, body string }{
		{"messages", `{"messages":[{"role":"user","content":` + text + `}],"system":"https://x.test/"}`},
		{"messages", `{"messages":[{"role":"user","content":[{"type":"text","text":"https://x.test/"}]}]}`},
		{"messages", `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"x","input":{` + evil + `}}]}]}`},
		{"messages", `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":` + text + `}]}]}`},
		{"messages", `{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":` + text + `}]}]}]}`},
		{"messages", `{"messages":[{"content":[{"type":"web_search_tool_result","content":[{"type":"web_search_result","url":"https://x.test/","title":"x","encrypted_content":"x","page_age":null}]}]}]}`},
		{"messages", `{"messages":[{"content":[{"type":"text","text":"x","citations":[{"type":"web_search_result_location","url":"https://x.test/"}]}]}]}`},
		{"messages", `{"messages":[{"content":[{"type":"search_result","source":"https://x.test/","title":"x","content":[{"type":"text","text":"x"}]}]}]}`},
		{"messages", `{"messages":[{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}`},
		{"messages", `{"tools":[{"name":"x","description":"https://x.test/","input_schema":{` + evil + `}}]}`},
		{"messages", `{"tools":[{"type":"custom","name":"x"},{"type":"bash_20250124"},{"type":"text_editor_20250728"},{"type":"memory_20250818"},{"type":"computer_20251124"},{"type":"tool_search_tool_regex_20251119"},{"type":"advisor_20260301","model":"x"},{"type":null}]}`},
		{"messages", `{"output_config":{"effort":"high","format":{"type":"json_schema","schema":{` + evil + `}}}}`},
		{"messages", `{"metadata":{"user_id":"https://x.test/"},"mcp_servers":[],"container":null,"stop_sequences":["https://"]}`},
		{"messages", `{"speed":"fast","new_thing":{"mode":"auto","depth":3,"on":true,"note":"see https://x.test/"}}`},
		{"messages", `{"betas":["context-1m-2025-08-07"]}`},
		{"responses", `{"input":"https://x.test/","instructions":"https://x.test/","store":true,"background":false}`},
		{"responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"https://x.test/"},{"type":"input_image","image_url":"data:image/png;base64,AA"}]}]}`},
		{"responses", `{"input":[{"type":"function_call","arguments":` + text + `},{"type":"function_call_output","output":"https://x.test/"},{"type":"web_search_call","action":{"type":"open_page","url":"https://x.test/"}}]}`},
		{"responses", `{"input":[{"role":"assistant","content":[{"type":"output_text","text":"x","annotations":[{"type":"url_citation","url":"https://x.test/"}]}]}]}`},
		{"responses", `{"tools":[{"type":"function","name":"x","parameters":{` + evil + `}},{"type":"custom","format":{"definition":"https://"}},{"type":"local_shell"},{"type":"image_generation"}]}`},
		{"responses", `{"text":{"format":{"type":"json_schema","schema":{` + evil + `}}}}`},
		{"chat", `{"messages":[{"role":"user","content":"https://x.test/"},{"role":"assistant","tool_calls":[{"function":{"name":"x","arguments":` + text + `}}]},{"role":"tool","content":"https://x.test/"}]}`},
		{"chat", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}],"tools":[{"type":"function","function":{"name":"x","parameters":{` + evil + `}}}]}`},
		{"generate", `{"contents":[{"parts":[{"text":"https://x.test/"},{"functionCall":{"name":"x","args":{` + evil + `}}},{"functionResponse":{"name":"x","response":{` + evil + `}}}]}]}`},
		{"generate", `{"tools":[{"functionDeclarations":[{"name":"x","parametersJsonSchema":{` + evil + `}}]}],"generationConfig":{"responseSchema":{` + evil + `}}}`},
		{"load", `{"metadata":{"pluginType":"GEMINI"}}`},
	} {
		if got := judgeBody(t, tt.kind, tt.body, Allow{}); got != "" {
			t.Errorf("%s: denied by %s\n%s", tt.kind, got, tt.body)
		}
	}
}

// What nothing allows.
func TestNothingHelps(t *testing.T) {
	all := Allow{true, true, true, true, true}
	for _, tt := range []struct{ kind, body, rule string }{
		{"messages", `{"tools":[{"type":"something_20270101","name":"x"}]}`, "unknown"},
		{"messages", `{"tools":[{"type":"WEB_FETCH_20250910"}]}`, "unknown"},
		{"messages", `{"tools":[{"type":"custom "}]}`, "unknown"},
		{"messages", `{"tools":[{"type":"` + strings.Repeat("custom", 100) + `"}]}`, "unknown"},
		{"messages", `{"messages":[{"content":[{"type":"image","source":{"type":"s3"}}]}]}`, "unknown"},
		{"messages", `{"betas":["managed-agents-2026-04-01"]}`, "unknown"},
		{"responses", `{"tools":[{"type":"something"}]}`, "unknown"},
		{"generate", `{"tools":[{"somethingNew":{}}]}`, "unknown"},
		{"messages", `{"model":"x","model":"y"}`, "body"},
		{"messages", `{"tools":[{"type":"custom","type":"web_fetch_20250910"}]}`, "body"},
		{"messages", `[]`, "body"},
		{"messages", `"x"`, "body"},
		{"messages", ``, "body"},
		{"messages", `{}{"mcp_servers":[{}]}`, "body"},
		{"messages", `{"a":"` + "\xff" + `"}`, "body"},
	} {
		if got := judgeBody(t, tt.kind, tt.body, all); got != tt.rule {
			t.Errorf("%s: %q, want %q\n%s", tt.kind, got, tt.rule, tt.body)
		}
	}
}

func TestNoBodyWhereThereIsNone(t *testing.T) {
	rule, err := Anthropic.Judge("GET", "/v1/models", "")
	if err != nil || rule.Body() {
		t.Fatal(rule, err)
	}
	if err := Anthropic.JudgeBody(rule, nil, Default); err != nil {
		t.Error(err)
	}
	if err := Anthropic.JudgeBody(rule, []byte(`{}`), Default); err == nil {
		t.Error("a body with GET passed")
	}
	if err := Anthropic.JudgeBody(Rule{}, []byte(`{}`), Default); err == nil {
		t.Error("a body passed without a rule")
	}
}

func BenchmarkJudgeBody(b *testing.B) {
	var all strings.Builder
	for i := 0; all.Len() < 120<<10; i++ {
		fmt.Fprintf(&all, `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"go test ./...","description":"x"}}]},`, i)
		fmt.Fprintf(&all, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]},`, i, strings.Repeat(`ok  \tringfence.dev\t0.1s\n`, 60))
	}
	var tools strings.Builder
	for i := 0; tools.Len() < 80<<10; i++ {
		fmt.Fprintf(&tools, `{"name":"tool%d","description":"%s","input_schema":{"type":"object","properties":{"a":{"type":"string","description":"%s"},"b":{"type":"number"}},"required":["a"]}},`,
			i, strings.Repeat("What it does. ", 100), strings.Repeat("What it is. ", 10))
	}
	body := []byte(`{"model":"x","messages":[` + strings.TrimSuffix(all.String(), ",") + `],"tools":[` + strings.TrimSuffix(tools.String(), ",") + `]}`)
	rule, err := Anthropic.Judge("POST", "/v1/messages", "")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Anthropic.JudgeBody(rule, body, Default); err != nil {
			b.Fatal(err)
		}
	}
}
