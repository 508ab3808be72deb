package docs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

// TestManualIsClean: both formatters that people have read every page without a word,
// but for the date, which no page has: it would change with every build.
func TestManualIsClean(t *testing.T) {
	if !stage.Mine(1) {
		t.Skip("they read it to the ordinary user")
	}
	files, err := filepath.Glob(filepath.Join(kitTree, "docs/man/*.1"))
	if err != nil || len(files) < 30 {
		t.Fatalf("there are few pages: %q, %v", files, err)
	}
	for _, f := range files {
		out, err := exec.Command("groff", "-man", "-ww", "-Tutf8", "-z", f).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("groff: %s: %v\n%s", filepath.Base(f), err, out)
		}
		lint, _ := exec.Command("mandoc", "-Tlint", "-W", "style", f).CombinedOutput()
		if len(lint) == 0 {
			t.Errorf("mandoc has not even missed the date of %s", f)
		}
		for line := range strings.Lines(string(lint)) {
			if !strings.Contains(line, "missing date, using \"\"") {
				t.Error(strings.TrimSpace(line))
			}
		}
	}
}

// TestHelpShowsTheExamples: what the manual shows, the help of the command shows too.
func TestHelpShowsTheExamples(t *testing.T) {
	h := &helper{known: map[string]string{}}
	files, _ := filepath.Glob(filepath.Join(kitTree, "docs/man/ringfence-*.1"))
	for _, f := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "ringfence-"), ".1")
		for _, e := range manual(read(t, f)) {
			words := []string{name}
			if rest, ok := strings.CutPrefix(e.text, "ringfence "+name+" "); ok {
				words = append(words, strings.Fields(rest)[0])
			}
			found := false
			for n := len(words); n > 0 && !found; n-- {
				found = strings.Contains(h.of(words[:n]...), "\n  "+e.text+"\n")
			}
			if !found {
				t.Errorf("the help of %s does not show %q", name, e.text)
			}
		}
	}
}
