package audit

import "ringfence.dev/ringfence/internal/file/settings"

// Many rows ask whether a key of a settings file says something.

// source lists the settings files of an agent that are there, the one that decides
// first.
type source func(*look) []*document

// says makes a probe: a hit for each value at a path, in each file, that the test
// takes.
func says(from source, test func(*look, *node) bool, path ...string) func(*look) []hit {
	return func(l *look) (hits []hit) {
		for _, d := range from(l) {
			for _, n := range d.root.All(path...) {
				if test(l, n) {
					hits = append(hits, hit{path: d.path, line: n.Line, detail: shown(n, path)})
				}
			}
		}
		return hits
	}
}

// either joins probes.
func either(probes ...func(*look) []hit) func(*look) []hit {
	return func(l *look) (hits []hit) {
		for _, p := range probes {
			hits = append(hits, p(l)...)
		}
		return hits
	}
}

func on(_ *look, n *node) bool  { return n.IsTrue() }
func off(_ *look, n *node) bool { return n.IsFalse() }

// word takes one of some words.
func word(words ...string) func(*look, *node) bool {
	return func(_ *look, n *node) bool {
		for _, w := range words {
			if n.Is(w) {
				return true
			}
		}
		return false
	}
}

// first returns the value of the file that decides.
func (l *look) first(from source, path ...string) (*document, *node) {
	for _, d := range from(l) {
		if n := d.root.Get(path...); n != nil {
			return d, n
		}
	}
	return nil, nil
}

// shown is a key with its value, where the value is a switch or a word of the agent's
// own. Other values may be anything and are not told.
func shown(n *node, path []string) string {
	key := ""
	for i, p := range path {
		if p == "*" {
			p = n.Name
			if i < len(path)-1 || p == "" {
				p = "*"
			}
		}
		if key != "" {
			key += "."
		}
		key += p
	}
	if n.Kind == settings.Word || n.Kind == settings.String && plainWord().MatchString(n.Text) && len(n.Text) < 24 && !secretName(key) {
		return key + " = " + n.Text
	}
	return key
}
