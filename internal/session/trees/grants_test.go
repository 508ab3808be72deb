package trees

import (
	"os"
	"path/filepath"
	"testing"

	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/state"
)

// TestRefuseOwn: who can write ringfence's own files writes the next session's walls.
func TestRefuseOwn(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dots := filepath.Join(dir, "dotfiles")
	config := filepath.Join(dir, "home/.config/ringfence")
	for _, p := range []string{dots, config, filepath.Join(dir, "home/work")} {
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dots, "policy.toml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dots, "policy.toml"), filepath.Join(config, "policy.toml")); err != nil {
		t.Fatal(err)
	}
	gs := &grants{Base: launch.Base{Person: launch.Person{Dirs: state.Dirs{Config: config, State: filepath.Join(dir, "home/.local/state/ringfence")}}}}
	for _, c := range []struct {
		path    string
		write   bool
		refused bool
	}{
		{filepath.Join(dir, "home/work"), true, false},
		{filepath.Join(dir, "home/.local"), true, true},
		{filepath.Join(dir, "home/.local"), false, true},
		{filepath.Join(config, "agents"), false, true},
		{dots, true, true},
		{dots, false, false},
		{"/etc/ringfence", false, true},
	} {
		if err := gs.refuseOwn(c.path, c.write); (err != nil) != c.refused {
			t.Errorf("%s (write %v): %v", c.path, c.write, err)
		}
	}
}
