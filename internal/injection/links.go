package injection

import "strings"

// maxLink bounds the address of an image.
const maxLink = 2 << 10

// links finds images whose address waits to be filled with what the reader knows. Images
// are fetched as soon as an answer is shown, without a click.
func links(text string) (out []Finding) {
	judge := func(at int, address string) {
		if len(out) < maxFindings && carries(address) {
			out = append(out, Finding{Kind: Link, At: at, Quote: quote(address)})
		}
	}
	for at := 0; ; {
		i := strings.Index(text[at:], "](")
		if i < 0 {
			break
		}
		at += i + 2
		open := strings.LastIndexByte(text[max(0, at-202):at-2], '[')
		if open += max(0, at-202); open <= 0 || open < max(0, at-202) || text[open-1] != '!' {
			continue
		}
		rest := text[at:min(len(text), at+maxLink)]
		if end := strings.IndexAny(rest, ")\n"); end > 0 {
			judge(at, rest[:end])
		}
	}
	for at := 0; ; {
		i := strings.Index(text[at:], "<img")
		if i < 0 {
			return out
		}
		at += i + 4
		rest := text[at:min(len(text), at+maxLink)]
		if end := strings.IndexByte(rest, '>'); end > 0 {
			judge(at, rest[:end])
		}
	}
}

// told are the names of what a reader knows and nobody else should.
var told = []string{"secret", "conversation", "history", "chat", "password", "credential", "api_key", "api-key", "apikey", "api key", "transcript", "prompt", "messages", "context", "summary", "environment", "user data", "user_data", "everything"}

// carries holds for an address with a place in its query for such things.
func carries(address string) bool {
	if !strings.Contains(address, "://") {
		return false
	}
	_, query, ok := strings.Cut(address, "?")
	for ok {
		i := strings.IndexAny(query, "{[<")
		if i < 0 {
			return false
		}
		query = query[i:]
		end := strings.IndexAny(query, "}]>")
		if end < 0 {
			return false
		}
		hole := strings.ToLower(query[:end])
		for _, name := range told {
			if strings.Contains(hole, name) {
				return true
			}
		}
		query = query[end+1:]
	}
	return false
}
