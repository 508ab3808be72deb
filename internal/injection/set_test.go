package injection

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sample is one text of the labelled set.
type sample struct{ name, text string }

// samples reads a file of the set. What cannot be seen is spelt out in it:
// \u{200b} is a character, \tags{…}, \vs{…}, \zw{…} hide a text in characters,
// \b64{…} and \hex{…} encode one.
func samples(t testing.TB, name string) (out []sample) {
	t.Helper()
	b, err := os.ReadFile("testdata/set/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(b), "\n=== ") {
		head, text, _ := strings.Cut(strings.TrimPrefix(part, "=== "), "\n")
		out = append(out, sample{head, spell(t, text)})
	}
	return out
}

var spellings = map[string]func(string) string{
	`\u{`: func(s string) string {
		n, err := strconv.ParseUint(s, 16, 32)
		if err != nil {
			panic(err)
		}
		return string(rune(n))
	},
	`\tags{`: func(s string) string { return each(s, func(c byte) string { return string(0xe0000 + rune(c)) }) },
	`\vs{`: func(s string) string {
		return each(s, func(c byte) string { return string(0xe0100 + rune(c) - 16) })
	},
	`\zw{`: func(s string) string {
		return each(s, func(c byte) string {
			return strings.NewReplacer("0", "\u200b", "1", "\u200c").Replace(fmt.Sprintf("%08b", c))
		})
	},
	`\b64{`: func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	`\hex{`: func(s string) string { return hex.EncodeToString([]byte(s)) },
}

func each(s string, f func(byte) string) (out string) {
	for i := range len(s) {
		out += f(s[i])
	}
	return out
}

// spell writes a text out, from the innermost braces on.
func spell(t testing.TB, text string) string {
	for {
		at, which := -1, ""
		for name := range spellings {
			if i := strings.LastIndex(text, name); i > at {
				at, which = i, name
			}
		}
		if at < 0 {
			return text
		}
		begin := at + len(which)
		end := begin
		for open := 0; end < len(text) && (text[end] != '}' || open > 0); end++ {
			switch text[end] {
			case '{':
				open++
			case '}':
				open--
			}
		}
		if end == len(text) {
			t.Fatalf("%q has no end", text[at:])
		}
		text = text[:at] + spellings[which](text[begin:end]) + text[end+1:]
	}
}

// figures are what came of a part of the set.
type figures struct{ hostile, found, harmless, alarms int }

func measure(t testing.TB, hostile, harmless string, log bool) (f figures) {
	for _, s := range samples(t, hostile) {
		f.hostile++
		if Judge(s.text).Hit() {
			f.found++
		} else if log {
			t.Logf("not found: %s", s.name)
		}
	}
	for _, s := range samples(t, harmless) {
		f.harmless++
		if r := Judge(s.text); r.Hit() {
			f.alarms++
			if log {
				t.Logf("false alarm: %s: %+v", s.name, r.Findings)
			}
		}
	}
	return f
}

func (f figures) row(name string) string {
	return fmt.Sprintf("| %s | %d of %d | %d of %d |", name, f.found, f.hostile, f.alarms, f.harmless)
}

// TestSet: the page says what comes of the labelled set, and nothing got worse. Of the
// part that is held back only the sums are told: what is missed there is no reason to
// change a shape.
func TestSet(t *testing.T) {
	known := measure(t, "hostile", "harmless", true)
	held := measure(t, "held-hostile", "held-harmless", false)
	if known.hostile+held.hostile < 60 || known.harmless+held.harmless < 200 {
		t.Errorf("the set is too small: %+v %+v", known, held)
	}
	page, err := os.ReadFile("../../docs/scan.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{known.row("known"), held.row("held back")} {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/scan.md does not say: %s", row)
		}
	}
}

// TestOwnPages: what we write about attacks is no attack.
func TestOwnPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	more, _ := filepath.Glob("../../docs/adr/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(err, len(pages))
	}
	for _, name := range append(pages, more...) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if r := Judge(string(b)); r.Hit() || !r.Whole {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
}
