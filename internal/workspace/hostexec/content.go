package hostexec

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// maxLook bounds how much of a file is looked at.
const maxLook = 1 << 20

// maxFindings bounds how much is said of one file; the last finding says that
// there is more.
const maxFindings = 256

// content says which settings of some files are executed.
type content struct {
	files []*pattern
	form  string
	hide  bool
	who   string
	keys  []keyRule
}

type keyRule struct {
	rank      Rank
	when, why string
	keys      []string
	values    []string // nil for all
}

// scanForms are those that a scan reads.
var scanForms = []string{"json", "toml", "yaml", "lines", "code", "front", "git"}

func (r *Rules) addContent(d *contentData) error {
	if d.scanned() {
		if !slices.Contains(scanForms, d.form) {
			return fmt.Errorf("form %q is none that a scan reads", d.form)
		}
		r.scans = append(r.scans, d)
		if len(d.keys) == 0 && len(d.files) > 0 {
			return nil
		}
	}
	if d.who == "" || len(d.files) == 0 || len(d.keys) == 0 {
		return errors.New("who, files and key have to be there")
	}
	if readers[d.form] == nil && d.form != "whole" && d.form != "text" {
		return fmt.Errorf("form %q is not known", d.form)
	}
	where, err := parsePlace(d.within)
	if err != nil {
		return err
	}
	c := content{form: d.form, hide: d.hide, who: d.who}
	for _, text := range d.files {
		p, err := parsePattern(text)
		if err != nil {
			return fmt.Errorf("file %q: %w", text, err)
		}
		p.place = where
		c.files = append(c.files, &p)
		ref := fileRef{len(r.contents), &p}
		if strings.Contains(p.last(), "*") {
			r.addStarred(ref)
		} else {
			r.byName[p.last()] = append(r.byName[p.last()], ref)
		}
	}
	for _, k := range d.keys {
		if k.when == "" || k.why == "" || len(k.keys) == 0 {
			return errors.New("a key without when, why or keys")
		}
		c.keys = append(c.keys, keyRule(k))
	}
	r.contents = append(r.contents, c)
	return nil
}

// Inspect says what a changed file newly makes the host execute, by its content.
// old is nil for a file that was added, new is nil for one that was deleted, of
// which there is nothing to say.
func (r *Rules) Inspect(rel string, old, new []byte) []Finding {
	if new == nil || old != nil && bytes.Equal(old, new) {
		return nil
	}
	about := r.about(rel)
	rank := r.Judge(rel, false).Rank
	if len(new) > maxLook {
		if len(about) == 0 && bytes.IndexByte(new[:8000], 0) >= 0 {
			return nil
		}
		return []Finding{{Rank: rank, Who: "unknown", When: "unknown", Why: "larger than 1 MiB: not looked into"}}
	}
	if len(old) > maxLook {
		old = nil
	}
	var out []Finding
	for _, c := range about {
		out = append(out, c.inspect(rank, old, new)...)
	}
	if !slices.ContainsFunc(about, func(c *content) bool { return c.form == "text" }) {
		out = append(out, hidden(old, new, disguise, Finding{
			Rank: max(rank, Asked), Who: "whoever reads it", When: "when it is reviewed",
			Why: "characters that make text look other than it is",
		})...)
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return int(a.Rank) - int(b.Rank) })
	return out
}

