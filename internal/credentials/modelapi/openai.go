package modelapi

import (
	"strings"

	"ringfence.dev/ringfence/internal/strictjson"
)

// responsesBody is a request for /v1/responses. store passes: what it keeps is
// the user's, with a provider that has seen it, and what would read it again (a
// response before, a conversation, an item by reference) does not.
var responsesBody = responsesGrammar()

func responsesGrammar() *node {
	tool, part := openAITool(), openAIPart()
	item := &node{check: words, members: map[string]*node{
		"type": {check: itemType}, "role": free, "id": free, "callid": free, "name": free, "content": part, "output": part,
		"arguments": free, "input": free, // of a call
		"action": free, "operation": free, "results": free, "result": free, "code": free, // of a call in the past
		"summary": free, "encryptedcontent": free, "revisedprompt": free,
		"tools": tool, // what Codex adds, or a search for tools found
	}}
	return &node{members: map[string]*node{
		"model": {check: modelName}, "input": item, "instructions": item, "tools": tool, "metadata": free, "clientmetadata": free,
		"text":               {members: map[string]*node{"format": {members: map[string]*node{"schema": free, "description": free}}}},
		"prompt":             {members: map[string]*node{"id": needs(files), "variables": {members: map[string]*node{}}}}, // a template kept there
		"previousresponseid": needs(files), "conversation": needs(files),
		"background": needs(files), // it would outlive the session
	}}
}

// chatBody is a request for /v1/chat/completions.
var chatBody = chatGrammar()

func chatGrammar() *node {
	part := openAIPart()
	function := &node{members: map[string]*node{"name": free, "arguments": free, "input": free}}
	message := &node{members: map[string]*node{
		"role": free, "name": free, "content": part, "refusal": free, "toolcallid": free,
		"tools":        openAITool(),
		"toolcalls":    {members: map[string]*node{"id": free, "function": function, "custom": function}},
		"functioncall": function,
		"reasoning":    free, "reasoningcontent": free, "reasoningdetails": free, // what models of other makers said to themselves
	}}
	return &node{members: map[string]*node{
		"model": {check: modelName}, "messages": message, "tools": openAITool(), "metadata": free, "stop": free,
		"functions":        {members: map[string]*node{"name": free, "description": free, "parameters": free}},
		"responseformat":   {members: map[string]*node{"jsonschema": free}},
		"prediction":       {members: map[string]*node{"content": part}},
		"websearchoptions": needs(search),
	}}
}

// openAIPart is a piece of what a message or a tool says.
func openAIPart() *node {
	picture := &node{check: onlyData, members: map[string]*node{"url": address}}
	part := &node{check: words, members: map[string]*node{
		"text": free, "refusal": free, "annotations": free, "logprobs": free, "filename": free, "encryptedcontent": free,
		"stdout": free, "stderr": free,
		"imageurl": picture, "fileurl": address, "videourl": picture, "fileid": needs(files),
		"inputaudio": {members: map[string]*node{"data": free}},
		"file":       {members: map[string]*node{"filename": free, "fileid": needs(files)}},
	}}
	part.members["content"] = part
	return part
}

// openAITool is a tool, in the form of the Responses API (flat) or of Chat
// Completions (in a member named after its type).
func openAITool() *node {
	tool := &node{members: map[string]*node{
		"type": {check: toolType}, "name": free, "description": free, "parameters": free, "format": free, "outputschema": free,
		"function": {members: map[string]*node{"name": free, "description": free, "parameters": free}},
		"custom":   {members: map[string]*node{"name": free, "description": free, "format": free}},
	}}
	tool.members["tools"] = tool       // a namespace has some
	tool.members["container"] = &node{ // a new one for this answer, or one that is kept
		check:   func(strictjson.Text) (feature, bool) { return files, false },
		members: map[string]*node{"type": {check: oneOf([]string{"auto"}, nil)}, "memorylimit": free},
	}
	return tool
}

// openAITools are the types of tools. Those that pass run on the client, or give
// back nothing but what the model makes (images, tools of the request).
var openAITools = map[string]feature{
	"function": passes, "custom": passes, "namespace": passes, "local_shell": passes, "apply_patch": passes,
	"tool_search": passes, "computer": passes, "computer_use_preview": passes, "image_generation": passes,
	"mcp": mcp, "file_search": files, "code_interpreter": code, "shell": code,
}

func toolType(t strictjson.Text) (feature, bool) {
	if t.Size() > 256 {
		return never, false
	}
	name := t.String()
	if name == "web_search" || strings.HasPrefix(name, "web_search_") { // _preview, _2025_08_26
		return search, false
	}
	f := openAITools[name]
	return f, f == passes
}

// itemType passes all but what stands for something kept, or answers for a person.
func itemType(t strictjson.Text) (feature, bool) {
	if t.Size() > 256 {
		return never, false
	}
	switch t.String() {
	case "item_reference":
		return files, false
	case "mcp_approval_response":
		return mcp, false
	}
	return never, true
}
