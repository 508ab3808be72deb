package cli

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/cli/command"
)

func TestCommandsAreDescribed(t *testing.T) {
	each(slices.Concat(commands(), oldNames()), func(c *command.Command) {
		if c.Short == "" || c.Long == "" {
			t.Errorf("%s says nothing of itself", c.Name)
		}
		if n := len(c.Examples); len(c.Subs) == 0 && (n < 1 || n > 3) {
			t.Errorf("%s has %d examples", c.Name, n)
		}
		for _, e := range c.Examples {
			if c.Instead == "" && !strings.Contains(e, "ringfence "+c.Name) || len(e) > 78 {
				t.Errorf("%s: %q is no example of it", c.Name, e)
			}
		}
		for _, f := range c.Flags.Options() {
			if f.Text == "" || strings.HasSuffix(f.Text, ".") {
				t.Errorf("%s %s: %q", c.Name, f.Dashed(), f.Text)
			}
		}
	})
}

// TestHelpFits: the help of everything, and the list of it all, in 80 columns.
func TestHelpFits(t *testing.T) {
	helps := []string{"help"}
	each(slices.Concat(commands(), oldNames()), func(c *command.Command) { helps = append(helps, "help "+c.Name) })
	for _, line := range helps {
		text := shown(t, false, t.TempDir(), func(c *command.Console) {
			if _, err := dispatch(c, append([]string{"ringfence"}, strings.Fields(line)...)); err != nil && !errors.Is(err, flag.ErrHelp) {
				t.Errorf("%s: %v", line, err)
			}
		})
		if text == "" {
			t.Errorf("%s says nothing", line)
		}
		for l := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %q", line, n, l)
			}
		}
	}
}

// Where the generated texts are kept.
const (
	manualDir     = "../../docs/man"
	completionDir = "../../packaging/completion"
)

// TestPagesAreCurrent: what is kept of the manual and the completions is what the
// program prints now.
func TestPagesAreCurrent(t *testing.T) {
	all := commands()
	want := map[string]string{}
	for name, text := range manualPages(all, manualShort, manualAbout, manualMore) {
		want[filepath.Join(manualDir, name)] = text
	}
	for _, shell := range shells() {
		want[filepath.Join(completionDir, "ringfence."+shell)] = completionOf(shell, all)
	}
	var old []string
	for path, text := range want {
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			old = append(old, filepath.Base(path))
		}
	}
	if slices.Sort(old); len(old) > 0 {
		t.Errorf("not what ringfence prints: %q; run `make pages`", old)
	}
	for _, dir := range []string{manualDir, completionDir} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if _, ok := want[filepath.Join(dir, e.Name())]; !ok {
				t.Errorf("%s is of a command that is gone: run `make pages`", filepath.Join(dir, e.Name()))
			}
		}
	}
}
