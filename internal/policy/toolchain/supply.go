package toolchain

import "time"

// The supply rules are for package managers inside: a
// version that was published a moment ago is not chosen, and installing a package
// does not run its scripts. Most poisoned releases are found within days, and most
// of them do their work in an install script.
//
// The registry doors hold young versions back, whatever the tool.
// The rest, and all where there is no door, are settings of the package managers
// themselves, each by its own documented name. A variable is used where there is one that every
// common version of the tool accepts in silence: it outranks what a project says.
// Where an older version fails or warns at an unknown variable, the setting goes
// into a file under the home directory, which a project can outrank.
//
// Left at risk: a brake is not a wall. The agent can clear a variable, write a
// file, or fetch and run code without a package manager. What stops it then is the
// sandbox. And code that is not run at install runs when the package is used.

// SupplyRules says how hard to brake.
type SupplyRules struct {
	Age        time.Duration // minimum release age; 0: off, tools keep their own
	Scripts    bool          // install scripts may run
	Allow      []string      // exempt packages, see ParseAllow
	Now        time.Time     // for tools that want a date; zero: now
	NoBuild    bool          // with Scripts off: uv builds nothing, not even the project
	ConfigHome string        // XDG_CONFIG_HOME inside; "": not set
	NoDoor     bool          // no registry door stands: the tools wait by themselves
	Shell      string        // where the shell of scripts lies inside; "": there is none
}

// SupplySetting is a variable of the environment inside.
type SupplySetting struct {
	Name, Value string
	Tool        string
	Why         string
}

// SupplyFile is a file to place inside. Path is absolute or begins with "~/".
type SupplyFile struct {
	Path string
	Data []byte
	Tool string
	Why  string
	Exec bool // it is a program
}

// Supply returns what makes the tools brake, and notes on what cannot be said to
// which tool or version. An entry of Allow that does not parse exempts nothing and
// is noted.
func Supply(o SupplyRules) (env []SupplySetting, files []SupplyFile, notes []string) {
	c, notes := consider(o)
	for _, r := range variables {
		if v := r.value(c); v != "" {
			env = append(env, SupplySetting{Name: r.name, Value: v, Tool: r.tool, Why: r.why})
		}
	}
	for _, r := range documents {
		if v := r.data(c); v != "" {
			files = append(files, SupplyFile{Path: c.home(r), Data: []byte(v), Tool: r.tool, Why: r.why})
		}
	}
	files = append(files, c.scripted()...)
	for _, r := range remarks {
		if r.when(c) {
			notes = append(notes, r.text)
		}
	}
	return env, files, append(notes, c.overrides()...)
}
