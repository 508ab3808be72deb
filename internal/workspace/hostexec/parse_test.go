package hostexec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// TestEveryPatternCounts: no pattern is shadowed by another, and none is there twice.
func TestEveryPatternCounts(t *testing.T) {
	r := builtinRules(t)
	seen := map[Row]bool{}
	for _, row := range r.Table() {
		key := Row{Pattern: fold(row.Pattern), Git: row.Git, Links: row.Links}
		if seen[key] {
			t.Errorf("%q is there twice", row.Pattern)
		}
		seen[key] = true
		rel := strings.ReplaceAll(strings.Trim(row.Pattern, "/"), "*", "zz")
		if row.Git {
			rel = ".git/" + rel
		}
		v := r.JudgeLink(rel)
		if !row.Links {
			v = r.Judge(rel, false)
		}
		if v.Rank != row.Rank || v.Hold != row.Hold || v.Who != row.Who {
			t.Errorf("%q: %q is judged %+v", row.Pattern, rel, v)
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d patterns", len(seen))
	}
}

// TestContentsAreRanked: whatever is looked into is ranked by its path as well.
func TestContentsAreRanked(t *testing.T) {
	r := builtinRules(t)
	for _, c := range r.contents {
		for _, p := range c.files {
			rel := strings.ReplaceAll(strings.Trim(p.text, "/"), "*", "zz")
			if p.whole {
				rel += "/x"
			}
			if p.place == inGit {
				rel = ".git/" + rel
			}
			if !slices.ContainsFunc(r.about(rel), func(o *content) bool { return o.form == c.form && o.who == c.who }) {
				t.Errorf("%q is not found at %q", p.text, rel)
			}
			if v := r.Judge(rel, false); v.Rank == Source && !strings.HasPrefix(rel, "go.") {
				t.Errorf("%q is looked into and is source", rel)
			}
		}
	}
	forms := map[string]string{}
	for _, c := range r.scans {
		for _, f := range c.files {
			if was := forms[f]; was != "" && was != c.form {
				t.Errorf("%q is scanned as %s and as %s", f, was, c.form)
			}
			forms[f] = c.form
		}
	}
	for _, s := range r.Scanned() {
		for _, f := range s.Files {
			v := r.Judge(strings.NewReplacer("**/", "", "*", "x").Replace(f), false)
			if v.Rank == Source || (s.Form == "json" || s.Form == "toml") && !v.Hold {
				t.Errorf("%q is scanned, and is %v, held: %v", f, v.Rank, v.Hold)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good := "[[rule]]\nrank = \"asked\"\nwho = \"a\"\nwhen = \"b\"\nwhy = \"c\"\npaths = [\"x\"]\n"
	if _, err := parse("t.toml", []byte(good)); err != nil {
		t.Fatal(err)
	}
	key := "[[content.key]]\nrank = \"asked\"\nwhen = \"b\"\nwhy = \"c\"\nkeys = [\"x\"]\n"
	scan := "[[content]]\nform = \"json\"\nfiles = [\"x\"]\n"
	for text, want := range map[string]string{
		scan: "have to be there",
		scan + "[content.find]\n\"SC-001 if odd\" = [\"x\"]\n":      `t.toml:5: unknown key "content.find.SC-001 if odd"`,
		scan + "[content.pass]\n\"odd\" = [\"x\"]\n":                `t.toml:5: unknown key "content.pass.odd"`,
		scan + "[content.lets]\n":                                   `t.toml:4: unknown table "content.lets"`,
		scan + "above = \"x\"\n":                                    `t.toml:4: key "content.above"`,
		"[content.find]\n":                                          `t.toml:1: unknown table "content.find"`,
		strings.Replace(scan, "json", "xml", 1) + "shown = true\n":  `form "xml"`,
		good + "colour = 1\n":                                       `t.toml:7: unknown key "rule.colour"`,
		strings.Replace(good, "asked", "maybe", 1):                  `t.toml:2`,
		strings.Replace(good, `["x"]`, `"x"`, 1):                    `t.toml:6`,
		strings.Replace(good, `["x"]`, `[]`, 1):                     "have to be there",
		strings.Replace(good, `"x"`, `"a//b"`, 1):                   "not a clean path",
		strings.Replace(good, `"x"`, `"../b"`, 1):                   "not a clean path",
		strings.Replace(good, `"x"`, `""`, 1):                       "not a clean path",
		good + "hold = true\n":                                      "only what runs unasked",
		good + "within = \"hg\"\n":                                  "within",
		good + "[git]\n":                                            `t.toml:7: unknown table "git"`,
		"[rule]\n":                                                  `t.toml:1: unknown table "rule"`,
		"x = 1\n":                                                   `t.toml:1: unknown key ".x"`,
		strings.Replace(good, `"a"`, `1`, 1):                        `t.toml:3: key "rule.who"`,
		strings.Replace(good, `"x"`, `1`, 1):                        `t.toml:6: key "rule.paths"`,
		key:                                                         "unknown table",
		good + "who = \"twice\"\n":                                  "t.toml:7",
		"[[content]]\nform = \"x\"\n":                               "have to be there",
		"[[content]]\nform=\"x\"\nwho=\"a\"\nfiles=[\"b\"]\n" + key: `form "x"`,
		"[": "t.toml:1",
	} {
		if _, err := parse("t.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
}

// TestDataIsTOML: the full decoder of go-toml takes the data too.
func TestDataIsTOML(t *testing.T) {
	var all struct {
		Git     map[string][]string
		Env     map[string][]string
		Rule    []map[string]any
		Content []map[string]any
	}
	if err := toml.NewDecoder(bytes.NewReader(embedded)).DisallowUnknownFields().Decode(&all); err != nil {
		t.Fatal(err)
	}
	d, err := decode("hostexec.toml", embedded)
	if err != nil || len(all.Git) != 1 || len(all.Env) != 2 || len(all.Rule) != len(d.rules) || len(all.Content) != len(d.contents) {
		t.Errorf("%d rules, %d contents, %v", len(all.Rule), len(all.Content), err)
	}
}

func TestRankText(t *testing.T) {
	b, err := json.Marshal(map[string]Rank{"a": Unasked, "b": Asked, "c": Secret, "d": Source})
	if err != nil || string(b) != `{"a":"unasked","b":"asked","c":"secret","d":"source"}` {
		t.Error(string(b), err)
	}
	var r Rank
	if err := json.Unmarshal([]byte(`"secret"`), &r); err != nil || r != Secret {
		t.Error(r, err)
	}
	if json.Unmarshal([]byte(`"later"`), &r) == nil {
		t.Error("later is a rank")
	}
	if _, err := Rank(7).MarshalText(); err == nil {
		t.Error("7 has a text")
	}
}
