package launch

import (
	"os"
	"path/filepath"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/state"
)

// What sessions on this machine made of a file of state does not go to another one.
func TestStateElsewhere(t *testing.T) {
	dir := t.TempDir()
	b := Base{Person: Person{Dirs: state.Dirs{State: filepath.Join(dir, "state")}}, Place: Place{Workspaces: []Workspace{{Path: dir}}}}
	b.User.Home = "/home/u"
	total := Contribution{state: []stateItem{{state.Item{Path: ".agent.json", Seed: []byte("{}")}, "state"}}}
	place := func() (string, string) {
		t.Helper()
		_, out, err := PlaceState(b, total)
		if err != nil || len(out.Mounts) != 1 || out.Mounts[0].Dst != "/home/u/.agent.json" {
			t.Fatal(out.Mounts, err)
		}
		data, err := os.ReadFile(out.Mounts[0].Src)
		if err != nil {
			t.Fatal(err)
		}
		return out.Mounts[0].Src, string(data)
	}
	at, _ := place()
	if err := os.WriteFile(at, []byte("PROMPT"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, has := place(); has != "PROMPT" {
		t.Errorf("here it begins anew: %q", has)
	}
	b.Own = &rung.Userland{Machine: &rung.Machine{}}
	if _, has := place(); has != "{}" {
		t.Errorf("%q goes to another machine", has)
	}
}
