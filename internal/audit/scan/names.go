package scan

import (
	"bytes"
	"errors"
	"path"
	"slices"
)

// name is one by which a file is reached.
type name struct {
	rel    string
	rule   *rule
	counts bool // something reads it by this name where an agent starts
}

// text is a file that was read, with every name that it has: by links there may be
// several, each with its own reader, and what stands for it has to be harmless for
// all of them.
type text struct {
	real  string
	data  []byte
	names []name
	hits  [][]hit // of each name
}

// content judges a file by one of its names.
func (s *scan) content(n name, real string, data []byte) {
	t := s.texts[real]
	if t == nil {
		t = &text{real: real, data: data}
		s.texts[real] = t
		s.order = append(s.order, t)
	}
	t.names, t.hits = append(t.names, n), append(t.hits, s.judge(n, data).hits)
}

// judge looks into bytes as who reads them by this name does.
func (s *scan) judge(n name, data []byte) judged {
	r := n.rule
	var out judged
	switch {
	case r == nil:
	case r.Form == asGit && path.Base(n.rel) == ".gitmodules":
		out = judged{hits: modules(s.names, n.rel, data)}
	case r.Form == asGit:
		out = gitConfig(s.names, data, r.bare)
	default:
		out = r.judge(data)
	}
	if s.names.Instructions(n.rel) && (r == nil || r.Form == asFront) {
		text := data
		if out.mended {
			text = out.neutral
		}
		if more := instructions(text, s.secret); len(more.hits) > 0 {
			out = judged{hits: append(out.hits, more.hits...), neutral: more.neutral, mended: true}
		}
	}
	return out
}

// finish writes down what was found in every file, and makes what stands for it.
func (s *scan) finish() {
	for _, t := range s.order {
		if slices.ContainsFunc(t.hits, func(h []hit) bool { return len(h) > 0 }) {
			s.write(t)
		}
	}
}

func (s *scan) write(t *text) {
	f := File{Path: t.real, Content: t.data}
	var sums []digested
	for i, n := range t.names {
		if len(t.hits[i]) == 0 {
			continue
		}
		d := s.digest(t.real, n.rule, t.data, t.hits[i])
		sums = append(sums, d)
		for _, c := range d.files {
			f.With = append(f.With, c.rel)
		}
		f.WithAll = f.WithAll || d.all != ""
		f.Danger = f.Danger || n.counts && slices.ContainsFunc(t.hits[i], func(h hit) bool { return n.level(h) == Danger })
	}
	f.Digest = oneDigest(sums)
	if f.Danger {
		f.Neutral, f.Mended = s.neutral(t)
	}
	f.Unlogged = s.unlogged(t)
	for i, n := range t.names {
		s.tell(n, t, t.hits[i], f.Mended && n.counts)
	}
	if !slices.ContainsFunc(s.report.Files, func(o File) bool { return o.Path == t.real }) { // else it is left out
		s.report.Files = append(s.report.Files, f)
	}
}

// unlogged is a file without the credentials that one of its names finds in it.
func (s *scan) unlogged(t *text) []byte {
	for i, n := range t.names {
		if slices.ContainsFunc(t.hits[i], func(h hit) bool { return h.kind.id == kLogin.id }) {
			return s.judge(n, t.data).unlogged
		}
	}
	return nil
}

// level is how much a hit asks of a person under this name.
func (n name) level(h hit) Level {
	if h.kind.id == kUnclear.id && n.rule != nil && n.rule.Shown && n.rule.Form != asJSON {
		return Note // who obeys it does not understand it either; of JSON editors read on behind a mistake
	}
	return h.kind.level
}

// neutral makes what stands for a file: by each of its names in turn, until none of
// them finds anything. Where that has no end, or one reader cannot read what another
// one wrote, nothing is left.
func (s *scan) neutral(t *text) ([]byte, bool) {
	names := slices.DeleteFunc(slices.Clone(t.names), func(n name) bool { return !n.counts || n.rule != nil && n.rule.Shown })
	const rounds = 3
	now, last := t.data, (*rule)(nil)
	for range rounds {
		clean := true
		for _, n := range names {
			out := s.judge(n, now)
			if !slices.ContainsFunc(out.hits, func(h hit) bool { return h.kind.level == Danger }) {
				continue
			}
			if clean = false; !out.mended {
				return emptied(names, len(t.data)), true
			}
			now, last = out.neutral, n.rule
		}
		if clean || len(names) == 1 {
			break
		}
	}
	if bytes.Equal(now, t.data) {
		return nil, false
	}
	now = fit(last, now, len(t.data))
	if len(names) > 1 && slices.ContainsFunc(names, func(n name) bool { return s.finds(n, now) }) {
		return emptied(names, len(t.data)), true
	}
	return now, true
}

