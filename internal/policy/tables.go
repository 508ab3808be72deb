package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// namedSection is a section of tables that have names: [secret.NAME], [mcp.NAME].
type namedSection interface {
	title() string
	knows(key string) bool
	header(d *decoder, parts []part) error
	assign(d *decoder, parts []part, v *unstable.Node) error
	print(pr *printer, p *Policy)
	schema() map[string]any
	merge(out, over *Policy)
	tighten(out, over *Policy)
	widens(base, over *Policy) []Change
}

// allNamed lists these sections, in the order in which they are printed.
var allNamed = []namedSection{secretTables, serverTables}

// findNamed returns the section of that name, or nil.
func findNamed(section string) namedSection {
	for _, n := range allNamed {
		if n.title() == section {
			return n
		}
	}
	return nil
}

// tables is such a section, each of whose tables is a T.
type tables[T any] struct {
	section   string
	one, many string // what a table is called, and how many are bounded
	most      int
	about     string // for the schema
	pattern   string // of names, for the schema
	keys      []tableKey[T]
	checkName func(string) error
	all       func(*Policy) *[]T
	head      func(*T) head
	make      func(name string, src Source) T
	// refuse says why a key cannot be written, by a project's file or at all.
	refuse func(name, key string, project bool) (reason, hint string)
	// bare: an empty table is one more that can be used.
	bare bool
}

// head is what every table has.
type head struct {
	name   string
	source Source
	off    **Flag
}

func (h head) isOff() bool { return *h.off != nil && (*h.off).Value }

// tableKey is one key of a table.
type tableKey[T any] struct {
	key
	listOf func(*T) *List
	wordOf func(*T) **Rule
	flagOf func(*T) **Flag
}

// in returns the key of one table. It looks at no policy.
func (k *tableKey[T]) in(section, name string, t *T) *key {
	out := k.key
	out.section = section + "." + name
	switch {
	case k.listOf != nil:
		out.list = func(*Policy) *List { return k.listOf(t) }
	case k.wordOf != nil:
		out.word = func(*Policy) **Rule { return k.wordOf(t) }
	default:
		out.flag = func(*Policy) **Flag { return k.flagOf(t) }
	}
	return &out
}

func (s *tables[T]) title() string { return s.section }

func (s *tables[T]) knows(key string) bool { return s.find(key) >= 0 }

func (s *tables[T]) find(key string) int {
	return slices.IndexFunc(s.keys, func(k tableKey[T]) bool { return k.name == key })
}

// keyOf returns a key of a table by its name, which is known.
func (s *tables[T]) keyOf(t *T, key string) *key {
	return s.keys[s.find(key)].in(s.section, s.head(t).name, t)
}

// keysOf returns all keys of a table.
func (s *tables[T]) keysOf(t *T) []*key {
	out, name := make([]*key, len(s.keys)), s.head(t).name
	for i := range s.keys {
		out[i] = s.keys[i].in(s.section, name, t)
	}
	return out
}

func (s *tables[T]) index(all []T, name string) int {
	return slices.IndexFunc(all, func(t T) bool { return s.head(&t).name == name })
}

// lookup returns the table of that name, or nil.
func (s *tables[T]) lookup(p *Policy, name string) *T {
	all := *s.all(p)
	if i := s.index(all, name); i >= 0 {
		return &all[i]
	}
	return nil
}

// header handles [section] and [section.NAME].
func (s *tables[T]) header(d *decoder, parts []part) error {
	if err := d.once("table", parts); err != nil {
		return err
	}
	switch len(parts) {
	case 1:
		return nil
	case 2:
		_, err := s.table(d, parts[1])
		return err
	}
	return d.fail(parts[2].at, "", "there are no tables beneath [%s.%s]", s.section, printable(parts[1].name))
}

// assign gives the value v to what parts spell.
func (s *tables[T]) assign(d *decoder, parts []part, v *unstable.Node) error {
	if err := d.once("key", parts); err != nil {
		return err
	}
	last := parts[len(parts)-1]
	if len(parts) < 3 {
		if v.Kind != unstable.InlineTable {
			return d.fail(d.place(v, last), fmt.Sprintf("%s is a table of its own: [%s.NAME]", s.one, s.section),
				"%q is a table, not %s", last.name, kindName(v.Kind))
		}
		if len(parts) == 2 {
			if _, err := s.table(d, last); err != nil {
				return err
			}
		}
		return d.inline(parts, v)
	}
	t, err := s.table(d, parts[1])
	if err != nil {
		return err
	}
	k, err := s.key(d, t, parts[2])
	if err != nil {
		return err
	}
	if len(parts) > 3 {
		return d.fail(parts[3].at, "", "%s is %s, not a table", k, k.form)
	}
	return d.value(k, last, v)
}

// table returns the table of that name, a new one at first.
func (s *tables[T]) table(d *decoder, name part) (*T, error) {
	if err := s.checkName(name.name); err != nil {
		return nil, d.fail(name.at, "", "[%s]: %v", s.section, err)
	}
	if t := s.lookup(d.policy, name.name); t != nil {
		return t, nil
	}
	all := s.all(d.policy)
	if len(*all) == s.most {
		return nil, d.fail(name.at, "", "a policy has at most %d %s", s.most, s.many)
	}
	*all = append(*all, s.make(name.name, d.source(name.at)))
	return &(*all)[len(*all)-1], nil
}

func (s *tables[T]) key(d *decoder, t *T, name part) (*key, error) {
	own := s.head(t).name
	if !s.knows(name.name) {
		known := make([]string, len(s.keys))
		for i := range s.keys {
			known[i] = s.keys[i].name
		}
		hint := suggest(name.name, known)
		if hint == "" {
			hint = fmt.Sprintf("[%s.NAME] knows: %s", s.section, strings.Join(known, ", "))
		}
		return nil, d.fail(name.at, hint, "unknown key %q in [%s.%s]", name.name, s.section, own)
	}
	if reason, hint := s.refuse(own, name.name, d.project); name.name != "off" && reason != "" {
		return nil, d.fail(name.at, hint, "%s", reason)
	}
	return s.keyOf(t, name.name), nil
}

func (s *tables[T]) print(pr *printer, p *Policy) {
	all := *s.all(p)
	for i := range all {
		h := s.head(&all[i])
		if len(pr.lines) > 0 {
			pr.add("", "")
		}
		if s.checkName(h.name) != nil { // cannot come from Decode
			pr.add(fmt.Sprintf("# %q", h.name), h.source.String())
			continue
		}
		pr.add("["+s.section+"."+h.name+"]", h.source.String())
		for _, k := range s.keysOf(&all[i]) {
			pr.key(k, nil)
		}
	}
}

func (s *tables[T]) schema() map[string]any {
	of := map[string]any{}
	for i := range s.keys {
		of[s.keys[i].name] = s.keys[i].schema()
	}
	return map[string]any{"type": "object", "additionalProperties": object(of),
		"propertyNames": map[string]any{"pattern": s.pattern}, "description": s.about}
}
