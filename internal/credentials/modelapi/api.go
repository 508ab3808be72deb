package modelapi

// API is a vendor's way to speak with a model.
type API string

// The APIs.
const (
	Anthropic API = "anthropic"
	OpenAI    API = "openai"
	Gemini    API = "gemini"
)

// Allow says what a provider may be asked to do beyond answering. The zero Allow
// allows nothing.
type Allow struct {
	Search bool // look for something on the web
	Fetch  bool // get what an address names
	MCP    bool // call an MCP server or a connector
	Code   bool // run code on a machine of the provider's
	Files  bool // use what is kept there: files, containers, conversations, background runs
}

// Default is what an agent's own tools need.
var Default = Allow{Search: true}

// feature is one field of Allow.
type feature byte

const (
	never feature = iota // not for any Allow
	search
	fetch
	mcp
	code
	files
)

// features are the words for people.
var features = [...]struct{ name, what string }{
	never:  {"unknown", ""},
	search: {"search", "a search on the web by the provider"},
	fetch:  {"fetch", "an address for the provider to fetch"},
	mcp:    {"mcp", "an MCP server for the provider to call"},
	code:   {"code", "code for the provider to run"},
	files:  {"files", "something that is kept with the provider"},
}

func (a Allow) has(f feature) bool {
	switch f {
	case search:
		return a.Search
	case fetch:
		return a.Fetch
	case mcp:
		return a.MCP
	case code:
		return a.Code
	case files:
		return a.Files
	}
	return false
}

// Denied is a request that does not pass. Its status is one that agents take
// for final and show with our words: to 403 Claude Code says that it could not
// log in, and Codex tries five times more; after 404 on a call that is not to
// the model they go on without it.
type Denied struct {
	Rule   string // such as anthropic.fetch
	Reason string // one sentence; it may quote names from the request, never values
	Hint   string // what helps; may be empty
	Status int    // for the answer
}

func (d *Denied) Error() string { return d.Reason }
