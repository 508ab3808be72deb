package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColumnsAreAligned(t *testing.T) {
	got := layTable([]string{"name", "state", "path"}, [][]string{
		{"7qk2", "runs", "/home/you/project"},
		{"日本", paintText("32", "ended"), "/srv"},
		{"e\u0301te", "", ""},
	}, 80)
	want := []string{
		"name  state  path",
		"7qk2  runs   /home/you/project",
		"日本  \x1b[32mended\x1b[0m  /srv",
		"e\u0301te",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLinesFit(t *testing.T) {
	long := strings.Repeat("many words ", 20)
	path := "/home/you/" + strings.Repeat("x", 100)
	for _, width := range []int{30, 40, 80, 120} {
		for n, line := range layTable([]string{"a", "b", "c"}, [][]string{{long, strings.Repeat("w", 90), long}, {"short", "x", path}}, width) {
			if cellWidth(line) > width && !strings.HasSuffix(line, path) {
				t.Errorf("width %d, line %d has %d: %q", width, n, cellWidth(line), line)
			}
		}
	}
	all := strings.Join(layTable(nil, [][]string{{"key", path}}, 80), "\n")
	if all != "key  "+path {
		t.Errorf("a path is torn: %q", all)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		split bool
		want  []string
	}{
		{"", 10, true, []string{""}},
		{"one two three", 8, true, []string{"one two", "three"}},
		{"abcdefghij kl", 4, true, []string{"abcd", "efgh", "ij", "kl"}},
		{"abcdefghij kl", 4, false, []string{"abcdefghij", "kl"}},
		{paintText("1", "one two"), 3, true, []string{paintText("1", "one"), paintText("1", "two")}},
		{"日本語", 1, true, []string{"日", "本", "語"}},
	} {
		if diff := cmp.Diff(c.want, wrapCell(c.text, c.width, c.split)); diff != "" {
			t.Errorf("%q at %d: %s", c.text, c.width, diff)
		}
	}
}

func TestPaint(t *testing.T) {
	if got := unpainted(paintText("1;31", "bad")); got != "bad" {
		t.Errorf("got %q", got)
	}
	for _, foreign := range []string{"\x1b[31mhalf", "\x1b]0;title\x07", "\x1b[31ma\x1b[2Jb\x1b[0m", "\x1b[2Jx\x1b[0m", "\x1b[mx\x1b[0m"} {
		if got := unpainted(foreign); got != foreign {
			t.Errorf("%q is taken for paint: %q", foreign, got)
		}
	}
	if got := cellWidth(paintText("32", "ok")); got != 2 {
		t.Errorf("paint has a width: %d", got)
	}
}

// FuzzTable: whatever the cells hold, each line fits or ends in one whole word, no sign
// is lost, and there is an end.
func FuzzTable(f *testing.F) {
	f.Add("name", "a long text of many words", "/home/you/project", 30)
	f.Add("日本語", "e\u0301", "\x1b[31mred\x1b[0m", 3)
	f.Add("\xff\xfe", "\x1b[31m", "", -1)
	f.Fuzz(func(t *testing.T, a, b, c string, width int) {
		if len(a)+len(b)+len(c) > 4096 {
			t.Skip()
		}
		a, b, c = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?"), strings.ToValidUTF8(c, "?")
		width = max(24, min(width, 500)) // three columns and what is between them
		lines := layTable([]string{"a", "b", "c"}, [][]string{{a, b, c}}, width+2*narrowest)
		for _, line := range lines {
			if strings.Contains(line, "\n") && !strings.ContainsAny(a+b+c, "\n") {
				t.Errorf("%q is two lines", line)
			}
		}
		for _, cell := range []string{a, b, c} {
			left := strings.Join(lines, "")
			for _, r := range strings.Join(strings.Fields(unpainted(cell)), "") {
				at := strings.IndexRune(left, r)
				if at < 0 {
					t.Fatalf("%q of %q is not in %q", r, cell, lines)
				}
			}
		}
	})
}

// TestWrapCountsCells: text is broken by what a terminal shows, not by its bytes.
func TestWrapCountsCells(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{"", ""},
		{"日本 日本", "日本 日本"},
		{"日本 日本 日本", "日本 日本\n  日本"},
		{"one two three", "one two\n  three"},
		{"a-word-that-is-too-long for it", "a-word-that-is-too-long\n  for it"},
	} {
		if got := Wrap(c.text, 2, 12); got != c.want {
			t.Errorf("%q: %q", c.text, got)
		}
	}
}
