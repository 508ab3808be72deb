// Package environ builds the environment of a session from nothing. A variable
// enters because ringfence sets it, because the built-in list passes it, or
// because the user added it by name; all the rest of the launcher's environment
// is dropped. Names that carry secrets, lead to sockets of the host or make
// programs load code (internal/policy/knownsecrets) are refused even to the user, unless
// forced one by one. Values are not inspected: a secret under an innocent name
// that the user asks for goes in.
package environ

import (
	"fmt"
	"slices"

	"ringfence.dev/ringfence/internal/policy"
)

// Kind says what became of a name.
type Kind string

// The kinds. The first three are in the environment, the others are not.
const (
	Passed  Kind = "passed"  // from the launcher, by the built-in list
	Set     Kind = "set"     // by ringfence itself
	Added   Kind = "added"   // by the user: policy, env file or flag
	Dropped Kind = "dropped" // in the launcher's environment and on no list, or asked for and not there
	Refused Kind = "refused" // asked for, and not allowed
)

// Entry is one name and what became of it. The value stays inside: an audit
// prints entries, and must not be able to print a value.
type Entry struct {
	Name   string        `json:"name"` // arbitrary bytes if dropped: quote it before a terminal sees it
	Kind   Kind          `json:"kind"`
	Source policy.Source `json:"source"`
	Reason string        `json:"reason,omitempty"`
	value  string
}

// String keeps the value out of %v.
func (e Entry) String() string { return fmt.Sprintf("%q %s", e.Name, e.Kind) }

// Environment is the result, and the whole audit of it.
type Environment struct {
	Entries []Entry `json:"entries"` // by name; at most one of a name is in the environment
}

// Of returns the entries of one kind, by name.
func (e Environment) Of(k Kind) []Entry {
	return slices.DeleteFunc(slices.Clone(e.Entries), func(x Entry) bool { return x.Kind != k })
}

// Environ returns the environment as execve takes it, sorted, each name once.
func (e Environment) Environ() []string {
	env := []string{}
	for _, x := range e.Entries {
		if x.Kind == Passed || x.Kind == Set || x.Kind == Added {
			env = append(env, x.Name+"="+x.value)
		}
	}
	return env
}

// NotFound is the function that bash runs where a command is not there. It is the one name
// that is not plain, and ringfence alone sets it.
const NotFound = "BASH_FUNC_command_not_found_handle%%"

// maxName bounds a name that somebody asks for; longer ones are nobody's.
const maxName = 255

// validName reports whether name is a plain one, as a shell would take it. It is
// also what makes a name safe to print.
func validName(name string) bool {
	return name != "" && len(name) <= maxName && plainPrefix(name) == len(name)
}

// plainPrefix returns how many of the first bytes of s could be a plain name.
func plainPrefix(s string) int {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}
