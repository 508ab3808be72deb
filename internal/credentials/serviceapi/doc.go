// Package serviceapi knows the hosts, other than model APIs, to which the broker
// adds a credential: package registries, forges, and anything that takes a
// bearer, a password or a header. For each kind it says how the credential goes
// into a request, where a caller could have put one of its own, what a phantom
// looks like, which requests are allowed, and how a refusal reads in the client.
//
// It does no traffic. The broker asks Judge before it sends, strips what the
// caller brought, puts the real credential in, and hands answers back to Learn
// where a decision says so.
//
// What is not on a list is denied. A path is judged in one spelling only: dot
// segments, doubled slashes, encoded letters and, but for the few places where a
// protocol needs them, encoded slashes are refused, and so is every header or
// parameter that asks the server for another method, path or user.
//
// Registries: reading. Publishing is a switch; tokens, users, owners and
// deletion have none. Forges: reading, without gists, snippets, keys, tokens,
// secrets, variables and hooks; in the session's own repositories also issues,
// pull requests, comments, labels and reviews that do not approve. Merging, refs
// and contents (a push by another name), releases, statuses, workflows and
// settings are denied. GraphQL at GitHub: queries, and mutations from a short
// list whose target was seen in an answer about one of these repositories.
//
// # What is left at risk
//
//   - Reading is reading with the user's rights: private repositories of the
//     user other than this one can be read unless Only is set.
//   - An issue or a comment in the session's own repository is a place to put
//     data. In a public repository the world reads it. Comments also start
//     workflows and bots that listen for them.
//   - A request for a path that does not exist tells the host its name.
//   - With Publish, whatever the agent packs is published.
//   - A credential in the body of a request to a registry is not looked for.
//   - A user's own allow is taken at its word: what it covers is not looked into,
//     and "POST /graphql" opens all of GraphQL.
package serviceapi
