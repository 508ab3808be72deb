package policy

import (
	"iter"
	"net/netip"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// spot is what rules are found by. Two lists of ten thousand rules are compared
// by looking up a few spots for each.
type spot struct {
	name  address.Name
	below bool
	port  uint16
}

// above yields every name that could cover that of r: its own, and those with a
// star further up.
func above(r address.Rule) iter.Seq2[address.Name, bool] {
	return func(yield func(address.Name, bool) bool) {
		if !yield(r.Name, r.Below) {
			return
		}
		for name := r.Name; ; {
			i := strings.IndexByte(string(name), '.')
			if i < 0 {
				return
			}
			if name = name[i+1:]; !yield(name, true) {
				return
			}
		}
	}
}

// maxPartial bounds how many rules about methods and paths of one host are looked
// at one by one. What lies beyond covers only its equal, which errs on the tight
// side.
const maxPartial = 128

// hosts answers whether one of many rules covers another as a whole.
type hosts struct {
	at   map[spot][]address.Rule
	same map[string]bool         // rules about methods and paths, as String spells them
	read map[string]address.Rule // every rule of the list by its text: reading is what costs
}

// hostsOf reads the rules of a list; what does not parse covers nothing.
func hostsOf(l List) hosts {
	h := hosts{make(map[spot][]address.Rule, len(l)), map[string]bool{}, make(map[string]address.Rule, len(l))}
	for _, v := range l {
		if r, err := parseHost(v.Value); err == nil {
			h.read[v.Value] = r
			h.add(r)
		}
	}
	return h
}

func (h hosts) add(r address.Rule) {
	s := spot{r.Name, r.Below, r.Port}
	have := h.at[s]
	if r.Whole() {
		for _, o := range have {
			if o.Whole() && o.Proto == r.Proto {
				return
			}
		}
		h.at[s] = append([]address.Rule{r}, have...) // at most four of them: one for each protocol
		return
	}
	h.same[r.String()] = true
	if len(have) < maxPartial {
		h.at[s] = append(have, r)
	}
}

// covers returns the test whether h covers a rule of the list that other was read
// from.
func (h hosts) covers(other hosts) func(string) bool {
	return func(v string) bool {
		r, ok := other.read[v]
		return ok && h.cover(r)
	}
}

func (h hosts) cover(r address.Rule) bool {
	if !r.Whole() && h.same[r.String()] {
		return true
	}
	ports := []uint16{0, 443, 80} // of what may cover a rule without a port
	if r.Port != 0 {
		ports = []uint16{0, r.Port}
	}
	for name, below := range above(r) {
		for _, port := range ports {
			for _, over := range h.at[spot{name, below, port}] {
				if r.Within(over) {
					return true
				}
			}
		}
	}
	return false
}

// denials finds what denies a whole rule.
type denials map[spot]Entry

func (d denials) add(e Entry) {
	s := spot{e.Rule.Name, e.Rule.Below, e.Rule.Port}
	if _, have := d[s]; !have {
		d[s] = e
	}
}

// of returns the entry that denies everything that r allows.
func (d denials) of(r address.Rule) (Entry, bool) {
	ports := []uint16{0}
	_, tls := r.On(443)
	_, plain := r.On(80)
	switch {
	case r.Port != 0:
		ports = append(ports, r.Port)
	case tls && !plain:
		ports = append(ports, 443)
	case plain && !tls:
		ports = append(ports, 80)
	}
	for name, below := range above(r) {
		for _, port := range ports {
			if e, ok := d[spot{name, below, port}]; ok {
				return e, true
			}
		}
	}
	return Entry{}, false
}

// ranges answers whether one of many rules about addresses covers another.
type ranges struct {
	has  map[address.Prefix]bool
	bits map[int]bool // lengths that occur
}

func rangesOf(l List) ranges {
	out := ranges{make(map[address.Prefix]bool, len(l)), map[int]bool{}}
	for _, v := range l {
		if p, err := address.ParsePrefix(v.Value); err == nil {
			out.has[p], out.bits[p.Range.Bits()] = true, true
		}
	}
	return out
}

func (r ranges) covers(v string) bool {
	p, err := address.ParsePrefix(v)
	if err != nil {
		return false
	}
	for n := range r.bits {
		if n <= p.Range.Bits() && r.has[address.Prefix{Range: netip.PrefixFrom(p.Range.Addr(), n).Masked(), Port: p.Port}] {
			return true
		}
	}
	return false
}
