package scan

import (
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// form is how a file is read, and how it is written without what was found.
type form string

const (
	asJSON  form = "json"
	asTOML  form = "toml"
	asYAML  form = "yaml"  // keys of the first column, each with its block
	asLines form = "lines" // NAME=VALUE
	asCode  form = "code"  // a program: all of it counts
	asFront form = "front" // text with settings at its head
	asGit   form = "git"   // git's configuration
)

// rule says what is dangerous in files of some names.
type rule struct {
	files []string // with their parents, at any depth; "*" within a name
	form  form
	keys  []key
	// allowed, if there are any, are all that passes beside what keys names.
	allowed []allowed
	code    kind
	// shown: the file is not changed inside, because nobody inside obeys it.
	shown bool
	// partly: others rewrite the file all the time, so trust is for what was found.
	partly  bool
	written *written // what the reader puts into the values, nil if nothing
	bare    bool     // git's, of a directory that is none of git's by its name
	// above: the file makes a program of the directory so many levels above it. All that
	// is in there is trusted with it.
	above int
	who   string // if the names do not say it
	when  string
}

// key is a setting. Names are joined by "."; "*" is any one name, "**" any number of
// them, "[]" the elements of a list.
type key struct {
	kind kind
	path string
	test hostexec.Test // nil: always
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
		r := rule{files: s.Files, form: form(s.Form), code: kindOf(s.Code), shown: s.Shown, partly: s.Partly, above: s.Above}
		for _, k := range s.Find {
			r.keys = append(r.keys, key{kindOf(k.Finding), k.Path, k.Test})
		}
		for _, k := range s.Pass { // of a list each element is judged
			r.allowed = append(r.allowed, allowed{strings.Split(k.Path, "."), k.Test}, allowed{strings.Split(k.Path+".[]", "."), k.Test})
		}
		if s.Marks != nil {
			r.written = &written{s.Marks, s.Early}
		}
		out = append(out, r)
	}
	return out
})
