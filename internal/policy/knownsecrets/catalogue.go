// Package knownsecrets knows where credentials usually lie: paths under HOME and on
// the machine, and names of environment variables. It serves warnings and
// refusals, so that nobody mounts or passes a credential by mistake. It is never
// the boundary: the boundary is the allow-list, from which a credential that no
// catalogue has heard of is just as absent.
//
// Left at risk, and known: a credential under a name that no row knows; a second
// path to a location by a bind mount, or because a row's own location is a
// symlink to elsewhere; a hard link inside a mounted tree, which Linked can
// suspect but not find, since launch walks no tree.
package knownsecrets

// Class groups rows by what is lost with them.
type Class string

// The classes of environment names. Paths have classes of their own ("ssh",
// "cloud", …), which are for people to read and for no code to branch on.
const (
	Secret Class = "secret" // holds a credential or says where one lies
	Socket Class = "socket" // leads to a process of the host that acts for whoever asks
	Loader Class = "loader" // makes a program run or trust something it was not told to
)

// Entry is one row.
type Entry struct {
	Class   Class  `json:"class"`
	Pattern string `json:"pattern"`
	What    string `json:"what"` // for people, without article or full stop
}

// Finding is a path of this host that a row names.
type Finding struct {
	Path  string `json:"path"`
	Entry Entry  `json:"entry"`
}
