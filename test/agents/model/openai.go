package model

import (
	"encoding/json"
	"strings"
)

// responses answers as OpenAI's Responses API does: Codex, opencode.
func responses(w *stream, turn int, t Turn) {
	send := func(kind string, fields object) {
		fields["type"] = kind
		w.event(kind, fields)
	}
	id := "resp_" + callName(turn, 0)
	send("response.created", object{"response": object{"id": id, "created_at": 0, "model": "scripted"}})
	item := func(i int, begun, done object) {
		send("response.output_item.added", object{"output_index": i, "item": begun})
		send("response.output_item.done", object{"output_index": i, "item": done})
	}
	for i, c := range t.Calls {
		name := callName(turn, i)
		call := func(arguments, status string) object {
			o := object{"type": "function_call", "id": "fc_" + name, "call_id": name, "name": c.Tool, "arguments": arguments, "status": status}
			if space, tool, ok := strings.Cut(c.Tool, "/"); ok { // a tool of a namespace
				o["namespace"], o["name"] = space, tool
			}
			return o
		}
		item(i, call("", "in_progress"), call(c.arguments(), "completed"))
	}
	if len(t.Calls) == 0 {
		message := "msg_" + id
		send("response.output_item.added", object{"output_index": 0, "item": object{"type": "message", "role": "assistant", "id": message, "content": []any{}}})
		send("response.output_text.delta", object{"output_index": 0, "content_index": 0, "item_id": message, "delta": t.Text})
		send("response.output_item.done", object{"output_index": 0, "item": object{"type": "message", "role": "assistant", "id": message,
			"content": []any{object{"type": "output_text", "text": t.Text, "annotations": []any{}}}}})
	}
	send("response.completed", object{"response": object{"id": id,
		"usage": object{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})
}

func responsesResults(body []byte) map[string]string {
	var ask struct {
		Input []struct {
			Type, Role string
			ID         string `json:"call_id"`
			Output     json.RawMessage
		}
	}
	found := map[string]string{}
	if json.Unmarshal(body, &ask) != nil {
		return found
	}
	for _, item := range ask.Input {
		if item.Type == "function_call_output" {
			found[item.ID] = string(item.Output)
		}
	}
	return found
}

// completions answers as OpenAI's Chat Completions API does: opencode.
func completions(w *stream, turn int, t Turn) {
	delta, why := object{"role": "assistant", "content": t.Text}, "stop"
	if len(t.Calls) > 0 {
		var calls []any
		for i, c := range t.Calls {
			calls = append(calls, object{"index": i, "id": callName(turn, i), "type": "function",
				"function": object{"name": c.Tool, "arguments": c.arguments()}})
		}
		delta, why = object{"role": "assistant", "tool_calls": calls}, "tool_calls"
	}
	send := func(delta object, why any) {
		w.event("", object{"id": "chat_" + callName(turn, 0), "object": "chat.completion.chunk", "model": "scripted",
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": why}}})
	}
	send(delta, nil)
	send(object{}, why)
	w.done()
}

func completionsResults(body []byte) map[string]string {
	var ask struct {
		Messages []struct {
			ID      string `json:"tool_call_id"`
			Content json.RawMessage
		}
	}
	found := map[string]string{}
	if json.Unmarshal(body, &ask) != nil {
		return found
	}
	for _, m := range ask.Messages {
		if m.ID != "" {
			found[m.ID] = string(m.Content)
		}
	}
	return found
}
