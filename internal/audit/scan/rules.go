package scan

import (
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// The forms: how a file is read, and how it is written without what was found.
const (
	asJSON  = "json"
	asTOML  = "toml"
	asYAML  = "yaml"  // keys of the first column, each with its block
	asLines = "lines" // NAME=VALUE
	asCode  = "code"  // a program: all of it counts
	asFront = "front" // text with settings at its head
	asGit   = "git"   // git's configuration
)

// rule says what is dangerous in files of some names.
type rule struct {
	hostexec.Scanned
	allowed []allowed // what Pass lists
	bare    bool      // git's, of a directory that is none of git's by its name
	who     string    // if the names do not say it
	when    string
}

// rules is what is looked at, as hostexec.toml says. It is made when it is first asked
// for. Without the table there are none: nothing is launched then, see Scan.
var rules = sync.OnceValue(func() []rule {
	table, err := hostexec.Builtin()
	if err != nil {
		return nil
	}
	var out []rule
	for _, s := range table.Scanned() {
		r := rule{Scanned: s}
		for _, k := range s.Pass { // of a list each element is judged
			r.allowed = append(r.allowed, allowed{strings.Split(k.Path, "."), k.Test}, allowed{strings.Split(k.Path+".[]", "."), k.Test})
		}
		out = append(out, r)
	}
	return append(out, workflowRule)
})
