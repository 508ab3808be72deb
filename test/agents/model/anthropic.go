package model

import "encoding/json"

// messages answers as Anthropic's Messages API does: Claude Code, opencode.
func messages(w *stream, turn int, t Turn) {
	send := func(kind string, fields object) {
		fields["type"] = kind
		w.event(kind, fields)
	}
	block := func(i int, start, delta object) {
		send("content_block_start", object{"index": i, "content_block": start})
		send("content_block_delta", object{"index": i, "delta": delta})
		send("content_block_stop", object{"index": i})
	}
	send("message_start", object{"message": object{"id": "msg_" + callName(turn, 0), "type": "message", "role": "assistant", "model": "scripted",
		"content": []any{}, "stop_reason": nil, "usage": object{"input_tokens": 1, "output_tokens": 1}}})
	why := "end_turn"
	for i, c := range t.Calls {
		block(i, object{"type": "tool_use", "id": callName(turn, i), "name": c.Tool, "input": object{}},
			object{"type": "input_json_delta", "partial_json": c.arguments()})
		why = "tool_use"
	}
	if len(t.Calls) == 0 {
		block(0, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": t.Text})
	}
	send("message_delta", object{"delta": object{"stop_reason": why}, "usage": object{"output_tokens": 1}})
	send("message_stop", object{})
}

func messagesResults(body []byte) map[string]string {
	var ask struct {
		Messages []struct{ Content json.RawMessage }
	}
	found := map[string]string{}
	if json.Unmarshal(body, &ask) != nil {
		return found
	}
	for _, m := range ask.Messages {
		var blocks []struct {
			ID      string `json:"tool_use_id"`
			Content json.RawMessage
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue // a text alone
		}
		for _, b := range blocks {
			if b.ID != "" {
				found[b.ID] = string(b.Content)
			}
		}
	}
	return found
}
