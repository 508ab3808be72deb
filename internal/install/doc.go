// Package install puts launchers on PATH under the names of agents, so that the name a
// person types starts the fenced agent, and takes them away again without a trace.
//
// A shadow is a script and no link: a shell passes over a link that leads nowhere and
// goes on to the next directory of PATH, so that the bare agent would run once
// ringfence is gone. What stood under the name before is kept beside it, by a rename
// that leaves it as it was.
//
// Everything that is made is written down before it is made. Whoever is killed half-way
// leaves a record by which the next install or uninstall goes on.
//
// # What is left at risk
//
//   - A shadow is as good as its place on PATH: a path that is typed out, an alias, or a
//     directory that comes first goes past it. Install says so where it can see it.
//   - An installer or updater of the agent's that runs outside may put itself back under
//     the name. Nothing watches for that; install without an agent lists it.
package install

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/policy/agent"
)

// Shadow is a launcher under an agent's name.
type Shadow struct {
	Agent   string    `json:"agent"` // the profile
	Name    string    `json:"name"`  // the program
	Dir     string    `json:"dir"`
	Program string    `json:"program"`        // the ringfence that it starts
	Kept    *Identity `json:"kept,omitempty"` // what stood there before
}

// Identity is a file whatever its name is.
type Identity struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// script is what a shadow holds. Inside of a sandbox no second one can be made: there
// it gives way to the next on PATH that is no shadow.
const script = `#!/bin/sh
@MARK@1: @NAME@ is the fenced one. "ringfence uninstall @AGENT@" takes this away.
ringfence=@PROGRAM@
if [ -e @NOTE@ ]; then
	set -f
	IFS=:
	for dir in $PATH; do
		for file in "$dir/@KEPT@" "$dir/@NAME@"; do
			if [ -f "$file" ] && [ -x "$file" ]; then
				{ read -r line; read -r line; } <"$file"
				case $line in
				"@MARK@"*) ;;
				*) exec "$file" "$@" ;;
				esac
			fi
		done
	done
	echo "@NAME@: not found inside of this sandbox" >&2
	exit 127
fi
if [ -x "$ringfence" ]; then
	exec "$ringfence" @AGENT@ -- "$@"
fi
echo "ringfence: error: $ringfence is gone, and @NAME@ is not started without its sandbox" >&2
echo "ringfence: hint: install ringfence again and run: ringfence install @AGENT@" >&2
exit 127
`

// Note is where a sandbox has the note for the agent; it tells the inside from the
// outside.
const Note = "/.ringfence/SANDBOX.md"

// Script returns what the shadow holds.
func (s Shadow) Script() []byte {
	quoted := "'" + strings.ReplaceAll(s.Program, "'", `'\''`) + "'"
	return []byte(strings.NewReplacer("@MARK@", agent.ShadowMark, "@NAME@", s.Name, "@AGENT@", s.Agent, "@NOTE@", Note,
		"@KEPT@", agent.KeptName(s.Name), "@PROGRAM@", quoted).Replace(script))
}

func (s Shadow) String() string { return fmt.Sprintf("%s/%s", s.Dir, s.Name) }

// fresh is the name under which a shadow is written before it takes its place.
func (s Shadow) fresh() string { return "." + s.Name + ".ringfence-new" }

func (s Shadow) kept() string { return agent.KeptName(s.Name) }
