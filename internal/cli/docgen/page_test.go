package docgen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{"SESSION", [][]string{{Sessions}, nil}},
		{"[SESSION] [PATH...] [flags]", [][]string{{Sessions, Files}, {Files}, {Files}}},
		{"SESSION --host HOST[:PORT] [--for 30m | --session]", [][]string{{Sessions}, nil}},
		{"bash|zsh|fish", [][]string{{"=bash", "=zsh", "=fish"}, nil}},
		{"[DRILL... | all] [--json]", [][]string{{Drills, "=all"}, {Drills, "=all"}}},
		{"--last | PATH | HOST[:PORT] | ENV", [][]string{{Files}, nil}},
		{"NAME [flags] [-- COMMAND ARGS]", [][]string{nil, nil}},
		{"SESSION -- CMD [ARGS]", [][]string{{Sessions}, nil}},
		{"[COMMAND] [--dir DIR]", [][]string{{Commands}, nil}},
		{"AGENT [flags]", [][]string{{Agents}, nil}},
	} {
		for n, want := range c.want {
			if diff := cmp.Diff(want, Command{Args: c.args}.Takes(n)); diff != "" {
				t.Errorf("%q, argument %d: %s", c.args, n, diff)
			}
		}
	}
}

func TestRoffIsEscaped(t *testing.T) {
	all := []Command{{Name: "x", Short: "a-b", About: ".hidden 'quoted' back\\slash ~/^", Examples: []string{`ringfence x -- 'a b'`, ".x"}}}
	text := Manual(all, "s", "a", nil)["ringfence-x.1"]
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
