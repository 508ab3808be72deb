package cli

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func visit(all []*command, do func(*command)) {
	for _, c := range all {
		do(c)
		visit(c.subs, do)
	}
}

func TestCommandsAreDescribed(t *testing.T) {
	visit(slices.Concat(commands(), oldNames()), func(c *command) {
		if c.short == "" || c.long == "" {
			t.Errorf("%s says nothing of itself", c.name)
		}
		if n := len(c.examples); len(c.subs) == 0 && (n < 1 || n > 3) {
			t.Errorf("%s has %d examples", c.name, n)
		}
		for _, e := range c.examples {
			if c.instead == "" && !strings.Contains(e, "ringfence "+c.name) || len(e) > 78 {
				t.Errorf("%s: %q is no example of it", c.name, e)
			}
		}
		for _, f := range c.flags.options() {
			if f.text == "" || strings.HasSuffix(f.text, ".") {
				t.Errorf("%s %s: %q", c.name, f.dashed(), f.text)
			}
		}
	})
}

// TestHelpFits: the help of everything, and the list of it all, in 80 columns.
func TestHelpFits(t *testing.T) {
	helps := []string{"help"}
	visit(slices.Concat(commands(), oldNames()), func(c *command) { helps = append(helps, "help "+c.name) })
	for _, line := range helps {
		text := shown(t, 0, []string{"HOME=" + t.TempDir()}, func(c *console) {
			if _, err := c.dispatch(append([]string{"ringfence"}, strings.Fields(line)...)); err != nil && !errors.Is(err, flag.ErrHelp) {
				t.Errorf("%s: %v", line, err)
			}
		})
		if text == "" {
			t.Errorf("%s says nothing", line)
		}
		for l := range strings.Lines(text) {
			if cellWidth(strings.TrimSuffix(l, "\n")) > 80 {
				t.Errorf("%s: %d columns: %q", line, cellWidth(l), l)
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

func TestSuggest(t *testing.T) {
	words := []string{"run", "rm", "policy", "grant", "--json", "--yes"}
	for typed, want := range map[string]string{
		"polciy": "policy", "polic": "policy", "grnat": "grant", "runn": "run", "--jsno": "--json", "--yess": "--yes",
		"frobnicate": "", "": "", "x": "", strings.Repeat("policy", 1000): "",
	} {
		got := suggest(typed, words)
		if want == "" && got != "" || want != "" && !strings.Contains(got, strconv.Quote(want)) {
			t.Errorf("%q: %q", typed, got)
		}
	}
}
