// Package why answers why: what becomes of a path, a host, a variable or a push
// in a session, by which wall, by which rule of which file and line, and what the
// smallest grant would be that changes it. It looks at a session that was prepared
// like any other and was not started; what it says is read off the very plan, rules
// and environment that a launch would use, and a grant is named only after a second
// preparation with it has shown that it helps.
//
// It prints nothing and changes nothing: texts are for who asks to show.
//
// Left at risk: the answer is as old as the look. A name is not looked up, so an
// allowed host may still lead to an address that the gate refuses when it dials; and
// what the keeper learns of a repository while it runs is not known beforehand.
package why

import (
	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// World is a prepared session, as far as answers need it. Package run makes it.
type World struct {
	Plan    *plan.Plan
	Policy  *policy.Policy
	Ignored []policy.Change // what an untrusted project asked for in vain
	User    plan.User
	Groups  []int // further groups of the user
	Env     environ.Environment
	Reach   policy.Reach
	Trees   []Tree
	Decoys  []string // paths in HOME at which a launch lays a decoy
	Forges  []string // hosts to which the broker speaks git

	// Decide is the gate's own decision, the broker's hosts included.
	Decide func(address.Target) Ruling
	// Push is the broker's decision about a ref by its name; "" lets it pass.
	Push func(ref string) string
	// Credentials are those of the catalogue that a path would show.
	Credentials func(path string) []knownsecrets.Finding
	// Has says whether the launcher has a variable.
	Has func(name string) bool
	// EnvIf is the environment if the launcher had a variable of that name.
	EnvIf func(name string) environ.Environment
	// With prepares the same session with a grant more. Its error says why a launch
	// would be refused.
	With func(Grant) (*World, error)
}

// Tree is a directory that the agent may change.
type Tree struct {
	Path  string
	View  plan.View
	Rules *hostexec.Rules
	Rule  policy.Rule // that gives it its view
}

// Ruling is what the gate says.
type Ruling struct {
	Allow  bool
	Rule   string
	Source string
	Reason string
	By     string // the wall, if it is not the rules: WallRanges, WallBroker
}

// Kind is what a question is about.
type Kind string

// The kinds.
const (
	Path Kind = "path"
	Host Kind = "host"
	Env  Kind = "env"
	Push Kind = "push"
)

// Verdict is what becomes of an access.
type Verdict string

// The verdicts. Private is an access that works and meets something of the session's
// own: what the host has is neither seen nor changed.
const (
	Allowed Verdict = "allowed"
	Denied  Verdict = "denied"
	Held    Verdict = "held"
	Absent  Verdict = "absent"
	Private Verdict = "private"
)

// The accesses.
const (
	Read    = "read"
	Write   = "write"
	Execute = "execute"
	Connect = "connect"
	Resolve = "resolve"
	Pass    = "env"
	ToPush  = "push"
)

// What decides.
const (
	WallView        = "absent from the view"
	WallReadOnly    = "read-only mount"
	WallPrivate     = "a file system of the session's own"
	WallMask        = "masked"
	WallKeeper      = "held by the keeper"
	WallReview      = "the review view"
	WallLandlock    = "landlock"
	WallNoExec      = "no-exec mount"
	WallCalls       = "seccomp: calls that the sandbox does not have"
	WallCaps        = "caps: root's override is dropped"
	WallGate        = "gate rule"
	WallPackets     = "packet rules: only TCP leaves a session, and questions for names"
	WallRanges      = "range table of the gate"
	WallClosed      = "no network"
	WallLoopback    = "a loopback of the session's own"
	WallBroker      = "broker"
	WallRegistry    = "registry door"
	WallBranch      = "branch rule of the broker"
	WallUpstream    = "the upstream proxy, which is not ringfence"
	WallEnvironment = "environment allow-list"
	WallPermission  = "the file's own permissions"
	WallNothing     = "nothing is there"
)

// BuiltIn is the source of what nobody wrote.
const BuiltIn = "built in"

// Answer is everything about one subject.
type Answer struct {
	Kind     Kind      `json:"kind"`
	Subject  string    `json:"subject"`
	Leads    string    `json:"leads,omitempty"` // where links lead inside, if elsewhere
	Findings []Finding `json:"findings"`
	Notes    []string  `json:"notes,omitempty"`
}

// Finding is what becomes of one access.
type Finding struct {
	Access  string  `json:"access"`
	Verdict Verdict `json:"verdict"`
	Ours    bool    `json:"ours"` // ringfence is the reason
	By      string  `json:"by"`
	Rule    string  `json:"rule,omitempty"`
	Source  string  `json:"source,omitempty"`
	Reason  string  `json:"reason"`
	Grant   *Grant  `json:"grant,omitempty"`
	Help    string  `json:"help,omitempty"` // where no grant helps: what would
}

// Of returns the finding about an access; nil if there is none.
func (a *Answer) Of(access string) *Finding {
	for i := range a.Findings {
		if a.Findings[i].Access == access {
			return &a.Findings[i]
		}
	}
	return nil
}

// refused holds for what ringfence itself keeps from the agent, or the host from it.
func (f *Finding) refused() bool { return f.Ours && f.Verdict != Allowed }

// where is a source for people.
func where(s policy.Source) string {
	switch s.File {
	case "", "built-in", "ringfence":
		return BuiltIn
	}
	return s.String()
}
