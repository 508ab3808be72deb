package command

import (
	"errors"
	"flag"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/fault"
)

func TestSuggest(t *testing.T) {
	words := []string{"run", "rm", "policy", "grant", "--json", "--yes"}
	for typed, want := range map[string]string{
		"polciy": "policy", "polic": "policy", "grnat": "grant", "runn": "run", "--jsno": "--json", "--yess": "--yes",
		"frobnicate": "", "": "", "x": "", strings.Repeat("policy", 1000): "",
	} {
		got := Suggest(typed, words)
		if want == "" && got != "" || want != "" && !strings.Contains(got, strconv.Quote(want)) {
			t.Errorf("%q: %q", typed, got)
		}
	}
}

// executed is what a command with the flags --json, --depth N and -q was run with.
type executed struct {
	ran           bool
	json, quiet   bool
	depth         int
	args, behind  []string
	status        int
	said, advised string // the error and its hint
}

func execute(t *testing.T, cmd *Command, line string) (got executed) {
	t.Helper()
	json, depth, quiet := cmd.Flags.Bool("json", false, "print JSON"), cmd.Flags.Int("depth", 0, "at most `N`"), cmd.Flags.Bool("q", false, "be quiet")
	cmd.Name = "look"
	cmd.Run = func(_ *Console, args []string) (int, error) {
		got.ran, got.args, got.behind = true, args, cmd.Behind
		return 0, nil
	}
	var err error
	got.status, err = (&Console{}).Execute(cmd, strings.Fields(line))
	got.json, got.depth, got.quiet = *json, *depth, *quiet
	if err != nil {
		got.said, got.advised = err.Error(), fault.HintOf(err)
	}
	return got
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		takes Takes
		cut   bool
		line  string
		want  executed
	}{
		{None, false, "--json --depth 3", executed{ran: true, json: true, depth: 3}},
		{None, false, "-q", executed{ran: true, quiet: true}},
		{One, false, "", executed{ran: true}},
		{One, false, "demo --json", executed{ran: true, json: true, args: []string{"demo"}}},
		{One, false, "--json demo", executed{ran: true, json: true, args: []string{"demo"}}},
		{One, true, "demo -- ls --json", executed{ran: true, args: []string{"demo"}, behind: []string{"ls", "--json"}}},
		{Many, false, "a --json b", executed{ran: true, json: true, args: []string{"a", "b"}}},
		{Many, false, "a -- --json b", executed{ran: true, args: []string{"a", "--json", "b"}}},
		{Rest, false, "--json a --depth 3", executed{ran: true, json: true, args: []string{"a", "--depth", "3"}}},
		{Raw, false, "--json a", executed{ran: true, args: []string{"--json", "a"}}},
		{Raw, true, "a -- b", executed{ran: true, args: []string{"a"}, behind: []string{"b"}}},
	} {
		got := execute(t, &Command{Takes: c.takes, Cut: c.cut}, c.line)
		if len(got.args) == 0 {
			got.args = nil
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(executed{})); diff != "" {
			t.Errorf("%d, %q: %s", c.takes, c.line, diff)
		}
	}
}

// TestWrongUsage: nothing runs, the status says so, and the hint names the help.
func TestWrongUsage(t *testing.T) {
	for _, c := range []struct {
		takes Takes
		line  string
		want  string
	}{
		{None, "demo", `look takes no argument "demo"`},
		{One, "demo other", `look takes no argument "other"`},
		{One, "demo --json other", `look takes no argument "other"`},
		{None, "--jsno", `look: there is no flag --jsno (did you mean "--json"?)`},
		{Many, "a --dept 3", `look: there is no flag --dept (did you mean "--depth"?)`},
		{None, "--frobnicate", "look: there is no flag --frobnicate"},
		{None, "--depth", "look: flag needs an argument: --depth"},
		{None, "--depth many", `look: invalid value "many" for flag --depth: parse error`},
	} {
		got := execute(t, &Command{Takes: c.takes}, c.line)
		if got.ran || got.status != 2 || got.said != c.want || got.advised != "run `ringfence look --help`" {
			t.Errorf("%q: %+v", c.line, got)
		}
	}
	if got := execute(t, &Command{Status: 125}, "--frobnicate"); got.status != 125 {
		t.Errorf("a command that has a status of its own for wrong usage gives %d", got.status)
	}
}

