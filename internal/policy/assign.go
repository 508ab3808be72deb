package policy

import (
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"
)

// assign gives the value v to the key that parts spell.
func (d *decoder) assign(parts []part, v *unstable.Node) error {
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
	if k.form == formTable {
		return d.setting(k, parts, v)
	}
	if len(parts) > 2 {
		return d.fail(parts[2].at, "", "%s is %s, not a table", k, k.form)
	}
	switch k.form {
	case formList:
		return d.list(k, last, v)
	case formWord:
		return d.word(k, last, v)
	default:
		return d.limit(k, last, v)
	}
}

// inline walks { key = value, … }.
func (d *decoder) inline(parts []part, v *unstable.Node) error {
	for it := v.Children(); it.Next(); {
		n := it.Node()
		if err := d.assign(append(parts[:len(parts):len(parts)], d.parts(n.Key())...), n.Value()); err != nil {
			return err
		}
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
func (d *decoder) count(at span) error {
	if d.rules++; d.rules > maxRules {
		return d.fail(at, "", "a policy has at most %d rules", maxRules)
	}
	return nil
}

func (d *decoder) setting(k *key, parts []part, v *unstable.Node) error {
	name := parts[len(parts)-1]
	if d.policy.Env.Set == nil {
		d.policy.Env.Set = []Setting{}
	}
	if len(parts) == 2 {
		if v.Kind != unstable.InlineTable {
			return d.fail(d.place(v, name), "", "%s is %s, not %s", k, k.form, kindName(v.Kind))
		}
		return d.inline(parts, v)
	}
	if len(parts) > 3 {
		return d.fail(name.at, "", "%s holds strings, not tables", k)
	}
	if err := checkName(name.name); err != nil {
		return d.fail(name.at, "", "%s: %v", k, err)
	}
	at := d.place(v, name)
	if v.Kind != unstable.String {
		return d.fail(at, "", "%s %s must be a string, not %s", k, name.name, kindName(v.Kind))
	}
	if err := k.admit(string(v.Data)); err != nil {
		return d.fail(at, "", "%s %s: %v", k, name.name, err)
	}
	d.policy.Env.Set = append(d.policy.Env.Set, Setting{name.name, string(v.Data), d.source(at)})
	return d.count(at)
}

func (d *decoder) list(k *key, p part, v *unstable.Node) error {
	if v.Kind != unstable.Array {
		return d.fail(d.place(v, p), "", "%s must be %s, not %s", k, k.form, kindName(v.Kind))
	}
	out := List{}
	first := map[string]Source{}
	for it := v.Children(); it.Next(); {
		n := it.Node()
		at := d.place(n, p)
		if n.Kind != unstable.String {
			return d.fail(at, "", "%s must be %s, and holds %s", k, k.form, kindName(n.Kind))
		}
		s := string(n.Data)
		if err := k.admit(s); err != nil {
			return d.fail(at, suggest(s, k.words), "%s: %v", k, err)
		}
		if src, again := first[s]; again {
			return d.fail(at, "", "%s: duplicate %q, first written on line %d", k, s, src.Line)
		}
		if err := d.count(at); err != nil {
			return err
		}
		first[s] = d.source(at)
		out = append(out, Rule{s, first[s]})
	}
	*k.list(d.policy) = out
	return nil
}

func (d *decoder) word(k *key, p part, v *unstable.Node) error {
	at := d.place(v, p)
	if v.Kind != unstable.String {
		return d.fail(at, "", "%s must be %s, not %s", k, k.form, kindName(v.Kind))
	}
	s := string(v.Data)
	if err := k.admit(s); err != nil {
		return d.fail(at, suggest(s, k.words), "%s: %v", k, err)
	}
	d.policy.Network.Mode = &Rule{s, d.source(at)}
	return d.count(at)
}

func (d *decoder) limit(k *key, p part, v *unstable.Node) error {
	at := d.place(v, p)
	var n int64
	var err error
	switch {
	case v.Kind == unstable.Integer:
		if n, err = strconv.ParseInt(string(v.Data), 0, 64); err != nil {
			return d.fail(at, "", "%s: the number is too large", k)
		}
		if n < 1 {
			return d.fail(at, "", "%s: a limit is at least 1", k)
		}
	case v.Kind == unstable.String && k.form == formSize:
		if n, err = ParseSize(string(v.Data)); err != nil {
			return d.fail(at, "", "%s: %v", k, err)
		}
	default:
		return d.fail(at, "", "%s must be %s, not %s", k, k.form, kindName(v.Kind))
	}
	*k.limit(d.policy) = &Limit{n, d.source(at)}
	return d.count(at)
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
