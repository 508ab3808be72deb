package scan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/file"
)

// hit is a finding before it is known whose.
type hit struct {
	kind  kind
	line  int
	what  string // for people, quoted
	seed  string // what exactly was found, for the digest
	runs  string // the text of a command, if it is one
	value *node  // the same, if it is more than text
	full  string // all of it, where what does not say it
}

// judged is what became of a file.
type judged struct {
	hits    []hit
	neutral []byte
	mended  bool
	// unlogged is the file without the credentials in it, whoever trusts the rest; nil if
	// there are none.
	unlogged []byte
}

// judge looks into one file.
func (r *rule) judge(data []byte) judged {
	switch r.Form {
	case asJSON:
		n, err := parseJSON(data)
		return r.settings(data, n, err)
	case asTOML:
		n, all, err := parseTOML(data)
		out := r.settings(data, n, err)
		if err == nil && out.mended {
			if out.neutral, err = renderTOML(all, n); err != nil {
				out.neutral = nil
			}
		} else {
			out.neutral = nil
		}
		return out
	case asYAML:
		return r.blocks(data)
	case asLines:
		return r.lines(data)
	case asFront:
		return r.front(data)
	case asCode:
		return r.whole(data)
	case asWorkflow:
		return workflow(data)
	}
	return judged{}
}

// settings judges a tree. One that is not understood is left out.
func (r *rule) settings(data []byte, n *node, err error) judged {
	if err != nil {
		h := unclear(err)
		h.full = string(data) // whoever trusts it has seen it
		return judged{hits: []hit{h}, neutral: []byte("{}\n"), mended: true}
	}
	f := finder{rule: r}
	f.table(n, nil)
	if len(f.hits) == 0 && r.Early && r.writes(string(data)) {
		f.hits = []hit{{kind: kWritten, what: "in a comment", seed: string(data), full: string(data)}}
	}
	if len(f.hits) == 0 {
		return judged{}
	}
	return judged{hits: f.hits, neutral: renderJSON(n), mended: true}
}

func unclear(err error) hit {
	what := "not understood: " + quote(err.Error())
	return hit{kind: kUnclear, what: what, seed: what}
}

// finder goes over a tree and takes out what it finds.
type finder struct {
	rule *rule
	hits []hit
}

func (f *finder) table(n *node, above []string) {
	twice := f.twice(n)
	n.Kids = slices.DeleteFunc(n.Kids, func(m *node) bool {
		if n.Kind != '{' {
			return f.value(m.Line, m, append(above[:len(above):len(above)], "[]"))
		}
		at := append(above[:len(above):len(above)], m.Name)
		if f.value(m.Line, m, at) {
			return true
		}
		if twice[m.Name] {
			f.hits = append(f.hits, hitOf(kTwice, at, m.Line, m))
		}
		return twice[m.Name]
	})
}

// twice are the names that a table has more than once: one reader takes the first,
// another the last. Where nothing is passed on each is judged, and that is enough.
func (f *finder) twice(n *node) map[string]bool {
	if f.rule.Shown {
		return nil
	}
	out, seen := map[string]bool{}, map[string]bool{}
	for _, m := range n.Members() {
		out[m.Name], seen[m.Name] = seen[m.Name], true
	}
	return out
}

// value reports whether a value goes as a whole.
func (f *finder) value(line int, v *node, at []string) bool {
	for _, k := range f.rule.Find {
		if matches(strings.Split(strings.ToLower(k.Path), "."), at) && (k.Test == nil || k.Test(lastName(at), v)) {
			f.hits = append(f.hits, hitOf(kindOf(k.Finding), at, line, v))
			return true
		}
	}
	if r := f.rule; v.Kind == '"' && r.writes(v.Text) || r.Early && r.writes(at[len(at)-1]) {
		f.hits = append(f.hits, hitOf(kWritten, at, line, v))
		return true
	}
	if f.rule.allowed != nil {
		switch f.rule.stands(at, v) {
		case harmless:
			return false
		case strange:
			f.hits = append(f.hits, hitOf(kUnknown, at, line, v))
			return true
		}
	}
	f.table(v, at)
	return false
}

func lastName(at []string) string {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i] != "[]" {
			return at[i]
		}
	}
	return ""
}

// matches compares the names of a pattern with those of a value. A name may have
// dots of its own, which count as they do for editors, or not.
func matches(pattern, at []string) bool {
	joined := strings.ToLower(strings.Join(at, "\x00"))
	names := strings.Split(joined, "\x00")
	return matchNames(pattern, names) || strings.Contains(joined, ".") && matchNames(pattern, strings.Split(strings.ReplaceAll(joined, "\x00", "."), "."))
}

// matchNames: a last "**" is one name at least. What is taken out stands below the name
// before it.
func matchNames(pattern, names []string) bool {
	if n := len(pattern); n > 0 && len(names) > 0 && pattern[n-1] == "**" {
		names = names[:len(names)-1]
	} else if n > 0 && pattern[n-1] == "**" {
		return false
	}
	return file.Names(pattern, names, file.Star[string])
}

