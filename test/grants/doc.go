// Package grants tests what a person can do while a session runs: see which hosts it
// wants, allow one for a time, for the session, for the project or for good, follow
// the journal; and what the gate tells that person by itself. A puppet inside does
// what the tests say, and the witness of what went out is the world: its resolver, its
// cable, its servers.
package grants
