package golden

import (
	"regexp"
	"strings"
	"testing"
)

var (
	// commandRow is a row of the list in `ringfence help`.
	commandRow = regexp.MustCompile(`(?m)^  ([a-z]+)  +\S`)
	// subcommandRow is one of the list under "subcommands:" in the help of a command.
	subcommandRow = regexp.MustCompile(`(?m)^  ([a-z-]+)  +\S`)
)

// TestHelp holds every help text, and that all ways to it say the same.
func TestHelp(t *testing.T) {
	golden(t, "help.txt", func(t *testing.T, r role) string {
		p := newPlace(t, r, "base")
		all := p.help(t, "help")
		out := "$ ringfence help\n" + all
		for _, m := range commandRow.FindAllStringSubmatch(all, -1) {
			out += p.helpOf(t, m[1])
		}
		return out
	})
}

// helpOf is the help of a command and of what is below it.
func (p *place) helpOf(t *testing.T, command string) string {
	t.Helper()
	text := p.help(t, append([]string{"help"}, strings.Fields(command)...)...)
	if other := p.help(t, append(strings.Fields(command), "--help")...); other != text {
		t.Errorf("`ringfence help %s` and `ringfence %[1]s --help` differ", command)
	}
	for line := range strings.Lines(text) {
		if len([]rune(line)) > 81 {
			t.Errorf("%s: more than 80 columns: %s", command, line)
		}
	}
	out := "\n$ ringfence help " + command + "\n" + text
	_, below, _ := strings.Cut(text, "\nsubcommands:\n")
	below, _, _ = strings.Cut(below, "\n\n")
	for _, m := range subcommandRow.FindAllStringSubmatch(below, -1) {
		out += p.helpOf(t, command+" "+m[1])
	}
	return out
}

func (p *place) help(t *testing.T, args ...string) string {
	t.Helper()
	out, talk, code := p.ringfence(args...)
	if code != 0 || talk != "" {
		t.Errorf("ringfence %q: %d\n%s", args, code, talk)
	}
	return out
}
