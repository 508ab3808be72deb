package cli

import (
	"slices"
	"testing"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy/agent"
)

// TestToRun: what a launch starts, of what was typed behind its flags.
func TestToRun(t *testing.T) {
	c := &command.Console{Environ: []string{"SHELL=/bin/sh"}}
	for _, l := range []struct {
		name        string
		rest, typed []string
		who         string
		args        []string
		wrong       string
	}{
		{name: "run", rest: []string{"make", "-j"}, typed: []string{"make", "-j"}, who: agent.Command, args: []string{"make", "-j"}},
		{name: "run", wrong: "run needs a command"},
		{name: "shell", who: agent.Command, args: []string{"/bin/sh"}},
		{name: "shell", rest: []string{"ls"}, typed: []string{"ls"}, wrong: `shell takes no argument "ls"`},
		{name: "claude", who: "claude"},
		{name: "claude", rest: []string{"-p", "x"}, typed: []string{"--", "-p", "x"}, who: "claude", args: []string{"-p", "x"}},
		{name: "claude", rest: []string{"x"}, typed: []string{"x"}, wrong: "what is meant for the agent goes behind --"},
	} {
		who, args, err := toRun(c, l.name, l.rest, l.typed)
		if l.wrong != "" {
			if err == nil || err.Error() != l.wrong || fault.KindOf(err) != fault.Usage {
				t.Errorf("%s %q: %v", l.name, l.typed, err)
			}
			continue
		}
		if err != nil || who != l.who || !slices.Equal(args, l.args) {
			t.Errorf("%s %q: %s %q, %v", l.name, l.typed, who, args, err)
		}
	}
}

// TestFlagsOfTheAgent: who gives an agent's flag to ringfence is told where it goes.
func TestFlagsOfTheAgent(t *testing.T) {
	for _, l := range []struct {
		name, flag, want, hint string
	}{
		{"claude", "--resume", "claude: flag provided but not defined: --resume; what is meant for the agent goes behind --", "ringfence claude -- --resume"},
		{"claude", "--reviev", `claude: flag provided but not defined: --reviev (did you mean "--review"?); what is meant for the agent goes behind --`, "ringfence claude -- --reviev"},
		{"claude", "--pids=many", `claude: invalid value "many" for flag --pids: parse error`, "run `ringfence claude --help`"},
		{"run", "--resume", "run: flag provided but not defined: --resume", "run `ringfence run --help`"},
	} {
		cmd := find(&command.Console{}, l.name)
		status, err := begin(nil, cmd, nil, []string{l.flag})
		if status != 125 || err == nil || err.Error() != l.want || fault.HintOf(err) != l.hint {
			t.Errorf("%s %s: %d, %v (%s)", l.name, l.flag, status, err, fault.HintOf(err))
		}
	}
}
