package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/cli/command"
)

func TestTakes(t *testing.T) {
	for _, c := range []struct {
		args string
		want [][]string
	}{
		{"", nil},
		{"[flags]", nil},
		{"[flags] -- CMD [ARGS]", nil},
		{"[--json]", nil},
		{"SESSION", [][]string{{kindSessions}, nil}},
		{"[SESSION] [PATH...] [flags]", [][]string{{kindSessions, kindFiles}, {kindFiles}, {kindFiles}}},
		{"SESSION --host HOST[:PORT] [--for 30m | --session]", [][]string{{kindSessions}, nil}},
		{"bash|zsh|fish", [][]string{{"=bash", "=zsh", "=fish"}, nil}},
		{"[DRILL... | all] [--json]", [][]string{{kindDrills, "=all"}, {kindDrills, "=all"}}},
		{"--last | PATH | HOST[:PORT] | ENV", [][]string{{kindFiles}, nil}},
		{"NAME [flags] [-- COMMAND ARGS]", [][]string{nil, nil}},
		{"SESSION -- CMD [ARGS]", [][]string{{kindSessions}, nil}},
		{"[COMMAND] [--dir DIR]", [][]string{{kindCommands}, nil}},
		{"AGENT [flags]", [][]string{{kindAgents}, nil}},
	} {
		for n, want := range c.want {
			if diff := cmp.Diff(want, argumentsAt((&command.Command{Args: c.args}), n)); diff != "" {
				t.Errorf("%q, argument %d: %s", c.args, n, diff)
			}
		}
	}
}

func TestRoffIsEscaped(t *testing.T) {
	all := []*command.Command{{Name: "x", Short: "a-b", Long: ".hidden 'quoted' back\\slash ~/^", Examples: []string{`ringfence x -- 'a b'`, ".x"}}}
	text := manualPages(all, "s", "a", nil)["ringfence-x.1"]
	for _, want := range []string{`a\-b`, `\&.hidden \(aqquoted\(aq back\eslash \(ti/\(ha`, "\nringfence x \\-\\- \\(aqa b\\(aq\n", "\n\\&.x\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 81 {
			t.Errorf("a line of %d: %q", len(line), line)
		}
	}
}
