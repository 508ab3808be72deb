// Package modelapi knows what a request to a model's API may be: which paths a
// coding agent needs, what a body may ask the provider to do, which headers go
// on, where a credential stands, and how a refusal has to look so that the agent
// shows it. It knows three APIs: Anthropic's, OpenAI's and Google's.
//
// The provider sees what the agent says, and that is meant. What is refused is
// what makes the provider work for somebody else: fetch an address (what is
// asked for can be written into it), call an MCP server, keep files that another
// session or another key can get at. Each has a switch in Allow.
//
// Paths, queries and headers are lists of what passes. A body is judged by where
// things stand, never by the text of messages: words that a person, a model or a
// tool wrote pass whatever they say, and so do schemas and arguments of tools.
// Fields that we know are judged as what they are; a field that we do not know
// passes if nothing in it is an address, or has a name that means a file, a
// container or a server. So the next version of an agent works as long as it
// does not ask for something new from outside. A tool of an unknown type does
// not pass: the provider would run it.
//
// Names are compared without case and without underscores, for the provider's
// parser, or that of a gateway before it, may do the same.
//
// # What is left at risk
//
//   - Search (on by default) tells the search engine a query, and OpenAI's opens
//     pages that the model picks: some words can leave in it. A model that
//     searches of itself, without a tool, is not seen to do so.
//   - What is said to the model stays with the provider, in the account that
//     pays, as long as the provider keeps it.
//   - A field that takes an address without a scheme, or an identifier under a
//     name that we do not know, is not seen.
//   - Identifiers of projects and users in a body (Code Assist's project,
//     metadata) are as the agent says; what they open is for the provider to say.
//   - A gateway that the user put in the provider's place may understand more
//     than the provider does.
package modelapi
