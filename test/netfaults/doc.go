// Package netfaults breaks what the gate stands on while a session runs: it kills the
// supervisor, fills the disk of the journal, silences resolvers and origins, and lets
// clients inside be slow, many, or gone. Every time the gate must stay bounded, open
// no door, and say what happened.
package netfaults
