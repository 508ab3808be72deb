package knownsecrets

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestThere: what is found by reading directories is what is found by asking for every name,
// whatever a directory is: plain, a link, closed to readers, too large, or no directory.
func TestThere(t *testing.T) {
	for name, spoil := range map[string]func(home string) error{
		"plain": func(string) error { return nil },
		"linked": func(home string) error {
			if err := os.Rename(home+"/.config", home+"/elsewhere"); err != nil {
				return err
			}
			return os.Symlink("elsewhere", home+"/.config")
		},
		"not to be listed": func(home string) error { return os.Chmod(home+"/.config", 0o311) },
		"closed":           func(home string) error { return os.Chmod(home+"/.config", 0) },
		"too large": func(home string) error {
			for i := range mostNames + 1 {
				if err := os.WriteFile(home+"/.config/"+strconv.Itoa(i), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		"no directory": func(home string) error {
			if err := os.RemoveAll(home + "/.config"); err != nil {
				return err
			}
			return os.WriteFile(home+"/.config", nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for i, r := range paths() {
				if path := home + "/" + r.rest; i%3 == 0 && r.root == inHome && !strings.Contains(r.rest, "*") {
					os.MkdirAll(filepath.Dir(path), 0o700) // fails where a row is below another's file
					os.WriteFile(path, nil, 0o600)
				}
			}
			if err := spoil(home); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(home+"/.config", 0o700)
			var want, got []string
			for _, r := range paths() {
				if path := home + "/" + r.rest; r.root == inHome && !strings.Contains(r.rest, "*") && exists(path) {
					want = append(want, path)
				}
			}
			for _, f := range There(home) {
				got = append(got, f.Path)
			}
			if len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%d are found, want %d\n%q\n%q", len(got), len(want), got, want)
			}
		})
	}
}
