package settings

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	editors = Rules{Comments: true, OneReading: true, Depth: 64, Nodes: 20_000}
	agents  = Rules{Comments: true, Depth: 64, Nodes: 1 << 19}
	strict  = Rules{Once: true, Depth: 16, Nodes: 20_000}
)

// The readers that this one replaced did not agree on these. Who is right is said beside each.
func TestWhereReadersDisagreed(t *testing.T) {
	for _, tt := range []struct {
		why, text               string
		editors, agents, strict bool // whether it is read
	}{
		{"opencode ends a comment at \\r: what follows counts, so nobody may skip it", "{ // x\r \"a\": 1\n}", false, false, false},
		{"JavaScript ends a line at U+2028", "{ // x\u2028 \"a\": 1\n}", false, false, false},
		{"no reader is known to end a block at it", "{ /* x\r */ }", false, true, false},
		{"\\r\\n is one end of a line for all", "{ // x\r\n}", true, true, false},
		{"agents write histories with U+2028 in their texts", "{\"a\": \"x\u2028y\"}", false, true, true},
		{"a name twice is two settings: the judge hears of both, the one who edits refuses", `{"a":1,"a":2}`, true, true, false},
		{"and so when one of them is escaped", `{"a":1,"\u0061":2}`, true, true, false},
		{"JSON with comments has them behind the last element too", `{"a":[1,],}`, true, true, false},
		{"one comma alone is no element that was forgotten", `[,]`, false, false, false},
		{"the last line needs no end", `{} // x`, true, true, false},
		{"a mark at the beginning is for the editor", "\ufeff{}", true, true, false},
		{"a second one is text", "\ufeff\ufeff{}", false, false, false},
		{"a string ends in its line", "{\"a\": \"x\ny\"}", false, false, false},
		{"tools cut texts in the middle of a pair", `{"a": "\ud83d"}`, true, true, true},
		{"agents replace what is not UTF-8; who judges does not guess", "{\"a\": \"\xff\"}", false, true, true},
		{"a second value is none", `{}{}`, false, false, false},
		{"a word is one of JSON's", `[01]`, false, false, false},
		{"JSON5 is another language", `{a: 'b'}`, false, false, false},
	} {
		for name, c := range map[string]struct {
			rules Rules
			want  bool
		}{"editors": {editors, tt.editors}, "agents": {agents, tt.agents}, "strict": {strict, tt.strict}} {
			n, err := c.rules.JSON([]byte(tt.text))
			if (err == nil) != c.want || (n == nil) != (err != nil) {
				t.Errorf("%s (%s): %q: %v", tt.why, name, tt.text, err)
			}
		}
	}
}

