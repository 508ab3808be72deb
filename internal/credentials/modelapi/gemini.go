package modelapi

import (
	"maps"
	"strings"

	"ringfence.dev/ringfence/internal/strictjson"
)

// generateBody is a request for generateContent, countTokens and embedContent;
// assistBody is one for Code Assist, which wraps the same.
var (
	generateBody = generateGrammar()
	assistBody   = assistGrammar(generateBody)
)

func generateGrammar() *node {
	part := &node{members: map[string]*node{
		"text": free, "thoughtsignature": free, "executablecode": free, "codeexecutionresult": free,
		"inlinedata":   {members: map[string]*node{"mimetype": free, "data": free, "displayname": free}},
		"filedata":     {members: map[string]*node{"mimetype": free, "displayname": free, "fileuri": {check: fileURI}}},
		"functioncall": {members: map[string]*node{"id": free, "name": free, "args": free, "partialargs": free}},
	}}
	part.members["functionresponse"] = &node{members: map[string]*node{"id": free, "name": free, "response": free, "parts": part}}
	content := &node{check: words, members: map[string]*node{"role": free, "parts": part}}
	maps.Copy(content.members, part.members) // a part in the place of a content is taken for one
	root := &node{members: map[string]*node{
		"contents": content, "content": content, "systeminstruction": content, "title": free, "tools": geminiTool(),
		"generationconfig": {members: map[string]*node{
			"responseschema": free, "responsejsonschema": free, "stopsequences": free,
		}},
		"cachedcontent": needs(files),
	}}
	root.members["generatecontentrequest"] = root
	return root
}

// geminiTool is an object with a member for each thing that it can do.
func geminiTool() *node {
	declaration := &node{members: map[string]*node{
		"name": free, "description": free, "parameters": free, "parametersjsonschema": free, "response": free, "responsejsonschema": free,
	}}
	return &node{
		closed: true,
		members: map[string]*node{
			"functiondeclarations": declaration,
			"computeruse":          unknown, // runs on the client
			"googlesearch":         needs(search), "googlesearchretrieval": needs(search), "enterprisewebsearch": needs(search),
			"urlcontext": needs(fetch), "retrieval": needs(fetch),
			"codeexecution": needs(code), "filesearch": needs(files),
			"mcpservers": needs(mcp),
		},
	}
}

// fileURI says what a file needs: those that were uploaded lie with the API.
func fileURI(t strictjson.Text) (feature, bool) {
	if strings.HasPrefix(t.String(), "https://generativelanguage.googleapis.com/v1beta/files/") {
		return files, false
	}
	return fetch, false
}

func assistGrammar(request *node) *node {
	root := &node{members: maps.Clone(request.members)}
	root.members["request"] = request
	return root
}