// finds reports whether something dangerous is in bytes by this name.
func (s *scan) finds(n name, data []byte) bool {
	return slices.ContainsFunc(s.judge(n, data).hits, func(h hit) bool { return h.kind.level == Danger })
}

// emptied is a file without anything in it, of some size.
func emptied(names []name, size int) []byte {
	if slices.ContainsFunc(names, func(n name) bool { return n.rule == nil || n.rule.Form != asJSON }) {
		return fit(nil, []byte{}, size)
	}
	return fit(nil, []byte("{}\n"), size)
}

// maxHits bounds what can be trusted of one file: a person is shown all of it.
const maxHits = 1000

// tell adds the findings of a file by one name.
func (s *scan) tell(n name, t *text, hits []hit, cured bool) {
	most := s.budget.Told
	if most == 0 || most > maxHits {
		most = maxHits
	} else if len(s.report.Findings) >= maxFindings {
		most = 1
	}
	for i, h := range hits {
		if i == most {
			h = hit{kind: h.kind, what: "and " + itoa(len(hits)-most) + " more"}
		}
		f := s.add(n.rel, t.real, n.rule, h)
		f.Level, f.Cured = n.level(h), cured
		if !n.counts {
			f.Level, f.When = Note, f.When+", if it is started there"
		}
		if i == most {
			return
		}
	}
}

// unread is for what cannot be looked into: it is left out, where something inside
// would obey it.
func (s *scan) unread(rel, real string, r *rule, counts bool, err error) {
	if errors.Is(err, errNoFile) && r == nil || !counts {
		s.report.Complete = false
		return
	}
	h := unclear(err)
	h.what = "not looked into: " + err.Error()
	f := s.add(rel, real, r, h)
	f.Cured = r == nil || !r.Shown
	cured, neutral := f.Cured, emptyOf(r)
	if i := slices.IndexFunc(s.report.Files, func(o File) bool { return o.Path == real }); i >= 0 {
		s.report.Files[i].Mended, s.report.Files[i].Neutral = s.report.Files[i].Mended || cured, []byte{}
		return
	}
	s.report.Files = append(s.report.Files, File{Path: real, Danger: true, Mended: cured, Neutral: neutral})
}

// emptyOf is a file of a rule without anything in it.
func emptyOf(r *rule) []byte {
	if r != nil && r.Form == asJSON {
		return []byte("{}\n")
	}
	return []byte{}
}

// away is for a link that leads out of the tree: what is there is not looked at, and
// is trusted as long as the link is the same. No agent starts with one that is not,
// because nothing can stand in the place of a link. What it leads to through /proc
// or /dev is another file for everybody who follows it, and is never trusted.
func (s *scan) away(rel string, r *rule, counts bool, err error) {
	if s.done[rel] {
		return
	}
	s.done[rel] = true
	to := awayTo(err)
	if slices.ContainsFunc(s.budget.Git, func(dir string) bool { return within(to, dir) }) {
		return // the repository's own git directory, of which .git is a link: looked at by its path
	}
	h := hit{kind: kAway, what: "a link that leads out of the tree", seed: s.tree.links(rel)}
	if to != "" {
		h.what += ", to " + quote(to)
	}
	found := s.add(rel, rel, r, h)
	f := File{Path: rel, Danger: true, Digest: s.digest(rel, nil, nil, []hit{h}).sum, Stops: h.what}
	switch {
	case !counts:
		found.Level, f.Danger, f.Stops = Note, false, ""
	case r != nil && r.Shown:
		f.Stops = ""
	case within(to, "/proc") || within(to, "/dev") || within(to, "/sys"):
		f.Digest = ""
	}
	s.report.Files = append(s.report.Files, f)
}

func (s *scan) add(rel, real string, r *rule, h hit) *Finding {
	v := s.names.Judge(rel, false)
	f := Finding{real: real, ID: h.kind.id, Level: h.kind.level, Path: rel, Line: h.line, Who: v.Who, When: v.When, What: h.what, Full: h.shownIn(), Gets: h.kind.gets}
	if r != nil && r.who != "" {
		f.Who, f.When = r.who, r.when
	}
	s.report.Findings = append(s.report.Findings, f)
	return &s.report.Findings[len(s.report.Findings)-1]
}
