// Package agents proves ringfence with the real agents, at the versions that
// npm/package-lock.json pins: they start, they work, they find their conversation
// again, and what a user's HOME holds of credentials and of other projects is not
// there for them.
//
// They work for a scripted model (package model) on the loopback of a host in a world
// of its own (package world), where every address answers and nothing is real. The
// launcher's environment names that model and holds a key for it. Inside there is the
// broker: the model must see the real key and never what stands for it, and the agent
// the other way round.
//
// attacks.toml is the bench: what an adversary that has the agent in its hands tries,
// by the agent's own tools. Every row must leak where the same agent runs without
// ringfence, or the row proves nothing.
//
// A test that finds no agents fails: `make tools` installs them.
package agents
