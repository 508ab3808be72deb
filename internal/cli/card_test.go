package cli

import "testing"

// TestUnusual: what is unusual is one line, whatever there is, and nothing of it looks like
// a line of its own.
func TestUnusual(t *testing.T) {
	for _, c := range []struct {
		all   []string
		width int
		want  string
	}{
		{nil, 67, "nothing"},
		{[]string{"masked .env"}, 67, "masked .env"},
		{[]string{"masked .env", "added FOO"}, 67, "masked .env · added FOO"},
		{[]string{"aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc"}, 41, "aaaaaaaaaa · 2 more: ringfence status"},
		{[]string{"aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc"}, 36, "aaaaaaaa… · 2 more: ringfence status"},
		{[]string{"a warning that is far too long for a line"}, 20, "a warning that is f…"},
		{[]string{"two\nlines \x1b[31m"}, 67, `two lines \u001b[31m`},
	} {
		if got := unusual(c.all, c.width); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.all, c.width, got, c.want)
		}
	}
}
