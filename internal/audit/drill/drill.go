// Package drill plays known incidents of coding agents with canaries, in a
// throw-away workspace and under the user's own policy, and says of each step which
// wall held. The same steps are played outside on a copy, where each must do its
// harm: a step that cannot fail proves nothing. How a sandbox is made is the
// caller's to say.
//
// Nothing of the user's is at risk, also where a wall is missing: what is deleted,
// read and sent is the drill's own. The one command that would reach further,
// `rm -rf ~/`, is played only where the home directory inside is not the user's and
// nothing in it can be written through to the host. Outside, only loopback is sent
// to; inside, loopback, a name that ends in .test, an address kept for documentation
// and the address of cloud metadata, which no policy opens, and only in a network
// namespace that is not the host's.
//
// Left at risk: a drill plays one way of each incident. The attack suite of this
// repository tries more of them.
package drill

import (
	"context"
	"slices"
)

// Drill is one incident.
type Drill struct {
	Name  string
	Title string // what happened, in a line
	plant func(*scene) error
	after func(context.Context, *scene) error // what a person does on the host then; may be nil
	steps []step
}

// step is one thing that is tried, and how to see whether it worked.
type step struct {
	tried string // for people
	wall  string // what should hold
	try   *Try   // nil: the host looks at what is left
	alone bool   // it is not played outside: it has no harmless form
	judge func(*evidence) (happened string, held bool)
}

// evidence is what is known of a step, inside or in the copy outside.
type evidence struct {
	*scene
	answer  Answer
	answers []Answer // of every step
	seen    *Seen    // nil: outside
}

// inside reports whether the step was played in the sandbox.
func (e *evidence) inside() bool { return e.seen != nil }

// All lists the drills.
func All() []*Drill {
	return []*Drill{rmHome(), hookPlant(), docxExfil(), terraformDestroy(), envLeak(), ciToken()}
}

// Find returns the drill of a name, or nil.
func Find(name string) *Drill {
	all := All()
	if i := slices.IndexFunc(all, func(d *Drill) bool { return d.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// Launch runs a job in a sandbox and returns when the sandbox has ended.
type Launch func(ctx context.Context, job Job) (*Seen, error)

// Job is what is to run inside.
type Job struct {
	Self      string   // the executable, to be visible inside under this name
	Argv      []string // begins with Self
	Environ   []string // the launcher's environment, canaries included
	Workspace string
	Own       []string // directories that are the drill's
	// Ready is called when everything is decided and nothing runs. It returns what
	// goes to the command's standard input.
	Ready func(Promise) ([]byte, error)
}

// Promise is what policy gives a sandbox.
type Promise struct {
	View    string   // how the workspace is shown: live, review or ro
	Written []string // what else of the host can be written inside
	Open    func(host string, port uint16) (why string, open bool)
}

// Seen is what came out of a sandbox.
type Seen struct {
	Promise
	Stdout  []byte
	Changes []Change
	Net     []Line
	// Undo brings back what is live, and returns what it could not.
	Undo func() (left []string, err error)
}

// Change is one line of the review.
type Change struct {
	Path  string // in the workspace
	Waits bool   // it is not on the host
	Runs  bool   // the host would run it
}

// Line is what the gate did for one host.
type Line struct {
	Host   string // a name, or an address with its port
	Passed bool   // a connection was made, or bytes were sent
	Denied int
}
