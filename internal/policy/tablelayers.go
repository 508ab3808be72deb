package policy

import (
	"slices"
	"strings"
)

// defines holds for a table that says more than whether it is off.
func (s *tables[T]) defines(t *T) bool {
	return slices.ContainsFunc(s.keysOf(t), func(k *key) bool { return k.name != "off" && k.written() })
}

// written holds for a key of a table that has a value.
func (k *key) written() bool {
	switch {
	case k.list != nil:
		return *k.list(nil) != nil
	case k.word != nil:
		return *k.word(nil) != nil
	default:
		return *k.flag(nil) != nil
	}
}

// text is the value of a key of a table, and where it was written.
func (k *key) text() (string, Source) {
	switch {
	case !k.written():
	case k.list != nil:
		var out []string
		var src Source
		for i, r := range *k.list(nil) {
			if out = append(out, r.Value); i == 0 {
				src = r.Source
			}
		}
		return strings.Join(out, " "), src
	case k.word != nil:
		w := *k.word(nil)
		return w.Value, w.Source
	default:
		f := *k.flag(nil)
		return map[bool]string{true: "true", false: "false"}[f.Value], f.Source
	}
	return "", Source{}
}

// equal reports whether a key of two tables says the same.
func (k *key) equal(o *key) bool {
	if k.written() != o.written() {
		return false
	}
	if k.list != nil {
		return slices.EqualFunc(*k.list(nil), *o.list(nil), func(a, b Rule) bool { return a.Value == b.Value })
	}
	a, _ := k.text()
	b, _ := o.text()
	return a == b
}

// merge lays over's tables upon out's. One that both define is over's as a whole: half
// of the one and half of the other would send a secret to hosts that were meant for
// another, or start a command with the secrets of another. What is off stays so unless
// over says otherwise.
func (s *tables[T]) merge(out, over *Policy) {
	all := slices.Clone(*s.all(out))
	for _, t := range *s.all(over) {
		h := s.head(&t)
		i := s.index(all, h.name)
		if i < 0 {
			all = append(all, t)
			continue
		}
		off := s.head(&all[i]).off
		if !s.defines(&t) {
			if *h.off != nil {
				*off = *h.off
			}
			continue
		}
		if *h.off == nil {
			*h.off = *off
		}
		all[i] = t
	}
	*s.all(out) = all
}

// tighten switches off what over switches off, and takes nothing else.
func (s *tables[T]) tighten(out, over *Policy) {
	more := *s.all(over)
	for i := range more {
		h := s.head(&more[i])
		if t := s.lookup(out, h.name); t != nil && h.isOff() && !s.head(t).isOff() {
			*s.head(t).off = *h.off
		}
	}
}

// widens lists what of over's tables is not base's already. To leave a key out is a
// change too: it may have been a denial.
func (s *tables[T]) widens(base, over *Policy) []Change {
	var out []Change
	more := *s.all(over)
	for i := range more {
		t := &more[i]
		h, have := s.head(t), s.lookup(base, s.head(t).name)
		fresh := have == nil
		if fresh {
			empty := s.make(h.name, Source{})
			have = &empty
		}
		add := func(k *key, removed bool) {
			text, src := k.text()
			if src == (Source{}) || removed {
				src = h.source
			}
			out = append(out, Change{Section: k.section, Key: k.name, Value: text, Removed: removed, Source: src})
		}
		if *h.off != nil && !(*h.off).Value && s.head(have).isOff() {
			add(s.keyOf(t, "off"), false)
		}
		if !s.defines(t) {
			if s.bare && fresh && *h.off == nil {
				out = append(out, Change{Section: s.section, Key: h.name, Source: h.source})
			}
			continue
		}
		was := s.keysOf(have)
		for j, is := range s.keysOf(t) {
			switch {
			case is.name == "off" || is.equal(was[j]):
			case is.written():
				add(is, false)
			default:
				add(was[j], true)
			}
		}
	}
	return out
}

// withoutNamed is a policy without secrets and MCP servers.
func (p *Policy) withoutNamed() *Policy {
	out := *p
	out.Secret, out.MCP, out.Unnamed = nil, nil, nil
	return &out
}
