// Package hook judges the tool calls of an agent before they happen, and speaks the
// protocols by which agents ask. A command line is read by package shell, followed as
// far as it can be without running anything, and compared with a short list of what
// nobody wants to find out about afterwards: roots and homes removed, default branches
// pushed to, code run straight from a network.
//
// # What is left at risk
//
// This is a seat-belt. It sees what is written and not what happens: a script, a
// Makefile, a program of the agent's own, or a command put together from what is not
// known here goes past it. The walls are the boundary; nothing here may be relied on
// against somebody who wants past it.
package hook

// Decision is what becomes of a tool call.
type Decision int

const (
	Pass Decision = iota // the agent's own rules decide
	Ask                  // a person decides
	Deny
)

func (d Decision) String() string { return [...]string{"pass", "ask", "deny"}[d] }

// Verdict is a decision and why.
type Verdict struct {
	Decision Decision
	Rule     string // a short name: rm, push, pipe-to-shell, …
	Reason   string // one sentence, for the agent and for people
}

// Where says what a command line means where it is run.
type Where struct {
	Home string
	Dir  string
	Git  func(dir string) Branches // nil: nothing is known of repositories
	// Work tells what no commit has below some paths, or all of a repository; nil: nobody
	// can tell.
	Work func(dir string, paths []string, ignored bool) ([]Unsaved, error)
	Belt Belt
}

// Branches is what matters of a repository to a push.
type Branches struct {
	Current string   // "" if there is none
	Guarded []string // the default branch of its remotes, as far as it is known
}
