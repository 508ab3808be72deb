package modelapi

import "strings"

// Rule is what a request turned out to be.
type Rule struct {
	Name string // such as anthropic.messages
	Host string // where the vendor serves it
	body *node  // nil: there is none
}

// Body reports whether a request of this kind has a body, which JudgeBody judges.
func (r Rule) Body() bool { return r.body != nil }

// route is a request that an agent needs. In a path, * stands for a segment that
// names something, such as a model, up to the rest of the segment.
type route struct {
	method, path, name string
	query              []string // the parameters it may have
	body               *node
}

// Judge says what a request is. path and rawQuery are as they were sent, not
// decoded, after Strip took the credentials: there is one way to write each
// request, and any other way is denied.
func (a API) Judge(method, path, rawQuery string) (Rule, error) {
	if !canonical(path) {
		return Rule{}, a.deny("path", 400, "a path that is not in its plain form", "")
	}
	for _, s := range services[a] {
		for _, r := range s.routes {
			if r.method != method || !match(r.path, path) {
				continue
			}
			if name, ok := queryFits(rawQuery, r.query); !ok {
				return Rule{}, a.deny("query", 400, "the parameter "+quote(name)+" in a request for "+r.path, "")
			}
			return Rule{string(a) + "." + r.name, s.host, r.body}, nil
		}
	}
	return Rule{}, a.unknown(method, path)
}

// unknown is about a path that no agent needs. Codex asks for a WebSocket first;
// told 426, it goes on with plain requests at once, told anything else it tries
// for seven seconds.
func (a API) unknown(method, path string) error {
	if a == OpenAI && method == "GET" && strings.HasSuffix(path, "/responses") {
		return a.deny("websocket", 426, "the model API over a WebSocket", "send the request with POST")
	}
	return a.deny("path", 404, quote(method+" "+path)+", which no agent needs", "")
}

func (a API) deny(rule string, status int, what, hint string) *Denied {
	return &Denied{string(a) + "." + rule, "the broker does not pass on " + what, hint, status}
}

// canonical reports whether a path can be read in one way only: no escapes, no
// empty or dot segments, no parameters of segments.
func canonical(path string) bool {
	if path == "/" {
		return true
	}
	if len(path) > 512 || !strings.HasPrefix(path, "/") {
		return false
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		if !plainName(segment) || strings.Trim(segment, ".") == "" {
			return false
		}
	}
	return true
}

// plainName reports whether s has only what names in paths and queries have.
func plainName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '.', c == '-', c == '_', c == ':', c == '@':
		default:
			return false
		}
	}
	return s != "" && len(s) <= 128
}

// match compares a canonical path with the path of a route.
func match(pattern, path string) bool {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == path
	}
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return false
	}
	name, ok := strings.CutSuffix(rest, after)
	return ok && name != "" && !strings.Contains(name, "/") && (after == "" || !strings.Contains(name, ":"))
}

// queryFits reports whether a query has only parameters of the list, each once
// and in plain form; if not, it names the one that is wrong.
func queryFits(raw string, allowed []string) (string, bool) {
	if raw == "" {
		return "", true
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(part, "=")
		if !plainName(name) || !plainName(value) || seen[name] || !fits(name, value, allowed) {
			return name, false
		}
		seen[name] = true
	}
	return "", true
}

// fits looks for name, or name=value, in a list.
func fits(name, value string, allowed []string) bool {
	for _, a := range allowed {
		want, only, fixed := strings.Cut(a, "=")
		if want == name && (!fixed || only == value) {
			return true
		}
	}
	return false
}

// maxQuote is how much of a name is told.
const maxQuote = 64

// quote writes a name from a request so that it cannot be taken for words of ours.
func quote(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, name[:min(len(name), maxQuote)])
	return `"` + clean + `"`
}
