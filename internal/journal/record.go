package journal

import "time"

// Version is the version of the lines that this package writes. It also reads
// those of version 1, which are not chained.
const (
	Version   = 2
	unchained = 1
)

// The kinds of records.
const (
	Net     = "net"     // of the gate
	Broker  = "broker"  // of the use of credentials
	Decoy   = "decoy"   // of credentials that nobody has a reason to touch
	Work    = "work"    // of the trees of the host
	Text    = "text"    // of text from outside that came to the model
	Session = "session" // of the session itself
)

// Kinds are all kinds.
func Kinds() []string { return []string{Session, Net, Broker, Decoy, Work, Text} }

// known holds for the kinds that a reader takes.
func known(kind string) bool {
	return kind == Net || kind == Broker || kind == Decoy || kind == Work || kind == Session || kind == Text
}

// The events of a session.
const (
	Begin   = "begin"   // the first record: who, what, where
	Policy  = "policy"  // Digest is of the effective policy, List where its rules stand
	Planned = "plan"    // Digest is of the plan, in which the certificates of the host are a length
	Walls   = "walls"   // List holds; Mode is the rung
	Below   = "program" // a program of others runs below the agent: its path in List, its Digest
	Unheld  = "unheld"  // walls in List are not raised; State says why
	Env     = "env"     // variables in List came inside; State says by whose word
	Granted = "granted" // what the user gave beyond the built-in: State says what, List names it
	Shared  = "history" // Count conversations in List were copied; State says which way
	Limit   = "limit"   // a limit was hit: Name, and how many times
	Lost    = "lost"    // the session ended without a word; Count records were not signed by then
	Exit    = "exit"    // the last record of a session that ended; Code is its status, List the words that take its conversation up
)

// The events of a gate.
const (
	Decision = "decision" // a verdict was given
	End      = "end"      // a connection that was decided upon has ended
	Request  = "request"  // a connection waits for a person
	Grant    = "grant"    // a person allowed something
	Revoke   = "revoke"   // a person took something back; Count connections were cut
	Tighten  = "tighten"  // the session moved to the stricter Mode; Count connections were cut
	Listen   = "listen"   // a server began to listen inside
	Gate     = "gate"     // State says what became of the gate
)

// The events of the broker and of decoys.
const (
	Use    = "use"    // a credential was used, or its use was denied; Held: young releases are not in an index
	Read   = "read"   // a decoy was read
	Sent   = "sent"   // a decoy was about to leave
	Frozen = "frozen" // the session was stopped for it
)

// The events of text: Rule is what it does, Reason a little of it that is no order to
// anybody.
const (
	Suspect = "suspect" // a result of a tool tries to give the agent orders
	Unread  = "unread"  // there was more in one request than is looked at
)

// The events of the trees: Name is the path.
const (
	Held     = "held"     // a path became private to the session
	Refused  = "refused"  // Via says what: a write, where Name is the path and State may be Absent, or a call
	Masked   = "masked"   // a file of secrets shows phantoms
	Revealed = "revealed" // one is shown as it is, by Rule
	Applied  = "applied"  // what waited was written to the host
	Brake    = "brake"    // a package is exempt from the brakes, by Rule

	Waits     = "waits"     // what is in List waits for a person; State says how the host would run it
	Changed   = "changed"   // what is in List was changed on the host while the session ran
	Asked     = "asked"     // a person began to do with Count paths what Method says
	Discarded = "discarded" // what waited was forgotten
	Exec      = "exec"      // a person ran Name beside the agent; Count is how many words it had
	Undone    = "undone"    // what was live was brought back
	Forgotten = "forgotten" // a person removed what was kept of the session
	Dropped   = "dropped"   // what the sessions in List kept for undo was dropped to make room
	NotKept   = "not-kept"  // what is in List was written where nothing is kept, and is gone; Count is how many files that were
)

// The verdicts.
const (
	Allow = "allow"
	Deny  = "deny"
	Wait  = "wait"
)

// RuleUpstream is the rule of a refusal that is not ringfence's: that of the proxy on the
// host's side.
const RuleUpstream = "upstream proxy"

// RuleScripts is the rule by which install scripts of a dependency are not run; Name is the
// package, as --allow-package takes it.
const RuleScripts = "[supply] scripts"

// Absent is the state of a path that is not in the session's view.
const Absent = "absent"

// The states of a gate.
const (
	Opened = "opened"
	Closed = "closed"
	// Brokered is the state of a connection that ended at the broker.
	Brokered = "brokered"
)

// Record is one line. Its first six fields are in every line of every kind, and
// the Writer sets them, all but the kind. A field that does not apply is empty and
// not written.
type Record struct {
	V       int       `json:"v"`
	Seq     uint64    `json:"seq"`  // from 1 on, without a gap
	Time    time.Time `json:"time"` // UTC, to the millisecond
	Session string    `json:"session"`
	Prev    Hash      `json:"prev"` // of the line before; not in version 1
	Kind    string    `json:"kind"`

	Event    string `json:"event"`
	Conn     uint64 `json:"conn"`     // the same in a decision and in its end
	Via      string `json:"via"`      // dns, tcp, connect, http, socks, host-port, publish
	Protocol string `json:"protocol"` // tls, http, tcp, udp
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
	State    string `json:"state"` // of a Gate: opened, closed; of an Exit: exited, signalled, killed
	Mode     string `json:"mode"`  // of a Gate: how it is open
	Count    int    `json:"count"` // how many like events this record stands for; 0 means one
	Agent    string `json:"agent"`
	Version  string `json:"version"` // of ringfence; of a program below the agent: what it says itself
	Digest   string `json:"digest"`  // with its algorithm
	Code     int    `json:"code"`    // an Exit always has it
	List     Names  `json:"list"`
}

// Bounds of a line. Every string together, each byte escaped, stays below
// maxLine: what can be written can be read.
const (
	maxText = 300      // bytes of a string
	maxWord = 32       // bytes of a string that is one of a few words
	maxLine = 48 << 10 // bytes of a line
)
