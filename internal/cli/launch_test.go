package cli

import (
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy/agent"
)

// TestToRun: what a launch starts, of what was typed behind its flags.
func TestToRun(t *testing.T) {
	c := &command.Console{Environ: []string{"SHELL=/bin/sh"}}
	for _, l := range []struct {
		name, who  string
		rest, args []string
		wrong      string
	}{
		{name: "run", rest: []string{"make", "-j"}, who: agent.Command, args: []string{"make", "-j"}},
		{name: "run", wrong: "run needs a command"},
		{name: "shell", who: agent.Command, args: []string{"/bin/sh"}},
		{name: "shell", rest: []string{"ls"}, wrong: `shell takes no argument "ls"`},
		{name: "claude", who: "claude"},
		{name: "claude", rest: []string{"-p", "x"}, who: "claude", args: []string{"-p", "x"}},
	} {
		who, args, err := toRun(c, l.name, l.rest)
		if l.wrong != "" {
			if err == nil || err.Error() != l.wrong || fault.KindOf(err) != fault.Usage {
				t.Errorf("%s %q: %v", l.name, l.rest, err)
			}
			continue
		}
		if err != nil || who != l.who || !slices.Equal(args, l.args) {
			t.Errorf("%s %q: %s %q, %v", l.name, l.rest, who, args, err)
		}
	}
}

// TestFlagsOfTheAgent: whose a flag is behind the name of an agent.
func TestFlagsOfTheAgent(t *testing.T) {
	for _, l := range []struct{ typed, ours, theirs, wrong, hint string }{
		{typed: "claude"},
		{typed: "claude --resume", theirs: "--resume"},
		{typed: "claude --resume 0b7e2f4c", theirs: "--resume 0b7e2f4c"},
		{typed: "claude --net none --review --resume ID -p x", ours: "--net none --review", theirs: "--resume ID -p x"},
		{typed: "claude --net=none -c", ours: "--net=none", theirs: "-c"},
		{typed: "claude --version", theirs: "--version"},
		{typed: "claude --help", ours: "--help"},
		{typed: "codex exec --help", theirs: "exec --help"},
		{typed: "codex exec hello", theirs: "exec hello"},
		{typed: "claude -- -p --net", theirs: "-p --net"},
		{typed: "claude --verbose -- --verbose", ours: "--verbose", theirs: "--verbose"},
		{typed: "claude --yes x -- --net", ours: "--yes", theirs: "x --net"},
		{typed: "claude --name demo -d", ours: "--name demo -d"},
		{typed: "claude --tools x", theirs: "--tools x"}, // one letter from nothing of ours
		{typed: "claude --net", ours: "--net"},
		{typed: "claude - x", theirs: "- x"},
		{typed: "claude --resume --verbose", wrong: "both ringfence and the agent know --verbose: put it first for ringfence, and behind -- for the agent",
			hint: "for the agent: ringfence claude -- --resume --verbose"},
		{typed: "claude -p --expose=/home/you/.ssh", wrong: "--expose=/home/you/.ssh is a flag of ringfence and stands behind what goes to the agent: put it first, or behind -- if the agent is to have it",
			hint: "ringfence claude --expose=/home/you/.ssh -- -p"},
		{typed: "claude --resume --net none", wrong: "--net is a flag of ringfence and stands behind what goes to the agent: put it first, or behind -- if the agent is to have it",
			hint: "ringfence claude --net … --resume"},
		{typed: "claude --reviev -p x", wrong: "--reviev: did you mean --review? What is meant for the agent and looks like a flag of ringfence goes behind --",
			hint: "ringfence claude -- --reviev -p x"},
	} {
		words := strings.Fields(l.typed)
		c := &command.Console{Environ: []string{"HOME=" + t.TempDir()}}
		cmd := find(c, words[0])
		ours, theirs, err := forAgent(cmd, knownFlags(c, words[0]), words[1:])
		if l.wrong != "" {
			if err == nil || err.Error() != l.wrong || fault.HintOf(err) != l.hint {
				t.Errorf("%s: %q %q, %v (%s)", l.typed, ours, theirs, err, fault.HintOf(err))
			}
			continue
		}
		if err != nil || strings.Join(ours, " ") != l.ours || strings.Join(theirs, " ") != l.theirs {
			t.Errorf("%s: %q %q, %v", l.typed, ours, theirs, err)
		}
	}
}

// TestAgentsFlagsPass: no flag that an agent is known for is taken for a mistake, or for
// ours unless it has the very same name.
func TestAgentsFlagsPass(t *testing.T) {
	c := &command.Console{Environ: []string{"HOME=" + t.TempDir()}}
	var both []string
	for _, name := range []string{"claude", "codex", "gemini", "opencode"} {
		known := knownFlags(c, name)
		if len(known) < 20 {
			t.Errorf("%s is known for %q", name, known)
		}
		for _, f := range known {
			cmd := find(c, name)
			_, theirs, err := forAgent(cmd, known, []string{"--" + f})
			if own := cmd.Flags.Lookup(f); own != nil && own.Usage != "" {
				both = append(both, name+" "+f)
			} else if err != nil || len(theirs) != 1 {
				t.Errorf("%s --%s: %q, %v", name, f, theirs, err)
			}
		}
	}
	if want := []string{"claude name", "claude verbose", "claude d", "codex image", "gemini d"}; !slices.Equal(both, want) {
		t.Errorf("both know %q, want %q", both, want)
	}
}
