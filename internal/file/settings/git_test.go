package settings

import (
	"slices"
	"strings"
	"testing"
)

func TestParseGitRefuses(t *testing.T) {
	for _, text := range []string{"[a]\nb=\x00\n", "[]\nk = v\n", "k = v\n", "[.a]\nb=1\n", "[a]\n" + strings.Repeat("b\n", MaxGitEntries+1)} {
		if entries, err := ParseGit([]byte(text)); err == nil || entries != nil {
			t.Errorf("%.20q passes", text)
		}
	}
}

func TestParseGitSaysWhere(t *testing.T) {
	entries, err := ParseGitPart([]byte("[a]\nb = 1\n c = \\\n x\n[a \"S.s\"] d\n[c\n[e]\nf = 1\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "line 6: ") {
		t.Errorf("%v", err)
	}
	want := []GitEntry{{"a.b", "1", false, 2}, {"a.c", "x", false, 3}, {"a.S.s.d", "", true, 5}}
	if !slices.Equal(entries, want) {
		t.Errorf("%+v", entries)
	}
	d := want[2]
	if sub, ok := d.Sub(); d.Section() != "a" || d.Name() != "d" || sub != "S.s" || !ok || !d.IsTrue() || d.IsFalse() {
		t.Errorf("%+v is taken apart otherwise", d)
	}
}

// FuzzGit: what is read can be written plainly and is read the same again.
func FuzzGit(f *testing.F) {
	for _, s := range []string{"[a \"b\"]\nc = \"d\\\ne\"\n", "[a]b", "[a]\nb = x ; y\n", "[user]\nname = x\n", "[a \"b\"]\nk", "[a]\nk = \"a\\\"b\\\\\" ; c\n", "[a]\r\nk=\\\r\nv", "\ufeff[a]k", "[[", "[a]\nk=\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := ParseGit(b)
		if err != nil {
			return
		}
		var text strings.Builder
		for _, e := range entries {
			WriteGit(&text, e)
		}
		again, err := ParseGit([]byte(text.String()))
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%q -> %q: %v", b, text.String(), err)
		}
		for i := range again {
			if !again[i].Same(entries[i]) {
				t.Fatalf("%+v, again %+v", entries[i], again[i])
			}
		}
	})
}
