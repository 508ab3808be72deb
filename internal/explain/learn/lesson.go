// Package learn turns what a session asked for and did not get into the smallest
// policy that would have given it.
//
// It has four parts: Names collects what was asked for while a session runs; Look
// finds out afterwards what of it the host has; the Book keeps what several sessions of
// a project saw; Propose makes lines of policy of it, or says why it makes none.
//
// Every name in here was chosen by whoever ran inside. So all of it is bounded, nothing
// is followed while the session runs, credentials and whatever the policy hides are
// never proposed, and nothing that is proposed is saved by this package.
//
// Left at risk: a program that asks for a file it does not need has it proposed; only
// the person who reads the proposal can tell. Which variables a program reads cannot be
// seen from outside at all: a variable is proposed because a file that was opened names
// it. What a program would have asked for next, had it got the first, takes another
// session.
package learn

import "strconv"

// Path is a file or directory that the host has and the session wanted.
type Path struct {
	Path  string `json:"path"`
	Write bool   `json:"write,omitempty"`
	Open  bool   `json:"open,omitempty"` // its content was wanted, not only whether it is there
	Dir   bool   `json:"dir,omitempty"`
	Count int    `json:"sessions"`
	Last  string `json:"last"` // day of the last session
}

// Host is a host that the session wanted and that no rule speaks of.
type Host struct {
	Name    string `json:"name"`
	Port    uint16 `json:"port"`              // 0: only the name was asked for
	Refused string `json:"refused,omitempty"` // why it was not reached
	Count   int    `json:"sessions"`
	Last    string `json:"last"`
	guess   bool   // the port is
}

// String is the host with its port, where that is known.
func (h Host) String() string {
	if h.Port == 0 {
		return h.Name
	}
	return h.Name + ":" + strconv.Itoa(int(h.Port))
}

// Variable is a name of the launcher's environment that stayed outside and that a file
// names which was opened.
type Variable struct {
	Name  string `json:"name"`
	File  string `json:"file"` // in the workspace
	Count int    `json:"sessions"`
	Last  string `json:"last"`
}

// Seen is what one session wanted, or with counts what several did.
type Seen struct {
	Paths []Path     `json:"paths"`
	Hosts []Host     `json:"hosts"`
	Env   []Variable `json:"env"`
	More  bool       `json:"more,omitempty"` // more was asked for than is kept
}

// Bounds of what is kept of one project.
const (
	maxPaths = 512
	maxHosts = 256
	maxEnv   = 64
)
