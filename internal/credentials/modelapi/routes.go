package modelapi

// Where the vendors serve their APIs.
const (
	hostAnthropic = "api.anthropic.com"
	hostOpenAI    = "api.openai.com"
	hostChatGPT   = "chatgpt.com"
	hostGemini    = "generativelanguage.googleapis.com"
	hostAssist    = "cloudcode-pa.googleapis.com" // Code Assist
)

// service is one of a vendor's hosts.
type service struct {
	host   string
	routes []route
}

// services are what the agents need, and nothing else: what uploads (files,
// batches, feedback, telemetry, transcripts, skills), what administers (keys,
// organisations, members, projects), what runs without the agent (sessions,
// environments, triggers, background answers) is not here.
var services = map[API][]service{
	Anthropic: {{hostAnthropic, []route{
		{"POST", "/v1/messages", "messages", []string{"beta=true"}, messagesBody},
		{"POST", "/v1/messages/count_tokens", "count_tokens", []string{"beta=true"}, messagesBody},
		{"GET", "/v1/models", "models", []string{"beta=true", "limit", "after_id", "before_id"}, nil}, // the list for /model
		{"GET", "/v1/models/*", "models", []string{"beta=true"}, nil},
		{"HEAD", "/", "hello", nil, nil}, // Claude Code warms up its connection
		{"GET", "/api/hello", "hello", nil, nil},
		{"HEAD", "/api/hello", "hello", nil, nil}, // the check before a login, and of /doctor
		// What an organisation has set for its people: without it, Claude Code
		// runs without their policy.
		{"GET", "/api/claude_code/settings", "settings", nil, nil},
		{"GET", "/api/claude_code/policy_limits", "settings", nil, nil},
		{"GET", "/api/claude_cli/bootstrap", "settings", []string{"entrypoint", "model"}, nil}, // models on offer
		{"GET", "/api/claude_code_penguin_mode", "settings", nil, nil},                         // whether fast mode is on offer
		// Whose login it is, and what is left of its quota: the start of a session
		// with a login, and /usage.
		{"GET", "/api/oauth/profile", "profile", nil, nil},
		{"GET", "/api/claude_cli_profile", "profile", nil, nil}, // the same for an API key
		{"GET", "/api/oauth/usage", "profile", nil, nil},
		// WebFetch asks whether a site may be fetched before it does, from inside.
		{"GET", "/api/web/domain_info", "domain", []string{"domain"}, nil},
	}}},
	OpenAI: {{hostOpenAI, []route{
		{"POST", "/v1/responses", "responses", nil, responsesBody},
		{"POST", "/v1/chat/completions", "chat", nil, chatBody},
		{"GET", "/v1/models", "models", []string{"client_version"}, nil},
		{"GET", "/v1/models/*", "models", nil, nil},
	}}, {hostChatGPT, []route{
		{"POST", "/backend-api/codex/responses", "responses", nil, responsesBody},
		{"GET", "/backend-api/codex/models", "models", []string{"client_version"}, nil},
		{"GET", "/backend-api/wham/usage", "profile", nil, nil},          // what is left of the quota, for /status
		{"GET", "/backend-api/wham/accounts/check", "profile", nil, nil}, // which workspace the login is for
	}}},
	Gemini: {{hostGemini, []route{
		{"POST", "/v1beta/models/*:generateContent", "generate", nil, generateBody},
		{"POST", "/v1beta/models/*:streamGenerateContent", "generate", []string{"alt=sse"}, generateBody},
		{"POST", "/v1beta/models/*:countTokens", "count_tokens", nil, generateBody},
		{"POST", "/v1beta/models/*:embedContent", "embed", nil, generateBody},
		{"GET", "/v1beta/models", "models", []string{"pageSize", "pageToken"}, nil},
		{"GET", "/v1beta/models/*", "models", nil, nil},
	}}, {hostAssist, []route{
		{"POST", "/v1internal:generateContent", "generate", nil, assistBody},
		{"POST", "/v1internal:streamGenerateContent", "generate", []string{"alt=sse"}, assistBody},
		{"POST", "/v1internal:countTokens", "count_tokens", nil, assistBody},
		// The start of a session with a login: its tier and project, its quota,
		// switches, and what an administrator has set. Joining a tier
		// (onboardUser) and changing a setting are for the host.
		{"POST", "/v1internal:loadCodeAssist", "profile", nil, unknownBody},
		{"POST", "/v1internal:retrieveUserQuota", "profile", nil, unknownBody},
		{"POST", "/v1internal:listExperiments", "settings", nil, unknownBody},
		{"POST", "/v1internal:fetchAdminControls", "settings", nil, unknownBody},
		{"GET", "/v1internal:getCodeAssistGlobalUserSetting", "settings", nil, nil},
	}}},
}
