// Package order is the language between a test and its puppet inside a sandbox: a
// line of JSON for each order, one for each answer. The puppet does what it is told
// at once and in any order, so that a test can have many things under way.
package order

import "time"

// Order is something to do.
type Order struct {
	ID     int
	Do     string        // a verb of the puppet
	At     string        // HOST:PORT, a URL, a name
	Accept string        `json:",omitempty"` // header of a request
	Text   string        `json:",omitempty"` // what to send
	Bytes  []byte        `json:",omitempty"` // the same where it is no text
	Keep   string        `json:",omitempty"` // under which name to keep a connection
	N      int64         `json:",omitempty"`
	For    time.Duration `json:",omitempty"`
}

// Answer is what became of it.
type Answer struct {
	ID     int
	Status int           `json:",omitempty"` // of HTTP
	Text   string        `json:",omitempty"` // what came back
	Error  string        `json:",omitempty"`
	N      int64         `json:",omitempty"`
	Took   time.Duration `json:",omitempty"`
	Least  time.Duration `json:",omitempty"` // of many
	Most   time.Duration `json:",omitempty"`
}

// Ready is the answer that nobody asked for: the puppet hangs on its strings.
const Ready = -1
