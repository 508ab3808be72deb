package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/session/control"
)

// TestEntries: the table calls each command as it calls itself.
func TestEntries(t *testing.T) {
	for _, e := range entries() {
		if name := e.make().Name; name != e.name {
			t.Errorf("%s is called %s in the table", name, e.name)
		}
	}
}

// TestNamesAreUnique: each name is of one command, and no old name is listed.
func TestNamesAreUnique(t *testing.T) {
	of := map[string]int{}
	each(commands(), func(c *command.Command) { of[c.Name]++ })
	for name, n := range of {
		if n > 1 {
			t.Errorf("%d commands are called %s", n, name)
		}
	}
	for _, old := range oldNames() {
		if of[old.Name] > 0 {
			t.Errorf("%s is listed", old.Name)
		}
		if !strings.HasPrefix(old.Long, old.Instead) {
			t.Errorf("the help of %s begins with %.40q", old.Name, old.Long)
		}
	}
}

func TestFind(t *testing.T) {
	home := t.TempDir()
	agents := filepath.Join(home, ".config/ringfence/agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(agents, "scribe.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := &command.Console{Environ: []string{"HOME=" + home}}
	for name, short := range map[string]string{
		"claude": "run Claude Code in a sandbox", "run": "run a command in a sandbox", "ps": "list sessions", "policy": "show or check the effective policy",
		"logs": "show what a kept session printed", "inspect": "show how strongly a session is fenced", "scribe": "run scribe in a sandbox",
	} {
		if cmd := find(c, name); cmd == nil || cmd.Name != name || cmd.Short != short {
			t.Errorf("%s is %+v", name, cmd)
		}
	}
	for _, name := range []string{"", "show", "policy show", "Run", "scribe.toml", "../agents/scribe"} {
		if cmd := find(c, name); cmd != nil {
			t.Errorf("%q is %s", name, cmd.Name)
		}
	}
}

func TestUnknownCommand(t *testing.T) {
	for typed, want := range map[string]string{
		"polciy": `unknown command "polciy" (did you mean "policy"?)`, "sttaus": `unknown command "sttaus" (did you mean "status"?)`, "frobnicate": `unknown command "frobnicate"`,
	} {
		for _, line := range [][]string{{"ringfence", typed}, {"ringfence", "help", typed}} {
			status, err := dispatch(&command.Console{}, line)
			if status != 2 || err == nil || err.Error() != want {
				t.Errorf("%q: %d, %v", line, status, err)
			}
		}
	}
}

// TestAliases: the words that people try first are those of a command.
func TestAliases(t *testing.T) {
	home := t.TempDir()
	says := func(words ...string) string {
		return shown(t, false, home, func(c *command.Console) {
			if status, err := dispatch(c, append([]string{"ringfence"}, words...)); status != 0 && len(words) > 0 || err != nil {
				t.Errorf("%q: %d, %v", words, status, err)
			}
		})
	}
	for _, same := range [][2]string{{"--version", "version"}, {"--help", "help"}, {"-h", "help"}, {"", "help"}} {
		if a, b := says(strings.Fields(same[0])...), says(same[1]); a != b || a == "" {
			t.Errorf("%q says %q, and %q says %q", same[0], a, same[1], b)
		}
	}
}

// fenced is a session that answers, without a sandbox.
func fenced(t *testing.T) (id string) {
	t.Helper()
	id = fmt.Sprintf("cdt%07d", os.Getpid()%1e7)
	now := &control.Status{Session: id, Name: "demo", Mode: "none", Level: "L2", Denied: 3}
	l, err := control.Listen(id, func(q control.Request) control.Reply {
		switch q.Do {
		case "status":
			return control.Reply{Status: now}
		case "inspect":
			b, err := json.Marshal(map[string]any{"status": now, "plan": map[string]any{"ops": []string{"bind"}}, "state": "/state/of/it", "env": []string{"HOME"}})
			if err != nil {
				return control.Reply{Error: err.Error()}
			}
			return control.Reply{Inspect: b}
		}
		return control.Reply{Error: "it is asked to " + q.Do}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return id
}

// TestInspectIsStatus: the old name prints what the new one does, and says to a person
// which that is.
func TestInspectIsStatus(t *testing.T) {
	id, home := fenced(t), t.TempDir()
	says := func(person bool, words ...string) string {
		return shown(t, person, home, func(c *command.Console) {
			if status, err := dispatch(c, append([]string{"ringfence"}, words...)); status != 0 || err != nil {
				t.Errorf("%q: %d, %v", words, status, err)
			}
		})
	}
	status, inspect := says(false, "status", id, "--json"), says(false, "inspect", id)
	if status != inspect {
		t.Errorf("inspect prints %s\nstatus --json prints %s", inspect, status)
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(status), &all); err != nil {
		t.Fatalf("%v: %s", err, status)
	}
	for key, want := range map[string]any{"session": id, "name": "demo", "state": "running", "work": "/state/of/it", "level": "L2", "denied": 3.0, "status": nil} {
		if all[key] != want {
			t.Errorf("%s is %v, not %v", key, all[key], want)
		}
	}
	if all["plan"] == nil || all["env"] == nil {
		t.Errorf("something of it is left out: %s", status)
	}
	const warning = "ringfence: warning: `ringfence inspect` goes with the next release: use `ringfence status --json`\n"
	if got := says(true, "inspect", id); got != warning+status {
		t.Errorf("a person is told %q", got)
	}
	if got := says(true, "status", id, "--json"); got != status {
		t.Errorf("a person who uses the new name is told %q", got)
	}
}

// TestLogsIsOutput: the other old name has the flags of the new one.
func TestLogsIsOutput(t *testing.T) {
	c := &command.Console{}
	flags := func(name string) (out []command.Option) { return find(c, name).Flags.Options() }
	if !slices.Equal(flags("logs"), flags("output")) {
		t.Errorf("%v, and %v", flags("logs"), flags("output"))
	}
	status, err := dispatch(c, []string{"ringfence", "logs"})
	if status != 2 || err == nil || err.Error() != "logs takes one session" {
		t.Errorf("%d, %v", status, err)
	}
}
