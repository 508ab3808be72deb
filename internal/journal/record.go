package journal

import "time"

// Version is the version of the lines that this package writes and reads.
const Version = 1

// The kinds of records.
const (
	Net    = "net"    // of the gate
	Broker = "broker" // of the use of credentials
	Decoy  = "decoy"  // of credentials that nobody has a reason to touch
	Work   = "work"   // of the trees of the host
)

// known holds for the kinds that a reader takes.
func known(kind string) bool { return kind == Net || kind == Broker || kind == Decoy || kind == Work }

// The events of a gate.
const (
	Decision = "decision" // a verdict was given
	End      = "end"      // a connection that was decided upon has ended
	Request  = "request"  // a connection waits for a person
	Grant    = "grant"    // a person allowed something
	Listen   = "listen"   // a server began to listen inside
	Gate     = "gate"     // State says what became of the gate
)

// The events of the broker and of decoys.
const (
	Use    = "use"    // a credential was used, or its use was denied
	Read   = "read"   // a decoy was read
	Sent   = "sent"   // a decoy was about to leave
	Frozen = "frozen" // the session was stopped for it
)

// The events of the trees: Name is the path.
const (
	Held     = "held"     // a path became private to the session
	Masked   = "masked"   // a file of secrets shows phantoms
	Revealed = "revealed" // one is shown as it is, by Rule
	Applied  = "applied"  // what waited was written to the host
	Brake    = "brake"    // a package is exempt from the brakes, by Rule
)

// The verdicts.
const (
	Allow = "allow"
	Deny  = "deny"
	Wait  = "wait"
)

// The states of a gate. Closed is the last record of a session.
const (
	Opened = "opened"
	Closed = "closed"
)

// Record is one line. Its first five fields are in every line of every kind, and
// the Writer sets them. A field that does not apply is empty and not written.
type Record struct {
	V       int       `json:"v"`
	Seq     uint64    `json:"seq"`  // from 1 on, without a gap
	Time    time.Time `json:"time"` // UTC, to the millisecond
	Session string    `json:"session"`
	Kind    string    `json:"kind"`

	Event    string `json:"event"`
	Conn     uint64 `json:"conn"`     // the same in a decision and in its end
	Via      string `json:"via"`      // dns, tcp, connect, http, socks, host-port, publish
	Protocol string `json:"protocol"` // tls, http, h2c, tcp, udp
	Name     string `json:"name"`
	Addr     string `json:"addr"` // what was dialled
	Port     uint16 `json:"port"`
	Method   string `json:"method"` // where it was seen; never a path, a header or a body
	Secret   string `json:"secret"` // the name of the credential that was used, or of the decoy
	Verdict  string `json:"verdict"`
	Rule     string `json:"rule"`
	Source   string `json:"source"` // where the rule stands
	Reason   string `json:"reason"`
	Sent     int64  `json:"sent"`     // bytes that left the sandbox; an End always has it
	Received int64  `json:"received"` // bytes that came in; an End always has it
	PID      int    `json:"pid"`      // inside, where the kernel tells
	Command  string `json:"command"`
	State    string `json:"state"` // of a Gate: opened, closed
	Mode     string `json:"mode"`  // of a Gate: how it is open
	Count    int    `json:"count"` // how many like events this record stands for; 0 means one
}

// Bounds of a line. Every string together, each byte escaped, stays below
// maxLine: what can be written can be read.
const (
	maxText = 300      // bytes of a string
	maxWord = 32       // bytes of a string that is one of a few words
	maxLine = 16 << 10 // bytes of a line
)
