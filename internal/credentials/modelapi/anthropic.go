package modelapi

import (
	"strings"

	"ringfence.dev/ringfence/internal/strictjson"
)

// messagesBody is a request for /v1/messages and for count_tokens.
var messagesBody = messagesGrammar()

func messagesGrammar() *node {
	source := &node{check: words, members: map[string]*node{ // of an image or a document; a search result has a string
		"type": {check: oneOf([]string{"base64", "text", "content"}, map[string]feature{"url": fetch, "file": files})},
		"data": free, "mediatype": free, "url": needs(fetch), "fileid": needs(files),
	}}
	// inner is what stands in a block: what a tool returned, on our side or theirs.
	inner := &node{check: words}
	block := &node{check: words, members: map[string]*node{
		"type": {check: blockType}, "role": free, "text": free, "id": free, "name": free, "tooluseid": free,
		"thinking": free, "signature": free, "data": free, "title": free, "context": free,
		"input":     free, // the arguments of a call
		"citations": free, // of text that the model wrote, or a switch
		"source":    source, "content": inner,
	}}
	inner.members = map[string]*node{"url": free, "stdout": free, "stderr": free, "encryptedcontent": free, "content": inner}
	for name, n := range block.members {
		if inner.members[name] == nil {
			inner.members[name] = n
		}
	}
	source.members["content"] = block
	tool := &node{members: map[string]*node{
		"type": {check: anthropicTool}, "name": free, "description": free, "inputschema": free, "inputexamples": free,
	}}
	schema := &node{members: map[string]*node{"schema": free}}
	betas := &node{check: betaText}
	return &node{members: map[string]*node{
		"model": {check: modelName}, "messages": {members: map[string]*node{"role": free, "content": block, "tools": tool}},
		"system": block, "tools": tool, "metadata": free, "stopsequences": free,
		"outputconfig": {members: map[string]*node{"format": schema}}, "outputformat": schema,
		"mcpservers": needs(mcp), "container": needs(files),
		"anthropicbeta": betas, "betas": betas, // gateways take the header's place
	}}
}

// blockType passes all but what uploads into a container.
func blockType(t strictjson.Text) (feature, bool) {
	return files, !(t.Size() <= 256 && t.String() == "container_upload")
}

// anthropicTools are the types of tools without their dates. Those that pass run
// on the client, or look at nothing but the request (tool_search, advisor).
var anthropicTools = map[string]feature{
	"custom": passes, "bash": passes, "text_editor": passes, "memory": passes, "computer": passes,
	"tool_search_tool_regex": passes, "tool_search_tool_bm25": passes, "advisor": passes,
	"web_search": search, "web_fetch": fetch, "code_execution": code, "mcp_toolset": mcp,
}

func anthropicTool(t strictjson.Text) (feature, bool) {
	if t.Size() > 256 {
		return never, false
	}
	f := anthropicTools[undated(t.String())]
	return f, f == passes
}

// undated cuts a date such as _20250305 off a name.
func undated(name string) string {
	i := strings.LastIndexByte(name, '_')
	if i < 0 || len(name)-i-1 != 8 || strings.Trim(name[i+1:], "0123456789") != "" {
		return name
	}
	return name[:i]
}

// betas are the families of beta features that are not for every request, without
// their dates. Others pass: they change how the model answers, and agents have
// new ones with every version.
var betas = map[string]feature{
	"files-api": files, "code-execution": code, "skills": files, "message-batches": never, "managed-agents": never,
	"user-profiles": never, "ccr-byoc": never, "ccr-triggers": never, "environments": never, "oidc-federation": never,
	"mcp-client": mcp, "mcp-servers": mcp, "web-fetch": fetch,
}

// beta says what one value of anthropic-beta needs.
func beta(value string) (feature, bool) {
	if !plainName(value) {
		return never, false
	}
	value = strings.ToLower(value)
	for family, f := range betas {
		if value == family || strings.HasPrefix(value, family+"-") {
			return f, false
		}
	}
	return never, true
}

func betaText(t strictjson.Text) (feature, bool) {
	if t.Size() > 256 {
		return never, false
	}
	return beta(t.String())
}
