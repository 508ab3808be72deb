package scan

import (
	"path"
	"slices"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// Obeys reports whether an agent obeys the settings in a file of this name, and what the
// session itself writes there never reaches the host unjudged: then a change on the host
// is somebody else's. Of a directory it is whether such a file may lie below it.
func Obeys(rel string, dir bool) bool {
	if dir {
		return leadsToRule(rel)
	}
	names, err := hostexec.Builtin()
	if err != nil {
		return true
	}
	r, _ := ruleOf(rel)
	if r == nil || r.Shown {
		return false
	}
	v := names.Judge(rel, false)
	return v.Hold || v.Form != hostexec.FormAny
}

func leadsToRule(rel string) bool {
	names := strings.Split(strings.ToLower(rel), "/")
	return slices.ContainsFunc(indexed().deep, func(s spot) bool {
		for n := range names {
			if !s.rule.Shown && slices.ContainsFunc(rest(s.names, names[n:]), func(left int) bool { return left > 0 }) {
				return true
			}
		}
		return false
	})
}

// ObeyedDirs lists the directories in which such files may lie, below one in which an
// agent starts.
var ObeyedDirs = sync.OnceValue(func() []string {
	out := []string{"."}
	for _, r := range rules() {
		for _, f := range r.Files {
			if at := strings.IndexByte(f, '*'); at >= 0 {
				f = f[:at] + "x"
			}
			for dir := path.Dir(f); !r.Shown && !slices.Contains(out, dir); dir = path.Dir(dir) {
				out = append(out, dir)
			}
		}
	}
	return out
})
