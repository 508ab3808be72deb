package serial

// Watched is what the guest saw of a session's limits, while it ran and after.
type Watched struct {
	Groups   []Group `json:"groups"`   // while the agent ran
	Members  int     `json:"members"`  // processes in them
	Janitors int     `json:"janitors"` // and beside them
	Status   int     `json:"status"`   // of the supervisor
	Alive    int     `json:"alive"`    // members and janitors that outlived the session
	Left     []Group `json:"left"`     // groups that did
}

// Group is a cgroup of ringfence.
type Group struct {
	Parent string `json:"parent"` // "/" is the top
	Name   string `json:"name"`
	Pids   string `json:"pids"`
	Memory string `json:"memory"`
	Swap   string `json:"swap"`
}
