package main

// responses answers as OpenAI's Responses API does: Codex.
func responses(w *stream, call string, t turn) {
	send := func(kind string, fields object) {
		fields["type"] = kind
		w.event(kind, fields)
	}
	item := object{"type": "message", "role": "assistant", "id": "msg_" + call,
		"content": []any{object{"type": "output_text", "text": t.Text}}}
	if t.Tool != "" {
		item = object{"type": "function_call", "id": "fc_" + call, "call_id": call, "name": t.Tool, "arguments": string(t.Input)}
	}
	send("response.created", object{"response": object{"id": "resp_" + call}})
	send("response.output_item.done", object{"output_index": 0, "item": item})
	send("response.completed", object{"response": object{"id": "resp_" + call,
		"usage": object{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})
}

// completions answers as OpenAI's Chat Completions API does: opencode.
func completions(w *stream, call string, t turn) {
	delta, why := object{"role": "assistant", "content": t.Text}, "stop"
	if t.Tool != "" {
		delta = object{"role": "assistant", "tool_calls": []any{object{"index": 0, "id": call, "type": "function",
			"function": object{"name": t.Tool, "arguments": string(t.Input)}}}}
		why = "tool_calls"
	}
	send := func(delta object, why any) {
		w.event("", object{"id": "chat_" + call, "object": "chat.completion.chunk", "model": "scripted",
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": why}}})
	}
	send(delta, nil)
	send(object{}, why)
	w.done()
}