// about returns what is known of the contents of a path.
func (r *Rules) about(rel string) []*content {
	var out []*content
	var buf [512]byte
	s := scanner{rules: r, path: appendFold(buf[:0], rel), git: r.start}
	for s.next() {
		for _, f := range r.candidates(s.path[s.start:s.end]) {
			if c := &r.contents[f.content]; s.covered(f.pattern) && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
		s.step()
	}
	return out
}

// fileRef is a file of one of the contents.
type fileRef struct {
	content int
	*pattern
}

// addStarred puts a pattern where a name is looked for by its last character.
func (r *Rules) addStarred(ref fileRef) {
	last := ref.last()[len(ref.last())-1]
	if last != '*' {
		r.starred[last] = append(r.starred[last], ref)
		return
	}
	for c := range 256 {
		r.starred[c] = append(r.starred[c], ref)
	}
}

// candidates are the files of the contents, in their order, that may have a name.
func (r *Rules) candidates(name []byte) []fileRef {
	if len(name) == 0 {
		return nil
	}
	named, starred := r.byName[string(name)], r.starred[name[len(name)-1]]
	if len(named) == 0 {
		return starred
	}
	all := slices.Concat(named, starred)
	slices.SortFunc(all, func(a, b fileRef) int { return a.content - b.content })
	return all
}

// covered reports whether a file has the name at hand.
func (s *scanner) covered(p *pattern) bool {
	return (p.place != inGit || s.git >= 0) && file.Star(p.last(), s.path[s.start:s.end]) && s.fits(p)
}

func (c *content) inspect(rank Rank, old, new []byte) []Finding {
	first := Finding{Rank: c.keys[0].rank, Who: c.who, When: c.keys[0].when, Why: c.keys[0].why}
	switch c.form {
	case "whole":
		first.Line = firstChange(old, new)
		return []Finding{first}
	case "text":
		return hidden(old, new, ignorableOrControl, first)
	}
	now, err := readers[c.form](new)
	if err != nil {
		first.Rank, first.Why = min(rank, first.Rank), "not understood, read it yourself: "+strconv.Quote(short(err.Error()))
		return []Finding{first}
	}
	before, _ := readers[c.form](old)
	return c.compare(before, now)
}

// compare finds the settings that were not there before and are executed.
func (c *content) compare(before, now []setting) []Finding {
	known := make(map[setting]bool, len(before))
	for _, s := range before {
		s.line = 0
		known[s] = true
	}
	var out []Finding
	for _, s := range now {
		line := s.line
		s.line = 0
		k := c.find(s)
		if known[s] || k == nil {
			continue
		}
		known[s] = true
		if len(out) == maxFindings {
			out = append(out, Finding{Rank: k.rank, Who: c.who, When: k.when, Why: "more of the same follows: read it yourself", Line: line})
			break
		}
		out = append(out, Finding{Rank: k.rank, Who: c.who, When: k.when, Why: k.why + ": " + c.show(s), Line: line})
	}
	return out
}

func (c *content) find(s setting) *keyRule {
	for i := range c.keys {
		if k := &c.keys[i]; k.names(c, s.key) && k.takes(s.value) {
			return k
		}
	}
	return nil
}

func (k *keyRule) names(c *content, key string) bool {
	for _, pattern := range k.keys {
		switch {
		case c.form == "lines" && file.Star(pattern, key), c.form != "lines" && globKey(pattern, key):
			return true
		case c.form != "lines" && len(key) > maxKey:
			return true // nobody writes such a name without a reason
		}
	}
	return false
}

func (k *keyRule) takes(value string) bool {
	if k.values == nil {
		return true
	}
	value = fold(value)
	return slices.ContainsFunc(k.values, func(pattern string) bool { return file.Star(pattern, value) })
}

// show writes a setting for people: quoted, and not at any length.
func (c *content) show(s setting) string {
	key := s.shown
	if c.hide {
		key = nameOnly(key)
	}
	if c.form == "lines" {
		return strconv.Quote(short(key))
	}
	if c.hide {
		return strconv.Quote(short(key))
	}
	return strconv.Quote(short(key)) + " is " + strconv.Quote(short(s.value))
}

// nameOnly cuts the value off a line, whichever way it is set apart.
func nameOnly(line string) string {
	line = strings.TrimPrefix(strings.TrimPrefix(line, "- "), "export ")
	if end := strings.IndexAny(line, "= "); end >= 0 {
		line = line[:end]
	}
	return strings.TrimSuffix(line, ":")
}

func short(s string) string {
	const most = 160
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// firstChange is the first line of new that old does not have in its place.
func firstChange(old, new []byte) int {
	line := 1
	for i := range new {
		if i >= len(old) || old[i] != new[i] {
			break
		}
		if new[i] == '\n' {
			line++
		}
	}
	return line
}