func TestFamily(t *testing.T) {
	ran := ""
	sub := func(name string, subs ...*Command) *Command {
		return &Command{Name: name, Subs: subs, Takes: Rest, Run: func(_ *Console, args []string) (int, error) {
			ran = name + ":" + strings.Join(args, ",")
			return 0, nil
		}}
	}
	family := func() *Command {
		return Family(&Command{Name: "policy"}, sub("policy show", sub("policy show all")), sub("policy check"))
	}
	if got := family().Args; got != "show|check" {
		t.Errorf("its arguments are %q", got)
	}
	for line, want := range map[string]string{"show": "policy show:", "show all x": "policy show all:x", "show x all": "policy show:x,all", "check check": "policy check:check"} {
		if _, err := (&Console{}).Execute(family(), strings.Fields(line)); err != nil || ran != want {
			t.Errorf("%q runs %q: %v", line, ran, err)
		}
	}
	for line, want := range map[string]string{
		"":      "policy needs one of show, check",
		"shwo":  `policy needs one of show, check, not "shwo" (did you mean "show"?)`,
		"other": `policy needs one of show, check, not "other"`,
	} {
		status, err := (&Console{}).Execute(family(), strings.Fields(line))
		if status != 2 || err == nil || err.Error() != want || fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %d, %v", line, status, err)
		}
	}
}

// TestFlagGroups: flags stand group by group, in each by name, and those before the
// first title first.
func TestFlagGroups(t *testing.T) {
	var f FlagSet
	f.Bool("yes", false, "do not ask")
	f.Begin("for files")
	f.String("rw", "", "show `PATH` read-write")
	f.String("ro", "", "show `PATH` read-only")
	f.Begin("for the start")
	f.Bool("d", false, "leave it alone")
	want := []Option{
		{"yes", "", "do not ask", ""},
		{"ro", "PATH", "show PATH read-only", "for files"}, {"rw", "PATH", "show PATH read-write", "for files"},
		{"d", "", "leave it alone", "for the start"},
	}
	if diff := cmp.Diff(want, f.Options()); diff != "" {
		t.Error(diff)
	}
	if want[0].Dashed() != "--yes" || want[3].Dashed() != "-d" {
		t.Errorf("%s %s", want[0].Dashed(), want[3].Dashed())
	}
	if err := f.Parse([]string{"--ro", "x"}); err != nil || !f.IsSet("ro") || f.IsSet("rw") {
		t.Errorf("what was given is not known: %v", err)
	}
}

// TestHelp: --help runs nothing and shows everything that is known of a command.
func TestHelp(t *testing.T) {
	cmd := &Command{Name: "look", Args: "[PATH] [flags]", Long: "Looks.\n\nAnd looks again.", Examples: []string{"ringfence look"},
		Run: func(*Console, []string) (int, error) { t.Error("it ran"); return 0, nil }}
	cmd.Flags.Bool("all", false, "look everywhere")
	cmd.Flags.Begin("for files")
	cmd.Flags.String("ro", "", "show `PATH`")
	got := shown(t, 0, nil, func(c *Console) {
		if _, err := c.Execute(cmd, []string{"--help"}); !errors.Is(err, flag.ErrHelp) {
			t.Error(err)
		}
	})
	want := `usage: ringfence look [PATH] [flags]

Looks.

And looks again.

flags:
  --all                     look everywhere

flags for files:
  --ro PATH                 show PATH

examples:
  ringfence look
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
