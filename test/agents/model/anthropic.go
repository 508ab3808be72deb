package main

// messages answers as Anthropic's Messages API does: Claude Code.
func messages(w *stream, call string, t turn) {
	send := func(kind string, fields object) {
		fields["type"] = kind
		w.event(kind, fields)
	}
	start, delta, why := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": t.Text}, "end_turn"
	if t.Tool != "" {
		start = object{"type": "tool_use", "id": "toolu_" + call, "name": t.Tool, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": string(t.Input)}
		why = "tool_use"
	}
	send("message_start", object{"message": object{"id": "msg_" + call, "type": "message", "role": "assistant", "model": "scripted",
		"content": []any{}, "usage": object{"input_tokens": 1, "output_tokens": 1}}})
	send("content_block_start", object{"index": 0, "content_block": start})
	send("content_block_delta", object{"index": 0, "delta": delta})
	send("content_block_stop", object{"index": 0})
	send("message_delta", object{"delta": object{"stop_reason": why}, "usage": object{"output_tokens": 1}})
	send("message_stop", object{})
}
