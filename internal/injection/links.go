package injection

import "strings"

// links finds images whose address waits to be filled with what the reader knows. Images
// are fetched as soon as an answer is shown, without a click. An address in an address is
// part of it.
func links(w *work, text string) (out []Finding) {
	w.charge(2 * len(text))
	judge := func(at, end int) {
		w.charge(end - at)
		if len(out) < maxFindings && carries(text[at:end]) {
			out = append(out, Finding{Kind: Link, At: at, Quote: quote(bare(text[at:end]))})
		}
	}
	ends := next{text: text, of: ")\n"}
	for at, open, looked := 0, -1, 0; ; {
		i := strings.Index(text[at:], "](")
		if i < 0 {
			break
		}
		at += i + 2
		if o := strings.LastIndexByte(text[looked:at-2], '['); o >= 0 {
			open = looked + o
		}
		if looked = at - 2; open <= 0 || text[open-1] != '!' || at-open > 202 {
			continue
		}
		if end := ends.from(at); end < len(text) && end > at {
			judge(at, end)
			at = end
		}
	}
	ends = next{text: text, of: ">"}
	for at := 0; ; {
		i := strings.Index(text[at:], "<img")
		if i < 0 {
			return out
		}
		at += i + 4
		if end := ends.from(at); end < len(text) {
			judge(at, end)
			at = end
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
