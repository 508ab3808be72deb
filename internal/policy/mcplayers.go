package policy

import (
	"fmt"
	"slices"
)

// writes holds for a table that says more than whether the server is off.
func (s *Server) writes() bool {
	return slices.ContainsFunc(serverKeys, func(k serverKey) bool { return k.name != "off" && k.of(s).written() })
}

// mergeServers lays over's servers upon base's. One that both define is over's as a
// whole: a command of the one with the hosts and secrets of the other was nobody's
// word. An empty table takes nothing away.
func mergeServers(base, over []Server) []Server {
	out := slices.Clone(base)
	for _, s := range over {
		i := indexServer(out, s.Name)
		switch {
		case i < 0:
			out = append(out, s)
		case !s.writes():
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

// tightenServers switches off what over switches off, and takes nothing else.
func tightenServers(out, over []Server) {
	for i := range over {
		if at := indexServer(out, over[i].Name); at >= 0 && over[i].IsOff() && !out[at].IsOff() {
			out[at].Off = over[i].Off
		}
	}
}

// widensServers lists what of over's servers is not base's already.
func widensServers(base, over []Server) []Change {
	var out []Change
	for i := range over {
		s, have, at := &over[i], &Server{Name: over[i].Name}, indexServer(base, over[i].Name)
		if at >= 0 {
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
			add(findServerKey("off").of(s), false)
		}
		if at < 0 && s.Off == nil && !s.writes() {
			out = append(out, Change{Section: serverSection, Key: s.Name, Source: s.Source})
		}
		if !s.writes() {
			continue
		}
		for j := range serverKeys {
			was, is := serverKeys[j].of(have), serverKeys[j].of(s)
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

func (pr *printer) servers(all []Server) {
	for i := range all {
		s := &all[i]
		if len(pr.lines) > 0 {
			pr.add("", "")
		}
		if CheckServerName(s.Name) != nil { // cannot come from Decode
			pr.add(fmt.Sprintf("# %q", s.Name), s.Source.String())
			continue
		}
		pr.add("["+serverSection+"."+s.Name+"]", s.Source.String())
		for j := range serverKeys {
			pr.key(serverKeys[j].of(s), nil)
		}
	}
}
