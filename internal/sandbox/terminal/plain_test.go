package terminal

import (
	"bytes"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\nb\n":                         "a\nb\n",
		"\x1b[31mred\x1b[0m":               "red",
		"\x1b]0;title\x07text":             "text",
		"\x1b]8;;http://x\x1b\\link":       "link",
		"\x1bPq#1~\x1b\\after":             "after",
		"\x1b(Bplain\x1b7\x1b8":            "plain",
		"tab\tand \u00e9 and \U0001f600":   "tab\tand \u00e9 and \U0001f600",
		"bell\a, back\b, delete\x7f, \x00": "bell, back, delete, ",
	} {
		for _, size := range []int{1, 3, len(in)} {
			var b strings.Builder
			p := &Plain{W: &b}
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				p.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if b.String() != want {
				t.Errorf("%q by %d: %q", in, size, b.String())
			}
		}
	}
}

// Nothing that a terminal would obey comes out, however it is cut.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]0;x\x07", "\x1bP\x1b\\", "\x1b", "\x9b31m"} {
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		var whole, split bytes.Buffer
		(&Plain{W: &whole}).Write(in)
		p := &Plain{W: &split}
		cut = min(max(cut, 0), len(in))
		p.Write(in[:cut])
		p.Write(in[cut:])
		if !bytes.Equal(whole.Bytes(), split.Bytes()) {
			t.Errorf("cut at %d: %q and %q", cut, whole.Bytes(), split.Bytes())
		}
		if i := bytes.IndexFunc(whole.Bytes(), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%q of %q", whole.Bytes(), in)
		}
	})
}
