package cli

import (
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
)

// Kinds of arguments that a shell can complete. Dynamic ones are asked of the program.
const (
	kindFiles    = "files"
	kindSessions = "sessions"
	kindAgents   = "agents"
	kindSecrets  = "secrets"
	kindDrills   = "drills"
	kindCommands = "commands"
)

// kinds says what a placeholder stands for.
var kinds = map[string]string{
	"PATH": kindFiles, "FILE": kindFiles, "DIR": kindFiles,
	"SESSION": kindSessions, "AGENT": kindAgents, "DRILL": kindDrills, "COMMAND": kindCommands, "SECRET": kindSecrets,
}

// place is one argument of a command.
type place struct {
	kinds    []string // or words to choose from
	optional bool
	repeated bool
}

// places reads the arguments of a synopsis such as "[SESSION] [PATH...] [flags]": what
// comes before --, without the flags.
func places(c *command.Command) (out []place) {
	text, _, _ := strings.Cut(c.Args, "-- ")
	for _, arg := range pieces(text) {
		inner := strings.Trim(arg, "[]")
		if arg != "["+inner+"]" && arg[0] == '[' {
			inner = strings.TrimPrefix(arg, "[") // "[HOST:]PORT"
		}
		if p := alternatives(inner); p != nil {
			p.optional = arg[0] == '['
			out = append(out, *p)
		}
	}
	return out
}

// alternatives reads one argument, which may be one of several; flags are none.
func alternatives(text string) *place {
	var p *place
	for alt := range strings.SplitSeq(text, "|") {
		alt = strings.TrimSpace(alt)
		if alt == "" || alt == "flags" || strings.HasPrefix(alt, "-") {
			continue
		}
		if p == nil {
			p = &place{}
		}
		name := strings.TrimSuffix(alt, "...")
		p.repeated = p.repeated || name != alt
		name, _, _ = strings.Cut(name, "[")
		switch {
		case kinds[name] != "":
			p.kinds = append(p.kinds, kinds[name])
		case name != "" && name == strings.ToLower(name):
			p.kinds = append(p.kinds, "="+name)
		}
	}
	return p
}

// pieces splits a synopsis at spaces outside of brackets; what belongs to a flag and
// alternatives stay together.
func pieces(text string) (out []string) {
	depth, start := 0, 0
	flush := func(end int) {
		if piece := strings.TrimSpace(text[start:end]); piece != "" {
			out = append(out, piece)
		}
		start = end
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '[':
			depth++
		case text[i] == ']':
			depth--
		case text[i] != ' ' || depth > 0:
		case strings.HasPrefix(text[i:], " | "):
			i += 2 // alternatives are one argument
		case strings.HasPrefix(strings.TrimSpace(text[start:i]), "--") && i+1 < len(text) && text[i+1] != '[' && text[i+1] != '-':
			// the value of a flag
		default:
			flush(i)
		}
	}
	flush(len(text))
	return out
}

// argumentsAt lists what the n-th argument may be, counted from 0: kinds, and words that
// begin with "=".
func argumentsAt(c *command.Command, n int) (out []string) {
	places := places(c)
	for i, p := range places {
		// Optional arguments in front may have been left out.
		skipped := true
		for _, before := range places[min(n, i):i] {
			skipped = skipped && before.optional
		}
		if i == n || i < n && p.repeated || i > n && skipped {
			out = append(out, p.kinds...)
		}
	}
	return out
}

// argumentCount is how many arguments differ in what they may be; those after it are like the
// last.
func argumentCount(c *command.Command) int { return len(places(c)) }

// valueOf says what the value of a flag may be: a kind or "".
func valueOf(f command.Option) string {
	if f.Name == "agent" {
		return kindAgents
	}
	name, _, _ := strings.Cut(f.Arg, "[")
	return kinds[name]
}
