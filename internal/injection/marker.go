package injection

import "strings"

// markers are how models are told who speaks. In a text that a tool returns they have no
// place, but a page about models shows them: they count with an order beside them.
var markers = []string{
	"<system>", "</system>", "<|im_start|>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>",
	"[inst]", "[/inst]", "<<sys>>", "<</sys>>", "[system]:", "[system message]", "[system prompt]", "[admin]", "<start_of_turn>", "<function_calls>", "</function_results>", "<tool_result>", "</tool_result>",
	"<assistant>", "</assistant>", "<instructions>", "<new_instructions>", "<admin>", "<developer>",
}

// reminder is what an agent itself writes into results. It counts less.
const reminder = "<system-reminder>"

const longestMarker = 24

// marker is the length of one that stands at the beginning of a text, 0 if none does.
func marker(text string) (int, meaning) {
	var b [longestMarker]byte
	n := min(len(text), longestMarker)
	for i := range n {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b[i] = c
	}
	if n < 6 || b[1] != '|' && b[1] != '<' && b[1] != '/' && !letter(b[1]) {
		return 0, 0
	}
	if strings.HasPrefix(string(b[:n]), reminder) {
		return len(reminder), mTurn
	}
	for _, m := range markers {
		if strings.HasPrefix(string(b[:n]), m) {
			return len(m), mMarker
		}
	}
	return 0, 0
}
