package policy

import (
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// assign gives the value v to the key that parts spell.
func (d *decoder) assign(parts []part, v *unstable.Node) error {
	if n := findNamed(parts[0].name); n != nil && !plainKey(parts, v) {
		return n.assign(d, parts, v)
	}
	if err := d.known(parts); err != nil {
		return err
	}
	if err := d.once("key", parts); err != nil {
		return err
	}
	last := parts[len(parts)-1]
	if len(parts) == 1 {
		if v.Kind != unstable.InlineTable {
			return d.fail(d.place(v, last), "", "[%s] is a section, not %s", last.name, kindName(v.Kind))
		}
		return d.inline(parts, v)
	}
	k := findKey(parts[0].name, parts[1].name)
	if k.table != nil {
		return d.setting(k, parts, v)
	}
	if k.section == serverSection && d.project && string(v.Data) != UnnamedNone {
		return d.fail(d.place(v, last), "write it in your own policy", "a project's file brings no MCP server of yours: it can only write %q", UnnamedNone)
	}
	if len(parts) > 2 {
		return d.fail(parts[2].at, "", "%s is %s, not a table", k, k.form)
	}
	return d.value(k, last, v)
}

// value reads a value that is no table.
func (d *decoder) value(k *key, last part, v *unstable.Node) error {
	switch {
	case k.list != nil:
		return d.list(k, last, v)
	case k.word != nil:
		return d.word(k, last, v)
	case k.flag != nil:
		return d.flag(k, last, v)
	default:
		return d.limit(k, last, v)
	}
}

// inline walks { key = value, … }.
func (d *decoder) inline(parts []part, v *unstable.Node) error {
	for it := v.Children(); it.Next(); {
		n := it.Node()
		d.note(d.assign(append(parts[:len(parts):len(parts)], d.parts(n.Key())...), n.Value()))
	}
	return nil
}

// place is where v stands. The parser keeps no place for lists and tables: then
// it is that of the key.
func (d *decoder) place(v *unstable.Node, p part) span {
	if v.Raw.Length == 0 {
		return p.at
	}
	return span{int(v.Raw.Offset), int(v.Raw.Length)}
}

// count bounds the rules of a file.
func (d *decoder) count(k *key, at span) error {
	if k.section == "network" {
		if d.hosts++; d.hosts > maxHosts {
			return d.fail(at, "", "a policy has at most %d rules of the network", maxHosts)
		}
		return nil
	}
	if d.rules++; d.rules > maxRules {
		return d.fail(at, "", "a policy has at most %d rules", maxRules)
	}
	return nil
}

func (d *decoder) setting(k *key, parts []part, v *unstable.Node) error {
	name, set := parts[len(parts)-1], d.write(k)
	if len(parts) == 2 {
		if v.Kind != unstable.InlineTable {
			return d.fail(d.place(v, name), "", "%s is %s, not %s", k, k.form, kindName(v.Kind))
		}
		return d.inline(parts, v)
	}
	if len(parts) > 3 {
		hint := ""
		if k.table.quoted {
			hint = "a name with dots stands in quotes"
		}
		return d.fail(name.at, hint, "%s holds strings, not tables", k)
	}
	if err := d.name(k, parts); err != nil {
		return err
	}
	at := d.place(v, name)
	if v.Kind != unstable.String {
		return d.fail(at, "", "%s %s must be a string, not %s", k, printable(name.name), kindName(v.Kind))
	}
	if err := k.admit(string(v.Data)); err != nil {
		return d.fail(at, "", "%s %s: %v", k, printable(name.name), err)
	}
	*set = append(*set, Setting{name.name, string(v.Data), d.source(at)})
	return d.count(k, at)
}

// name checks the name of a setting, and that no other spelling of it was there.
func (d *decoder) name(k *key, parts []part) error {
	name := parts[len(parts)-1]
	if err := k.table.check(name.name); err != nil {
		return d.fail(name.at, "", "%s: %v", k, err)
	}
	if k.same == nil || k.same(name.name) == name.name {
		return nil
	}
	return d.once("key", append(parts[:2:2], part{k.same(name.name), name.at}))
}

func (d *decoder) list(k *key, p part, v *unstable.Node) error {
	if v.Kind != unstable.Array {
		return d.fail(d.place(v, p), "", "%s must be %s, not %s", k, k.form, kindName(v.Kind))
	}
	l := &listReader{decoder: d, k: k, out: List{}, first: map[string]Rule{}}
	for it := v.Children(); !d.full() && it.Next(); {
		n := it.Node()
		d.note(l.member(n, d.place(n, p)))
	}
	*k.list(d.policy) = l.out
	return nil
}

// listReader reads the values of one list.
type listReader struct {
	*decoder
	k     *key
	out   List
	first map[string]Rule // by what no two may share
}

func (l *listReader) member(n *unstable.Node, at span) error {
	s, err := l.element(l.k, n, at)
	if err != nil {
		return err
	}
	if err := l.k.admit(s); err != nil {
		return l.fail(at, suggest(s, l.k.known()), "%s: %v", l.k, err)
	}
	what := s
	if l.k.same != nil {
		what = l.k.same(s)
	}
	if have, again := l.first[what]; again && l.k.form != formArgs {
		return l.again(l.k, at, s, have)
	}
	if err := l.count(l.k, at); err != nil {
		return err
	}
	if l.k.most > 0 && len(l.out) == l.k.most {
		return l.fail(at, "", "%s holds at most %d values", l.k, l.k.most)
	}
	r := Rule{s, l.source(at)}
	l.first[what] = r
	l.out = append(l.out, r)
	return nil
}

func (d *decoder) again(k *key, at span, s string, first Rule) error {
	if first.Value != s {
		return d.fail(at, "", "%s: %q contradicts %q, written on line %d", k, s, first.Value, first.Source.Line)
	}
	return d.fail(at, "", "%s: duplicate %q, first written on line %d", k, s, first.Source.Line)
}

// element returns the text of one value of a list.
func (d *decoder) element(k *key, n *unstable.Node, at span) (string, error) {
	s := string(n.Data)
	switch {
	case n.Kind == unstable.String && (k.form == formList || k.form == formArgs):
		return s, nil
	case n.Kind == unstable.String && k.form == formPairs:
		if !strings.Contains(s, ":") {
			return "", d.fail(at, "a number stands without quotes", "%s: %q is no pair such as \"8080:3000\"", k, s)
		}
		return s, nil
	case n.Kind == unstable.Integer && (k.form == formPorts || k.form == formPairs):
		port, err := strconv.ParseInt(s, 0, 64)
		if err != nil || port < 1 || port > 65535 {
			return "", d.fail(at, "", "%s: %s is no port: they go from 1 to 65535", k, s)
		}
		return strconv.FormatInt(port, 10), nil
	}
	return "", d.fail(at, "", "%s must be %s, and holds %s", k, k.form, kindName(n.Kind))
}

func (d *decoder) word(k *key, p part, v *unstable.Node) error {
	at := d.place(v, p)
	if v.Kind != unstable.String {
		return d.fail(at, "", "%s must be %s, not %s", k, k.form, kindName(v.Kind))
	}
	s := string(v.Data)
	if err := k.admit(s); err != nil {
		return d.fail(at, suggest(s, k.known()), "%s: %v", k, err)
	}
	*k.word(d.policy) = &Rule{s, d.source(at)}
	return d.count(k, at)
}

func (d *decoder) limit(k *key, p part, v *unstable.Node) error {
	at := d.place(v, p)
	least := int64(1)
	if k.zero {
		least = 0
	}
	var n int64
	var err error
	switch {
	case v.Kind == unstable.Integer:
		if n, err = strconv.ParseInt(string(v.Data), 0, 64); err != nil {
			return d.fail(at, "", "%s: the number is too large", k)
		}
		if n < least {
			return d.fail(at, "", "%s: a limit is at least %d", k, least)
		}
	case v.Kind == unstable.String && k.zero && string(v.Data) == "0":
	case v.Kind == unstable.String && k.form == formSize:
		if n, err = ParseSize(string(v.Data)); err != nil {
			return d.fail(at, "", "%s: %v", k, err)
		}
	default:
		return d.fail(at, "", "%s must be %s, not %s", k, k.form, kindName(v.Kind))
	}
	*k.limit(d.policy) = &Limit{n, d.source(at)}
	return d.count(k, at)
}

func (d *decoder) flag(k *key, p part, v *unstable.Node) error {
	at := d.place(v, p)
	if v.Kind != unstable.Bool {
		return d.fail(at, "", "%s must be %s, not %s", k, k.form, kindName(v.Kind))
	}
	*k.flag(d.policy) = &Flag{string(v.Data) == "true", d.source(at)}
	return d.count(k, at)
}

func kindName(k unstable.Kind) string {
	switch k {
	case unstable.String:
		return "a string"
	case unstable.Integer:
		return "an integer"
	case unstable.Float:
		return "a float"
	case unstable.Bool:
		return "a boolean"
	case unstable.Array:
		return "a list"
	case unstable.InlineTable:
		return "a table"
	}
	return "a date"
}

// plainKey holds for a key of a section of named tables that is none of them.
func plainKey(parts []part, v *unstable.Node) bool {
	return len(parts) == 2 && v.Kind != unstable.InlineTable && findKey(parts[0].name, parts[1].name) != nil
}
