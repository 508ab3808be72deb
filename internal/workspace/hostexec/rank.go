package hostexec

import "fmt"

// Rank orders what a session leaves behind by how soon the host executes it.
type Rank int

// The ranks, in the order of a report.
const (
	Unasked Rank = iota // runs without anyone asking
	Asked               // runs when somebody asks for something else
	Secret              // is not run, but not to be spread either
	Source              // everything else
)

var rankNames = [...]string{"unasked", "asked", "secret", "source"}

func (r Rank) String() string {
	if r < 0 || int(r) >= len(rankNames) {
		return fmt.Sprintf("Rank(%d)", int(r))
	}
	return rankNames[r]
}

// MarshalText writes the name of a rank.
func (r Rank) MarshalText() ([]byte, error) {
	if r < 0 || int(r) >= len(rankNames) {
		return nil, fmt.Errorf("rank %d has no name", int(r))
	}
	return []byte(rankNames[r]), nil
}

// UnmarshalText reads the name of a rank.
func (r *Rank) UnmarshalText(text []byte) error {
	for i, name := range rankNames {
		if name == string(text) {
			*r = Rank(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no rank: unasked, asked, secret or source", text)
}

// Verdict is what the rules say of a path.
type Verdict struct {
	Rank Rank
	Hold bool   // held back in the live view
	Who  string // the program that executes it: "git", "VS Code"
	When string // what makes it do so: "at the next commit"
	Why  string // one sentence for people
	Rule string // the pattern that fits
	Root string // if held: the topmost path, at or above the one judged, that is held as a whole
	Form Form   // what the content has to be, if the path is not held
}

// Finding is one thing that a change makes the host execute.
type Finding struct {
	Rank Rank
	Who  string
	When string
	Why  string
	Line int // in the new content, from 1; 0 if it is about no line
}
