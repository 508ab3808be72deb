package shell

import (
	"errors"
	"strings"
	"testing"
)

// commands lists the first word of every simple command, in the order they are written,
// with those of substitutions in brackets.
func commands(list List) string {
	var out []string
	var words func(Word)
	words = func(w Word) {
		for _, p := range w {
			if p.List != nil {
				out = append(out, "["+commands(p.List)+"]")
			}
			words(p.Arg)
			if p.Param != nil {
				words(p.Param.Arg)
				words(p.Param.Arg2)
			}
		}
	}
	for _, item := range list {
		for _, c := range item.Pipe {
			if len(c.Words) > 0 {
				name, _ := c.Words[0].Plain()
				out = append(out, name)
			}
			for _, a := range c.Assign {
				for _, v := range a.Values {
					words(v)
				}
			}
			for _, w := range c.Words {
				words(w)
			}
			for _, r := range c.Redirs {
				words(r.Target)
				words(r.Doc)
			}
			if c.Body != nil {
				for _, w := range c.Body.Words {
					words(w)
				}
				for _, l := range c.Body.Lists {
					if s := commands(l); s != "" {
						out = append(out, s)
					}
				}
			}
		}
	}
	return strings.Join(out, " ")
}

func TestParse(t *testing.T) {
	for src, want := range map[string]string{
		"":                          "",
		"a; b & c && d || e | f\ng": "a b c d e f g",
		"a # b\nc#d":                "a c#d",
		"X=1 a; Y=$(b)":             "a [b]",
		"(a; b) && { c; }":          "a b c",
		"if a; then b; elif c; then d; else e; fi":    "a b c d e",
		"while a; do b; done; until c; do d; done":    "a b c d",
		"for i in $(a); do b; done":                   "[a] b",
		"for i; do a; done":                           "a",
		"for ((i=0; i<3; i++)); do a; done":           "a",
		"case $(a) in x|y) b ;; (z) c;& *) d ;; esac": "[a] b c d",
		"f() { a; }; function g { b; }":               "a b",
		"a $(b $(c)) `d \\`e\\`` <(f) >(g)":           "a [b [c]] [d [e]] [f] [g]",
		"a \"$(b \"$(c)\")\" ${x:-$(d)}":              "a [b [c]] [d]",
		"[[ -n $(a) && x < y ]] && b":                 "[a] b",
		"(( x + $(a) ))":                              "[a]",
		"((a); b)":                                    "a b",
		"a $((1 + $(b)))":                             "a [b]",
		"a <<E | b\n$(c) x\nE\nd":                     "a [c] b d",
		"a <<'E'\n$(c)\nE\nb":                         "a b",
		"a <<E; b <<F\n$(c)\nE\n$(d)\nF\ne":           "a [c] b [d] e",
		"a > $(b) 2>&1 <<< $(c)":                      "a [b] [c]",
		"x=(a $(b)); c":                               "[b] c",
		"a !(b|c) d":                                  "a",
		"! a; time b":                                 "a b",
		"a 'b; c' \"d; e\" f\\;g":                     "a",
		"if a; then { b; } fi":                        "a b",
	} {
		list, err := Parse(src)
		if err != nil {
			t.Errorf("%q: %v", src, err)
		} else if got := commands(list); got != want {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, src := range []string{"'", "\"", "$(", "${x", "`a", "(", "{ a", "if a", "while a; do b", "case x in a) b", "for i in a; b", "a)", "done", "a <", "a ;; b", "f(", "a | | b", "a & & b",
		strings.Repeat("(", 1000), strings.Repeat("$(", 1000), strings.Repeat("a ", MaxLength)} {
		if _, err := Parse(src); err == nil {
			t.Errorf("%.40q: accepted", src)
		}
	}
	if _, err := Parse(strings.Repeat("x", MaxLength+1)); !errors.Is(err, errLong) {
		t.Error(err)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{`a\nb`: "a\nb", `\x41\101\u00e9\U0001F600`: "AAé😀", `\q\`: `\q\`, `\0057`: "/", `\cA`: "\x01", `\xg`: `\xg`} {
		if got := Unescape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzParse: every text is read or refused, and what is read in one piece is read the
// same with a comment or an empty line behind it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a 'b' \"$c\" $(d `e`) <(f) | g && h || i; j & { k; } (l)", "if a; then b; fi; case x in y) z;; esac", "a <<E\n$x\nE\n", "${x:-${y//a/b}}", "$((1+(2)))", "f() { a; }; a=(b c)", "[[ a =~ b ]]", "for i in 1; do x; done"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		list, err := Parse(src)
		if err != nil || len(src) > 1000 {
			return
		}
		if strings.HasSuffix(src, "\\") || strings.Contains(src, "<<") {
			return
		}
		again, err := Parse(src + "\n\n# x")
		if err != nil || commands(again) != commands(list) {
			t.Fatalf("%q, %q, %v", commands(list), commands(again), err)
		}
	})
}
