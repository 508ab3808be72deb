package audit

// Boundary is one level of the ladder: what stands between a misled agent and its user.
type Boundary struct {
	Level  string `json:"level"`
	Title  string `json:"title"`
	Buys   string `json:"buys"`   // what it stops
	Breaks string `json:"breaks"` // what goes past it
	How    string `json:"how"`    // how to get there
}

// Ladder is every level, from the bottom up.
func Ladder() []Boundary {
	return []Boundary{
		{"L0", "the bare agent on the host", "nothing but its own good behaviour",
			"one misled step: it reads, sends and changes whatever you can", "start the agent by itself"},
		{"L1", "the agent's own sandbox", "commands that it runs do not write outside of the project, or reach unknown hosts",
			"the agent and its tools stand outside of it, and may ask to leave it; credentials in the home directory are still there to be read", "the agent's own settings; ringfence audit names them"},
		{"L2", "ringfence: a namespace of its own, on the host's kernel", "credentials, other projects and the internal network are not there; each connection is decided by name and recorded; what the host would run waits for you",
			"a fault of the host's kernel; data that is sent to a host which you allowed; code of the agent's that you run yourself", "ringfence claude"},
		{"L3", "a kernel of its own: gVisor, or a virtual machine", "a fault of the host's kernel alone is no way out",
			"a fault of that kernel or its monitor and of the walls around it; everything else as on L2", "--rung gvisor, or --rung microvm"},
		{"L4", "a machine of its own elsewhere, with nothing to lose", "an escape finds no credential and no file of yours",
			"what was given to that machine: the code, and the tokens that lie there", "--rung ssh:HOST; or a rented machine, code by git, ringfence on it as well"},
		{"L5", "a machine that somebody manages for you, or one without a network", "somebody else's boundary, made for strangers' code; without a network there is no way out at all",
			"what its provider can see; what you carry over by hand", "a provider of sandboxes, or a machine without a cable"},
	}
}

// BoundaryOf is the level of that name; the zero Boundary if there is none.
func BoundaryOf(level string) Boundary {
	for _, b := range Ladder() {
		if b.Level == level {
			return b
		}
	}
	return Boundary{}
}
