package scan

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// firstWords lists the first word of every simple command, in the order they are written.
func firstWords(list []*syntax.Stmt) string {
	var out []string
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				name, _ := ShellPlain(c.Args[0])
				out = append(out, name)
			}
			return true
		})
	}
	return strings.Join(out, " ")
}

func TestReadShell(t *testing.T) {
	for src, want := range map[string]string{
		"":                          "",
		"a; b & c && d || e | f\ng": "a b c d e f g",
		"a # b\nc#d":                "a c#d",
		"X=1 a; Y=$(b)":             "a b",
		"if a; then b; elif c; then d; else e; fi":    "a b c d e",
		"case $(a) in x|y) b ;; (z) c;& *) d ;; esac": "a b c d",
		"a $(b $(c)) `d \\`e\\`` <(f) >(g)":           "a b c d e f g",
		"a <<'E'\n$(c)\nE\nb":                         "a b",
		"a 'b; c' \"d; e\" f\\;g":                     "a",
		`r\m; 'r'"m"; $'\x72m'`:                       "rm rm rm",
	} {
		list, err := ReadShell(src)
		if err != nil {
			t.Errorf("%q: %v", src, err)
		} else if got := firstWords(list); got != want {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}

// TestShellBounds: what would take the parser too deep is refused before it is read.
func TestShellBounds(t *testing.T) {
	for _, open := range []string{"(", "$(", "if ", "{ ", "${x:-", "((", "while ", "\"$(", "<(", "$((1?", "x[", "for i in x; do "} {
		if _, err := ReadShell(strings.Repeat(open, maxShell/len(open))); !errors.Is(err, errShellDeep) {
			t.Errorf("%q: %v", open, err)
		}
	}
	if _, err := ReadShell(strings.Repeat("x", maxShell+1)); !errors.Is(err, errShellLong) {
		t.Error(err)
	}
	if _, err := ReadShell("a\x00b"); !errors.Is(err, errNul) {
		t.Error(err)
	}
	for _, src := range []string{"'", "\"", "$(", "${x", "(", "{ a", "if a", "a)", "done", "a <", "a ;; b", "a | | b"} {
		if _, err := ReadShell(src); err == nil {
			t.Errorf("%q: accepted", src)
		}
	}
}

// FuzzShell: every text is read or refused, and what is read in one piece is read the
// same with a comment behind it.
func FuzzShell(f *testing.F) {
	for _, s := range []string{"a 'b' \"$c\" $(d `e`) <(f) | g && h || i; j & { k; } (l)", "a <<E\n$x\nE\n", "${x:-${y//a/b}}", "$((1+(2)))", "f() { a; }; a=(b c)", "[[ a =~ b ]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		list, err := ReadShell(src)
		if err != nil || len(src) > 1000 || !utf8.ValidString(src) || strings.HasSuffix(src, "\\") || strings.Contains(src, "<<") {
			return
		}
		again, err := ReadShell(src + "\n\n# x")
		if err != nil || firstWords(again) != firstWords(list) {
			t.Fatalf("%q, %q, %v", firstWords(list), firstWords(again), err)
		}
	})
}
