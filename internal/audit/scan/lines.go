package scan

import (
	"errors"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// lines judges a file of NAME=VALUE, or NAME VALUE, and takes out lines.
func (r *rule) lines(data []byte) judged {
	lines, err := hostexec.Lines(data)
	if err != nil {
		return judged{hits: []hit{unclear(err)}, mended: true}
	}
	var out judged
	var rest strings.Builder
	for l := range lines {
		if l.Err != nil {
			h := unclear(l.Err)
			h.line, h.seed, h.full = l.N, l.Text, l.Text
			out.hits = append(out.hits, h)
			continue
		}
		if k, ok := r.named(l.Name, l.Value); ok {
			h := hit{kind: k, line: l.N, what: quote(l.Name), seed: l.Text, runs: l.Value, full: l.Text}
			out.hits = append(out.hits, h)
			continue
		}
		rest.WriteString(l.Text)
	}
	if len(out.hits) > 0 {
		out.neutral, out.mended = []byte(rest.String()), true
	}
	return out
}

func (r *rule) named(name, value string) (kind, bool) {
	if name == "" {
		return kind{}, false
	}
	v := &node{Kind: '"', Text: strings.Trim(value, `"'`)}
	for _, k := range r.Find {
		if (k.Path == "?" && name == "?" || k.Path != "?" && matchNames([]string{strings.ToLower(k.Path)}, []string{strings.ToLower(name)})) && (k.Test == nil || k.Test(name, v)) {
			return kindOf(k.Finding), true
		}
	}
	return kind{}, false
}

// topKey is a key of the first column, written plainly.
var topKey = pattern(`^(["']?)([A-Za-z0-9_./@-]+)(["']?):(?:[ \t]+(.*))?$`)

// blocks judges YAML of the plain kind, in which every key of the first column begins
// a block, and takes out blocks. Of another kind nothing is shown.
func (r *rule) blocks(data []byte) judged {
	text := strings.TrimPrefix(string(data), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	out, rest, err := r.split(text)
	if err != nil {
		return judged{hits: []hit{unclear(err)}, neutral: []byte{}, mended: true}
	}
	if len(out) == 0 {
		return judged{}
	}
	return judged{hits: out, neutral: []byte(rest), mended: true}
}

func (r *rule) split(text string) (hits []hit, rest string, err error) {
	blocks, err := blocksOf(text)
	if err != nil {
		return nil, "", err
	}
	var kept strings.Builder
	for _, b := range blocks {
		value := strings.TrimSpace(b.value + "\n" + strings.Join(b.lines[min(1, len(b.lines)):], ""))
		k, drop := r.named(b.name, value)
		if !drop {
			kept.WriteString(strings.Join(b.lines, ""))
			continue
		}
		all := strings.Join(b.lines, "")
		h := hit{kind: k, line: b.line, what: quote(b.name), seed: all, runs: value, full: all}
		if b.value != "" {
			h.what += " is " + quote(b.value)
		}
		hits = append(hits, h)
	}
	return hits, kept.String(), nil
}

// block is a key of the first column with what belongs to it.
type block struct {
	name, value string // the value as far as it stands beside the name
	line        int
	lines       []string
}

// blocksOf takes a text apart. What stands before the first key has no name.
func blocksOf(text string) ([]block, error) {
	if strings.ContainsAny(text, "\r\x00\u0085\u2028\u2029") {
		return nil, errors.New("line ends of another kind")
	}
	out := []block{{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		plain := strings.TrimRight(line, " \t\n")
		switch {
		case plain == "" || plain[0] == '#':
		case len(out) == 1 && strings.ContainsRune(" \t-", rune(plain[0])):
			return nil, errors.New("line " + itoa(n) + ": nothing stands in the first column yet")
		case plain[0] == ' ' || plain[0] == '\t' || strings.HasPrefix(plain, "- "):
		default:
			m := topKey().FindStringSubmatch(plain)
			if m == nil || m[1] != m[3] || strings.HasPrefix(m[4], "&") || strings.HasPrefix(m[4], "*") || strings.HasPrefix(m[4], "!") {
				return nil, errors.New("line " + itoa(n) + ": not a plain key")
			}
			out = append(out, block{name: m[2], value: m[4], line: n})
		}
		last := &out[len(out)-1]
		last.lines = append(last.lines, line)
	}
	return out, nil
}

// front judges the settings at the head of a text.
func (r *rule) front(data []byte) judged {
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	if language(text) != "" {
		first, _, _ := strings.Cut(text, "\n")
		return judged{hits: []hit{{kind: kPlugin, line: 1, what: "a head in a language of its own: " + quote(first), seed: text, runs: text, full: text}}, neutral: []byte{}, mended: true}
	}
	body, ok := strings.CutPrefix(text, "---\n")
	head, tail, closed := strings.Cut(body, "\n---")
	if !ok || !closed {
		// Some readers are not so strict about where it begins and ends.
		if strings.HasPrefix(unseen(text), "---") && r.settles(text) {
			return judged{hits: []hit{unclear(errors.New("a head that does not begin or end as it should"))}, neutral: []byte{}, mended: true}
		}
		return judged{}
	}
	hits, rest, err := r.split(head + "\n")
	if err != nil {
		if !r.settles(head) {
			return judged{}
		}
		hits, rest = []hit{unclear(err)}, ""
	}
	if len(hits) == 0 {
		return judged{}
	}
	for i := range hits {
		hits[i].line++
	}
	return judged{hits: hits, neutral: []byte("---\n" + rest + "---" + tail), mended: true}
}

// language is what stands beside the dashes that begin a head. opencode reads heads with
// gray-matter, which takes it for the language of the head: one in "js" is a program, and
// runs when the file is loaded.
func language(text string) string {
	rest, ok := strings.CutPrefix(unseen(text), "---")
	if !ok || strings.HasPrefix(rest, "-") {
		return ""
	}
	if end := strings.IndexAny(rest, "\r\n"); end >= 0 {
		rest = rest[:end]
	}
	return strings.TrimFunc(rest, hostexec.Blank)
}

// unseen is a text without what some readers take off its beginning.
func unseen(text string) string { return strings.TrimLeftFunc(text, hostexec.Blank) }

// settles: a text may have one of the settings in it.
func (r *rule) settles(text string) bool {
	low := strings.ToLower(text)
	for _, word := range []string{"hook", "mcp", "permission", "allowed", "\\"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return slices.ContainsFunc(r.Find, func(k hostexec.ScannedKey) bool { return strings.Contains(low, strings.ToLower(k.Path)) })
}
