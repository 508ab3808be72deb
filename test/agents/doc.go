// Package agents proves ringfence with the real agents, at the versions that
// npm/package-lock.json pins: they start, they work, they find their conversation
// again, and what a user's HOME holds of credentials and of other projects is not
// there for them.
//
// They work for a scripted model (see model), which is served inside the sandbox
// because nothing else can be reached from there. A test that finds no agents
// fails: `make tools` installs them.
package agents
