package policy

import (
	"slices"
	"strings"
)

// defines holds for a table that says more than whether the secret is off.
func (s *Secret) defines() bool {
	for i := range secretKeys {
		if k := secretKeys[i].of(s); k.name != "off" && k.written() {
			return true
		}
	}
	return false
}

// written holds for a key of a secret that has a value.
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

// text is the value of a key of a secret, and where it was written.
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

// equal reports whether a key of two secrets says the same.
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

// mergeSecrets lays over's secrets upon base's. One that both define is over's as a
// whole: half of the one and half of the other would send a secret to hosts that
// were meant for another. What is off stays so unless over says otherwise.
func mergeSecrets(base, over []Secret) []Secret {
	out := slices.Clone(base)
	for _, s := range over {
		i := indexSecret(out, s.Name)
		switch {
		case i < 0:
			out = append(out, s)
		case !s.defines():
			if s.Off != nil {
				out[i].Off = s.Off
			}
		default:
			if s.Off == nil {
				s.Off = out[i].Off
			}
			out[i] = s
		}
	}
	return out
}

// tightenSecrets switches off what over switches off, and takes nothing else.
func tightenSecrets(out, over []Secret) {
	for i := range over {
		if at := indexSecret(out, over[i].Name); at >= 0 && over[i].IsOff() && !out[at].IsOff() {
			out[at].Off = over[i].Off
		}
	}
}

// widensSecrets lists what of over's secrets is not base's already. To leave a key
// out is a change too: it may have been a denial.
func widensSecrets(base, over []Secret) []Change {
	var out []Change
	for i := range over {
		s, have := &over[i], &Secret{Name: over[i].Name}
		if at := indexSecret(base, s.Name); at >= 0 {
			have = &base[at]
		}
		add := func(k *key, removed bool) {
			text, src := k.text()
			if src == (Source{}) || removed {
				src = s.Source
			}
			out = append(out, Change{Section: k.section, Key: k.name, Value: text, Removed: removed, Source: src})
		}
		if s.Off != nil && !s.Off.Value && have.IsOff() {
			add(findSecretKey("off").of(s), false)
		}
		if !s.defines() {
			continue
		}
		for j := range secretKeys {
			was, is := secretKeys[j].of(have), secretKeys[j].of(s)
			if is.name == "off" || is.equal(was) {
				continue
			}
			if is.written() {
				add(is, false)
			} else {
				add(was, true)
			}
		}
	}
	return out
}

func (p *Policy) withoutSecrets() *Policy {
	out := *p
	out.Secret, out.MCP = nil, nil
	return &out
}
