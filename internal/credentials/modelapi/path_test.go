package modelapi

import (
	"errors"
	"strings"
	"testing"
)

var judged = []struct {
	api                 API
	method, path, query string
	rule, host          string // "" host: denied by rule
}{
	{Anthropic, "POST", "/v1/messages", "", "anthropic.messages", "api.anthropic.com"},
	{Anthropic, "POST", "/v1/messages", "beta=true", "anthropic.messages", "api.anthropic.com"},
	{Anthropic, "POST", "/v1/messages/count_tokens", "beta=true", "anthropic.count_tokens", "api.anthropic.com"},
	{Anthropic, "GET", "/v1/models", "limit=1000", "anthropic.models", "api.anthropic.com"},
	{Anthropic, "GET", "/v1/models/claude-opus-4-8", "", "anthropic.models", "api.anthropic.com"},
	{Anthropic, "HEAD", "/", "", "anthropic.hello", "api.anthropic.com"},
	{Anthropic, "GET", "/api/oauth/profile", "", "anthropic.profile", "api.anthropic.com"},
	{Anthropic, "GET", "/api/claude_cli/bootstrap", "entrypoint=cli&model=claude-opus-4-8", "anthropic.settings", "api.anthropic.com"},
	{OpenAI, "POST", "/v1/responses", "", "openai.responses", "api.openai.com"},
	{OpenAI, "POST", "/v1/chat/completions", "", "openai.chat", "api.openai.com"},
	{OpenAI, "GET", "/v1/models/ft:gpt-4o:org::id", "", "openai.models", "api.openai.com"},
	{OpenAI, "POST", "/backend-api/codex/responses", "", "openai.responses", "chatgpt.com"},
	{OpenAI, "GET", "/backend-api/codex/models", "client_version=0.166.0", "openai.models", "chatgpt.com"},
	{Gemini, "POST", "/v1beta/models/gemini-2.5-flash:generateContent", "", "gemini.generate", "generativelanguage.googleapis.com"},
	{Gemini, "POST", "/v1beta/models/gemini-2.5-flash:streamGenerateContent", "alt=sse", "gemini.generate", "generativelanguage.googleapis.com"},
	{Gemini, "POST", "/v1internal:streamGenerateContent", "alt=sse", "gemini.generate", "cloudcode-pa.googleapis.com"},
	{Gemini, "POST", "/v1internal:loadCodeAssist", "", "gemini.profile", "cloudcode-pa.googleapis.com"},

	// Methods.
	{Anthropic, "GET", "/v1/messages", "", "anthropic.path", ""},
	{Anthropic, "post", "/v1/messages", "", "anthropic.path", ""},
	{Anthropic, "DELETE", "/v1/models/claude-opus-4-8", "", "anthropic.path", ""},
	{Anthropic, "PUT", "/api/claude_code/settings", "", "anthropic.path", ""},
	{OpenAI, "DELETE", "/v1/models/ft:gpt-4o", "", "openai.path", ""},
	{OpenAI, "GET", "/v1/responses", "", "openai.websocket", ""},
	{OpenAI, "GET", "/backend-api/codex/responses", "", "openai.websocket", ""},
	{Gemini, "PATCH", "/v1beta/models/x", "", "gemini.path", ""},

	// What uploads, administers, or runs without the agent.
	{Anthropic, "POST", "/v1/files", "", "anthropic.path", ""},
	{Anthropic, "GET", "/v1/files/file_1/content", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1/messages/batches", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1/skills", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1/sessions", "", "anthropic.path", ""},
	{Anthropic, "GET", "/v1/organizations/api_keys", "", "anthropic.path", ""},
	{Anthropic, "POST", "/api/event_logging/v2/batch", "", "anthropic.path", ""},
	{Anthropic, "POST", "/api/claude_cli_feedback", "", "anthropic.path", ""},
	{Anthropic, "POST", "/api/oauth/file_upload", "", "anthropic.path", ""},
	{Anthropic, "POST", "/api/oauth/claude_cli/create_api_key", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1/oauth/token", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1/complete", "", "anthropic.path", ""},
	{OpenAI, "POST", "/v1/files", "", "openai.path", ""},
	{OpenAI, "POST", "/v1/uploads", "", "openai.path", ""},
	{OpenAI, "POST", "/v1/vector_stores", "", "openai.path", ""},
	{OpenAI, "POST", "/v1/assistants", "", "openai.path", ""},
	{OpenAI, "POST", "/v1/fine_tuning/jobs", "", "openai.path", ""},
	{OpenAI, "POST", "/v1/batches", "", "openai.path", ""},
	{OpenAI, "POST", "/v1/evals", "", "openai.path", ""},
	{OpenAI, "POST", "/v1/containers", "", "openai.path", ""},
	{OpenAI, "POST", "/v1/conversations", "", "openai.path", ""},
	{OpenAI, "POST", "/v1/audio/transcriptions", "", "openai.path", ""},
	{OpenAI, "GET", "/v1/responses/resp_1", "", "openai.path", ""},
	{OpenAI, "POST", "/backend-api/codex/analytics-events/events", "", "openai.path", ""},
	{OpenAI, "POST", "/backend-api/ps/mcp", "", "openai.path", ""},
	{Gemini, "POST", "/upload/v1beta/files", "", "gemini.path", ""},
	{Gemini, "POST", "/v1beta/cachedContents", "", "gemini.path", ""},
	{Gemini, "POST", "/v1beta/models/x:batchGenerateContent", "", "gemini.path", ""},
	{Gemini, "POST", "/v1beta/tunedModels/x:generateContent", "", "gemini.path", ""},
	{Gemini, "POST", "/v1internal:onboardUser", "", "gemini.path", ""},
	{Gemini, "POST", "/v1internal:recordCodeAssistMetrics", "", "gemini.path", ""},
	{Gemini, "POST", "/v1internal:setCodeAssistGlobalUserSetting", "", "gemini.path", ""},

	// Another API's paths.
	{OpenAI, "POST", "/v1/messages", "", "openai.path", ""},
	{Gemini, "POST", "/v1/responses", "", "gemini.path", ""},
	{API("other"), "POST", "/v1/messages", "", "other.path", ""},

	// Other ways to write a path.
	{Anthropic, "POST", "/v1/mess%61ges", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1//messages", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1/messages/", "", "anthropic.path", ""},
	{Anthropic, "POST", "//v1/messages", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1/files/../messages", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1/./messages", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1/messages;a=b", "", "anthropic.path", ""},
	{Anthropic, "POST", `/v1\messages`, "", "anthropic.path", ""},
	{Anthropic, "POST", "/V1/messages", "", "anthropic.path", ""},
	{Anthropic, "POST", "/v1/Messages", "", "anthropic.path", ""},
	{Anthropic, "POST", "v1/messages", "", "anthropic.path", ""},
	{Anthropic, "POST", "", "", "anthropic.path", ""},
	{Anthropic, "GET", "/v1/models/..", "", "anthropic.path", ""},
	{Anthropic, "GET", "/v1/models/", "", "anthropic.path", ""},
	{Anthropic, "GET", "/v1/models/a/b", "", "anthropic.path", ""},
	{Anthropic, "GET", "/v1/models/" + strings.Repeat("a", 200), "", "anthropic.path", ""},
	{Anthropic, "GET", "/v1/models/ü", "", "anthropic.path", ""},
	{Gemini, "POST", "/v1beta/models/x:countTokens:generateContent", "", "gemini.path", ""},
	{Gemini, "POST", "/v1beta/models/a/b:generateContent", "", "gemini.path", ""},
	{Gemini, "POST", "/v1beta/models/:generateContent", "", "gemini.path", ""},

	// Queries.
	{Anthropic, "POST", "/v1/messages", "beta=false", "anthropic.query", ""},
	{Anthropic, "POST", "/v1/messages", "beta=true&beta=true", "anthropic.query", ""},
	{Anthropic, "POST", "/v1/messages", "Beta=true", "anthropic.query", ""},
	{Anthropic, "POST", "/v1/messages", "beta=tru%65", "anthropic.query", ""},
	{Anthropic, "POST", "/v1/messages", "beta=true;x=y", "anthropic.query", ""},
	{Anthropic, "POST", "/v1/messages", "api_key=x", "anthropic.query", ""},
	{Anthropic, "POST", "/v1/messages", "&", "anthropic.query", ""},
	{Anthropic, "GET", "/api/web/domain_info", "domain=a.test/x", "anthropic.query", ""},
	{Gemini, "POST", "/v1beta/models/x:streamGenerateContent", "alt=json", "gemini.query", ""},
	{Gemini, "POST", "/v1beta/models/x:streamGenerateContent", "alt=sse&$httpMethod=DELETE", "gemini.query", ""},
	{Gemini, "POST", "/v1beta/models/x:streamGenerateContent", "alt=sse&key=x", "gemini.query", ""},
	{Gemini, "POST", "/v1beta/models/x:generateContent", "uploadType=media", "gemini.query", ""},
	{OpenAI, "GET", "/v1/models", "client_version=1+1", "openai.query", ""},
}

func TestJudge(t *testing.T) {
	for _, tt := range judged {
		rule, err := tt.api.Judge(tt.method, tt.path, tt.query)
		var d *Denied
		switch {
		case tt.host != "" && (err != nil || rule.Name != tt.rule || rule.Host != tt.host):
			t.Errorf("%s %s %s?%s: %s at %s, %v", tt.api, tt.method, tt.path, tt.query, rule.Name, rule.Host, err)
		case tt.host == "" && (!errors.As(err, &d) || d.Rule != tt.rule || d.Status < 400):
			t.Errorf("%s %s %s?%s: %s, %v; want it denied by %s", tt.api, tt.method, tt.path, tt.query, rule.Name, err, tt.rule)
		}
	}
}

// A refusal is read by a person and by a model: it quotes nothing but plain names.
func TestReasonsAreOneLine(t *testing.T) {
	for _, path := range []string{"/v1/\nignore all", "/v1/models/x\x1b[2J", "/" + strings.Repeat("a/", 300)} {
		_, err := Anthropic.Judge("GET", path, "")
		if err == nil || strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 200 {
			t.Errorf("%q: %v", path, err)
		}
	}
	_, err := Anthropic.Judge("POST", "/v1/messages", "a\"\n<"+strings.Repeat("b", 500)+"=1")
	if err == nil || strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
		t.Errorf("%v", err)
	}
}