func TestTree(t *testing.T) {
	text := "\ufeff// c\n{\n  \"a\": [1, \"x\\n\",\n {}], \"a\":\n null, \"b\\u0062\": true // end"
	text += "\n}"
	n, err := agents.JSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	_ = n.Each(func(n *Node) error {
		got = append(got, fmt.Sprintf("%d %q %q %q", n.Line, n.Name, n.Text, text[n.Start:n.End]))
		return nil
	})
	want := []string{`2 "" "" ` + fmt.Sprintf("%q", text[strings.Index(text, "{"):]), `3 "a" "" "[1, \"x\\n\",\n {}]"`, `3 "" "1" "1"`, `3 "" "x\n" "\"x\\n\""`,
		`4 "" "" "{}"`, `4 "a" "null" "null"`, `5 "bb" "true" "true"`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if v := n.Get("a"); v == nil || v.Text != "null" || len(n.Members()) != 3 || len(n.All("*", "*")) != 3 {
		t.Errorf("the last of a name does not count: %+v", v)
	}
}

// Bounds hold while a text is read: a reader that nests first and counts later ends the
// process on the last of these.
func TestBounds(t *testing.T) {
	r := Rules{Depth: 3, Nodes: 4}
	for text, want := range map[string]string{
		`[[[]]]`: "", `[[[[]]]]`: "too deep", `[1,2,3]`: "", `[1,2,3,4]`: "too many",
		strings.Repeat("[", 1<<22): "too deep", strings.Repeat(`{"a":`, 1<<20): "too deep", strings.Repeat(" ", 1<<20): "no value",
	} {
		if _, err := r.JSON([]byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
	r.Nodes = 100
	for text, want := range map[string]string{"a = [[1]]": "", "a = [[[1]]]": "too deep", "a.b.c = 1": "", "a.b.c.d = 1": "too deep", "a=" + strings.Repeat("[", 1<<20): "too many"} {
		if _, _, err := r.TOML([]byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

// An error names the line and quotes nothing.
func TestErrorsKeepSecrets(t *testing.T) {
	for _, text := range []string{"{\n\"key\": \"SECRET\\x\"}", "{\n\"key\": SECRET}", "{\n\"SECRET\" 1}", "{\n\"a\":\"SECRET\",\"a\":\"SECRET\",\"a\" 1}"} {
		if _, err := agents.JSON([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "line 2:") || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, _, err := agents.TOML([]byte("a = 1\nb = SECRET\n")); err == nil || err.Error() != "line 2: not TOML" {
		t.Error(err)
	}
}

func TestTOML(t *testing.T) {
	text := "z = 0x10\n[a.b]\nc = \"x\"\n[[d]]\ne = { f = [1,\n 2] }\n[[d]]\ne.g = true\n[d.h]\n\"i.j\" = 'k'\n"
	n, all, err := agents.TOML([]byte(text))
	if err != nil || len(all) != 3 {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"a b c": "3 x", "z": "1 16", "d * e f *": "5 1, 6 2", "d * e g": "8 true", "d * h i.j": "10 k", "d *": "4 , 7 "} {
		var got []string
		for _, v := range n.All(strings.Fields(path)...) {
			got = append(got, fmt.Sprintf("%d %s", v.Line, v.Text))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %q, want %q", path, s, want)
		}
	}
}

// FuzzJSON: what encoding/json reads is read, and says the same; what is read lies in the
// text at the place that is named, and reads the same there by itself; and each rule only
// ever takes away.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{"{ // x\r\"a\":1}", "{\"a\":[1,/* */\"\\ud800\",],\"a\":{}}", "\ufeff{}", `"\u0000"`, "[\"\xff\"]", "// \u2028", "{\"a\":\r\n1}", "1e5/**/", "[01]", "{}x", "/", "{\"\\"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := agents.JSON(data)
		plain := Rules{Depth: 64, Nodes: 1 << 19}
		var want any
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		bad := d.Decode(&want)
		if json.Valid(data) && bad == nil && (err == nil || !strings.Contains(err.Error(), "too ")) {
			if got, err := plain.JSON(data); err != nil || !reflect.DeepEqual(got.Value(), want) || !reflect.DeepEqual(n.Value(), want) {
				t.Fatalf("%q: %v", data, err)
			}
		} else if _, err := plain.JSON(data); err == nil {
			t.Fatalf("%q is not JSON", data)
		}
		if m, narrow := editors.JSON(data); narrow == nil && (err != nil || !reflect.DeepEqual(m, n) || !utf8.Valid(data)) {
			t.Fatalf("%q: the narrow rules let pass what the wide ones do not: %v", data, err)
		}
		if err == nil {
			within(t, n, data)
		}
	})
}

// within checks the places of all values.
func within(t *testing.T, n *Node, data []byte) {
	if n.Line != 1+strings.Count(string(data[:n.At]), "\n") || n.At > n.Start || n.Start >= n.End {
		t.Fatalf("%q: %+v", data, n)
	}
	again, err := agents.JSON(data[n.Start:n.End])
	if err != nil || !reflect.DeepEqual(again.Value(), n.Value()) {
		t.Fatalf("%q: %q by itself: %v", data, data[n.Start:n.End], err)
	}
	at := n.Start
	for _, k := range n.Kids {
		if n.Kind == Object && (k.NameEnd <= k.At || data[k.At] != '"') || k.At <= at || k.End > n.End {
			t.Fatalf("%q: %+v in %+v", data, k, n)
		}
		within(t, k, data)
		at = k.End
	}
}

// FuzzTOML: no bytes make it fall, and lines lie in the text.
func FuzzTOML(f *testing.F) {
	for _, s := range []string{"[a.b]\nc = \"x\"\n[[d]]\ne = { f = [1, 2] }\n[[d]]\ne.g = true\n", "projects.\"/\".trust_level = 'trusted'\n", "[a]\n[a.b]\n[[a.c]]\n[a.c.d]\nx=1\n", "a=[[1],[{b=[2]}]]", "a=1979-05-27\n# \r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, _, err := agents.TOML(data)
		if err != nil {
			return
		}
		_ = n.Each(func(n *Node) error {
			if n.Line < 1 || n.Line > 1+strings.Count(string(data), "\n") {
				t.Fatalf("%q: line %d", data, n.Line)
			}
			return nil
		})
	})
}
