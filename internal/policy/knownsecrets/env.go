package knownsecrets

import (
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// Env reports the row that names this environment variable.
func Env(name string) (Entry, bool) {
	t := envs()
	upper := strings.ToUpper(name)
	if e, ok := t.plain[upper]; ok && (e.Class == Secret || upper == name) {
		return e, true
	}
	for i := range t.globs {
		g, s := &t.globs[i], name
		if g.entry.Class == Secret {
			s = upper
		}
		if g.match(s) {
			return g.entry, true
		}
	}
	return Entry{}, false
}

// glob is a pattern with its ends at hand, which decide nearly every comparison.
type glob struct {
	entry      Entry
	head, tail string
}

func (g *glob) match(s string) bool {
	return strings.HasPrefix(s, g.head) && strings.HasSuffix(s, g.tail) && file.Star(g.entry.Pattern, s)
}
