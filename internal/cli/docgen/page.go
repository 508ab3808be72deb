// Package docgen writes what is told of the commands elsewhere than in the program: the
// pages of the manual, and what the shells complete. All of it is made of one
// description, which the commands give of themselves; nothing here knows any of them.
package docgen

import "strings"

// Command is what is told of a command.
type Command struct {
	Name     string // as typed after "ringfence": "policy show"
	Args     string // "[SESSION] [PATH...] [flags]"
	Short    string // one line
	About    string // a paragraph
	Flags    []Flag
	Examples []string
	Subs     []Command
	Launch   bool // what follows -- is a command, or the agent's
}

// Flag is one flag of a command.
type Flag struct {
	Name string
	Arg  string // what stands for its value; "" if it has none
	Text string
}

// Dashed is the flag as it is typed.
func (f Flag) Dashed() string {
	if len(f.Name) == 1 {
		return "-" + f.Name
	}
	return "--" + f.Name
}

// Word is the last word of the name: "show" of "policy show".
func (c Command) Word() string { return c.Name[strings.LastIndexByte(c.Name, ' ')+1:] }
