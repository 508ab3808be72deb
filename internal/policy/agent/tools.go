package agent

import "strings"

// Tools is what holds for programs that are not here.
type Tools struct {
	Client  string   // the program that asks for one; "": there are none
	Asks    bool     // a person may say yes
	Allowed []string // that come without a question
}

// write tells how to get a program, and what to say to the human.
func (t Tools) write(b *strings.Builder, in NoteInput) {
	if t.Client == "" {
		return
	}
	b.WriteString("## Tools\n\n")
	offline := in.Network.Mode == "" || in.Network.Mode == "none"
	switch {
	case offline && t.Asks:
		b.WriteString("If a program is missing, tell the human which, and why: they can run `ringfence tools add SOURCE:NAME` outside\n" +
			"(debian:, npm:, pypi:, go:, crates: or nix:), and then it works here at once.\n")
	case offline:
		b.WriteString("No program can be fetched into this session. Go on without, and say what you missed.\n")
	default:
		b.WriteString("If a program is missing, run `" + t.Client + " NAME`: it says where it can come from, and asks for it. To choose, name the source:\n" +
			"debian:, npm:, pypi:, go:, crates: or nix:.\n")
		if len(t.Allowed) > 0 {
			b.WriteString("These come without a question: " + inline(t.Allowed, maxItems) + ".\n")
		}
		if t.Asks {
			b.WriteString("For all others the human has to say yes, outside: tell them the command that it prints, and why you need it. Then the\n" +
				"program works here at once, without a new session.\n")
		} else {
			b.WriteString("No others can be fetched: go on without, and say what you missed.\n")
		}
	}
	b.WriteString("Neither sudo nor `apt install` works here, and what you put into HOME yourself is gone at the end.\n\n")
}
