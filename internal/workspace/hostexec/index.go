package hostexec

import "strings"

// rule is one pattern with what it means.
type rule struct {
	pattern
	verdict *Verdict // shared by the rules of a group; Rule is the pattern's text
	order   int      // in the data
	next    *rule    // for the same name, by precedence
}

// index finds the rules whose last name fits a name, without trying all of them.
type index struct {
	exact    table
	ending   table      // by what stands behind the last "."
	below    table      // by the name of the parent
	starting [256]*rule // by the first character
	rest     *rule
}

// table is a map with a sieve before it: most names are in no rule, and are known
// by their first character and length.
type table struct {
	sieve [256]uint64 // for a first character, the lengths that occur
	rules map[string]*rule
}

func bit(n int) uint64 { return 1 << (n & 63) }

// add puts the longer patterns of the same name first, then the earlier ones.
func (t *table) add(key string, r *rule) {
	t.sieve[key[0]] |= bit(len(key))
	first := t.rules[key]
	if first == nil || len(r.names) > len(first.names) {
		r.next = first
		t.rules[key] = r
		return
	}
	for first.next != nil && len(first.next.names) >= len(r.names) {
		first = first.next
	}
	r.next, first.next = first.next, r
}

func (t *table) find(key []byte) *rule {
	if len(key) == 0 || t.sieve[key[0]]&bit(len(key)) == 0 {
		return nil
	}
	return t.rules[string(key)]
}

func newIndex(size int) *index {
	x := new(index)
	x.exact.rules, x.ending.rules, x.below.rules = make(map[string]*rule, size), make(map[string]*rule, size/8), map[string]*rule{}
	return x
}

func (x *index) add(r *rule) {
	name := r.last()
	star := strings.LastIndexByte(name, '*')
	dot := strings.LastIndexByte(name, '.')
	switch {
	case star < 0:
		x.exact.add(name, r)
	case dot > star && dot+1 < len(name):
		x.ending.add(name[dot+1:], r)
	case name[0] != '*':
		r.next, x.starting[name[0]] = x.starting[name[0]], r
	case len(r.names) > 1 && !strings.Contains(r.names[len(r.names)-2], "*"):
		x.below.add(r.names[len(r.names)-2], r)
	default:
		r.next, x.rest = x.rest, r
	}
}
