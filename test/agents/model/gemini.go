package model

import "encoding/json"

// content answers as Google's Gemini API does: Gemini CLI with a key.
func content(w *stream, turn int, t Turn) { w.event("", candidate(turn, t)) }

// assisted answers as Code Assist does, which wraps the same: Gemini CLI with a login.
func assisted(w *stream, turn int, t Turn) { w.event("", object{"response": candidate(turn, t)}) }

func candidate(turn int, t Turn) object {
	var parts []any
	for i, c := range t.Calls {
		parts = append(parts, object{"functionCall": object{"id": callName(turn, i), "name": c.Tool, "args": c.Input}})
	}
	if len(t.Calls) == 0 {
		parts = append(parts, object{"text": t.Text})
	}
	return object{"candidates": []any{object{"index": 0, "finishReason": "STOP",
		"content": object{"role": "model", "parts": parts}}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
}

func contentResults(body []byte) map[string]string {
	type contents struct {
		Contents []struct {
			Parts []struct {
				FunctionResponse struct {
					ID       string
					Response json.RawMessage
				}
			}
		}
	}
	var ask struct {
		contents
		Request contents // of Code Assist
	}
	found := map[string]string{}
	if json.Unmarshal(body, &ask) != nil {
		return found
	}
	for _, c := range append(ask.Contents, ask.Request.Contents...) {
		for _, p := range c.Parts {
			if r := p.FunctionResponse; r.ID != "" {
				found[r.ID] = string(r.Response)
			}
		}
	}
	return found
}
