package modelapi

import (
	"mime"
	"net/http"
	"net/textproto"
	"strings"
)

// headers are what goes on to the provider. Not among them: credentials and who
// is meant by them (an organisation, an account, a workspace), cookies, what
// forwards, overrides or routes, and Accept-Encoding, so that answers come in a
// form that can be looked into.
var headers = map[API][]string{
	Anthropic: {
		"Anthropic-Version", "Anthropic-Beta", "Anthropic-Dangerous-Direct-Browser-Access",
		"X-App", "X-Claude-Code-Session-Id", "X-Claude-Code-Agent-Id", "X-Claude-Code-Parent-Agent-Id",
	},
	OpenAI: {
		"Openai-Beta", "Originator", "Version", "Session-Id", "Session_id", "Thread-Id", "Conversation_id",
		"X-Codex-Beta-Features", "X-Codex-Turn-Metadata", "X-Codex-Turn-State", "X-Codex-Window-Id",
		"X-Codex-Parent-Thread-Id", "X-Codex-Installation-Id", "X-Openai-Subagent", "X-Openai-Internal-Codex-Responses-Lite",
	},
	Gemini: {"X-Goog-Api-Client", "X-Gemini-Api-Privileged-User-Id", "X-Server-Timeout"},
}

// anyones are those that go on to all of them.
var anyones = []string{
	"Accept", "Accept-Language", "Content-Type", "User-Agent", "X-Client-Request-Id", "X-Session-Id", "X-Session-Affinity",
	"X-Stainless-Arch", "X-Stainless-Helper", "X-Stainless-Helper-Method", "X-Stainless-Lang", "X-Stainless-Os",
	"X-Stainless-Package-Version", "X-Stainless-Retry-Count", "X-Stainless-Runtime", "X-Stainless-Runtime-Version",
	"X-Stainless-Timeout",
}

// Forward returns the headers of a request that go on to the provider. It denies
// what would make the body something else than what was judged, and beta features
// that are not allowed. Headers that no agent needs are left out silently.
func (a API) Forward(in http.Header, allow Allow) (http.Header, error) {
	if err := a.judgeContent(in); err != nil {
		return nil, err
	}
	if in.Get("Upgrade") != "" {
		return nil, a.deny("websocket", 426, "a request to change the protocol", "")
	}
	out := http.Header{}
	for _, list := range [][]string{anyones, headers[a]} {
		for _, name := range list {
			if values := in[textproto.CanonicalMIMEHeaderKey(name)]; len(values) > 0 {
				out[name] = append([]string(nil), values...)
			}
		}
	}
	if err := a.judgeBetas(out, allow); err != nil {
		return nil, err
	}
	return out, nil
}

// judgeContent sees to it that a body is read as it was judged: JSON, as it is.
func (a API) judgeContent(in http.Header) error {
	for _, value := range in["Content-Encoding"] {
		if !strings.EqualFold(value, "identity") {
			return a.deny("encoding", 400, "a compressed body", "turn off compression of requests in the agent")
		}
	}
	types := in["Content-Type"]
	if len(types) == 0 {
		return nil
	}
	kind, params, err := mime.ParseMediaType(types[0])
	charset, has := params["charset"]
	if len(types) > 1 || err != nil || kind != "application/json" || has && !strings.EqualFold(charset, "utf-8") {
		return a.deny("type", 400, "a body that is not application/json", "")
	}
	return nil
}

// judgeBetas judges the headers that switch features on.
func (a API) judgeBetas(out http.Header, allow Allow) error {
	for _, value := range split(out["Anthropic-Beta"]) {
		if f, ok := beta(value); !ok && !allow.has(f) {
			return a.needs(f, value)
		}
	}
	for _, value := range split(out["Openai-Beta"]) {
		if !strings.HasPrefix(value, "responses=") {
			return a.needs(never, value)
		}
	}
	return nil
}

// split reads a header that is a list.
func split(values []string) []string {
	var all []string
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}
