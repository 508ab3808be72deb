package main

// content answers as Google's Gemini API does: Gemini CLI.
func content(w *stream, _ string, t turn) {
	part := object{"text": t.Text}
	if t.Tool != "" {
		part = object{"functionCall": object{"name": t.Tool, "args": t.Input}}
	}
	w.event("", object{"candidates": []any{object{"index": 0, "finishReason": "STOP",
		"content": object{"role": "model", "parts": []any{part}}}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}})
}