func hitOf(k kind, at []string, line int, v *node) hit {
	name := strings.ReplaceAll(strings.Join(at, "."), ".[]", "")
	h := hit{kind: k, line: line, runs: texts(v), value: v}
	all := string(renderJSON(v))
	h.seed = name + "\x00" + all
	shown := brief(v)
	h.what = quote(name)
	if shown != "" {
		h.what += " is " + quote(shown)
	}
	if n := programs(v); n > 1 {
		h.what += ", and " + itoa(n-1) + " more"
	}
	if h.full = shown; v.Kind != 0 && v.Kind != '"' {
		var b bytes.Buffer
		if h.full = all; json.Compact(&b, []byte(all)) == nil {
			h.full = b.String()
		}
	}
	return h
}

// brief is a value in a few words: itself, or the first command in it.
func brief(v *node) string {
	switch v.Kind {
	case 0, '"':
		return v.Text
	}
	for _, m := range v.Members() {
		if name := strings.ToLower(m.Name); (name == "command" || name == "url" || name == "httpurl" || name == "base_url") && len(m.Members()) == 0 {
			return strings.TrimSpace(texts(m) + " " + texts(v.Get("args")))
		}
	}
	for _, c := range v.Kids {
		if s := brief(c); s != "" {
			return s
		}
	}
	return ""
}

// programs counts what a value runs or leads to, with the variables that it sets.
func programs(v *node) int {
	n := 0
	for _, m := range v.Kids {
		switch strings.ToLower(m.Name) {
		case "command", "url", "httpurl", "base_url":
			n++
		case "env", "headers":
			n += len(m.Members())
		default:
			n += programs(m)
		}
	}
	return n
}

// texts is every word of a value, for what it names in the tree.
func texts(v *node) string {
	if v == nil {
		return ""
	}
	var words []string
	v.Each(func(v *node) error {
		if v.Kind == '"' {
			words = append(words, v.Text)
		}
		return nil
	})
	return strings.Join(words, " ")
}

// quote shows text of the repository: on one line, not at any length.
func quote(s string) string {
	const most = 120
	if len(s) > most {
		s = s[:most]
		for !utf8.ValidString(s) && len(s) > most-4 {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return strconv.QuoteToGraphic(s)
}

// maxFull bounds what is shown of one finding. What is longer cannot be trusted.
const maxFull = 64 << 10

// shownIn is the full text of a hit for a person, "" if what says all of it.
func (h *hit) shownIn() string {
	full := strings.TrimSpace(h.full)
	if full == "" || strings.Contains(h.what, strconv.QuoteToGraphic(full)) {
		return ""
	}
	cut := len(full) > maxFull
	if cut {
		full = full[:maxFull]
	}
	var b strings.Builder
	for _, r := range full {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case strconv.IsGraphic(r) && r != utf8.RuneError:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	if cut {
		b.WriteString("… and more, so it cannot be trusted")
	}
	return b.String()
}

// whole takes a program for what it is.
func (r *rule) whole(data []byte) judged {
	text := strings.TrimSpace(string(data))
	if text == "" || r.Code == kStartup.id && !strings.Contains(text, "<configuration") || r.Code == kDirenv.id && harmlessEnvrc(text) {
		return judged{}
	}
	first, line := firstLine(string(data))
	neutral := []byte("// Taken out by ringfence: nobody has trusted it yet.\n")
	if r.Code == kAllow.id || r.Code == kPrompt.id { // of another language
		neutral = []byte{}
	}
	h := hit{kind: kindOf(r.Code), line: line, what: "begins with " + quote(first), seed: string(data)}
	if r.Above > 0 {
		h.value = plugged(data)
	}
	return judged{hits: []hit{h}, mended: true, neutral: neutral}
}

// plugged is what a file of a plugin runs: its files are trusted with it, and a script
// elsewhere in the tree must be as well. In one that is not understood it may be any.
func plugged(data []byte) *node {
	n, err := parseJSON(data)
	if err != nil {
		return &node{Kind: '"', Text: "$ANY"}
	}
	n.Kids = slices.DeleteFunc(n.Kids, func(m *node) bool { return slices.Contains(imprint, m.Name) })
	return n
}

// imprint is what a manifest says of itself.
var imprint = []string{"name", "version", "description", "author", "homepage", "repository", "license", "keywords", "$schema", "displayName"}

func firstLine(text string) (string, int) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") {
			return line, n
		}
	}
	return "", 1
}

// harmlessEnvrc: it only says which directory of tools is used.
func harmlessEnvrc(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !slices.Contains([]string{"use flake", "use nix", "use asdf", "use mise", "layout go", "layout node", "layout python3"}, line) {
			return false
		}
	}
	return true
}
