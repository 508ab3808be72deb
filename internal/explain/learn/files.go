package learn

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/credentials/decoy"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// siblings is how many things of one directory must have been wanted before the
// directory is proposed in their place.
const siblings = 3

// bases are directories in which every program keeps its things: never one as a whole.
var bases = []string{".config", ".cache", ".local", ".local/share", ".local/state", ".local/bin"}

// paths proposes what was wanted of the host's files.
func (in Situation) paths(all []Path, p *Proposal) {
	granted := policy.Grants(in.Policy, in.Home)
	var good []Path
	for _, w := range covered(all) {
		if has(granted, w) {
			continue
		}
		if why := in.refuse(w); why != "" {
			p.not(in.show(w.Path), why)
			continue
		}
		good = append(good, w)
	}
	for _, w := range in.gather(good) {
		key := "read"
		if w.Write {
			key = "write"
		}
		value := in.show(w.Path)
		if err := policy.Admit("files", key, value); err != nil {
			p.not(value, "its name cannot stand in a policy")
			continue
		}
		p.Lines = append(p.Lines, Line{"files", key, value, w.Count, lets(w)})
	}
}

// covered leaves out directories that were only looked at on the way to something in
// them that was asked for too.
func covered(all []Path) []Path {
	return slices.DeleteFunc(slices.Clone(all), func(d Path) bool {
		return d.Dir && !d.Open && !d.Write && slices.ContainsFunc(all, func(w Path) bool {
			return w.Path != d.Path && file.Within(w.Path, d.Path)
		})
	})
}

// has holds if the nearest grant above a path gives what is wanted.
func has(granted []policy.Grant, w Path) bool {
	best := -1
	for i, g := range granted {
		if file.Within(w.Path, g.Path) && (best < 0 || len(g.Path) > len(granted[best].Path)) {
			best = i
		}
	}
	return best >= 0 && (granted[best].Write || !w.Write)
}

// refuse says why a path is never proposed; "" if it may be.
func (in Situation) refuse(w Path) string {
	if w.Dir && in.wide(w.Path) {
		return "too much lies in it; name what is needed"
	}
	if slices.ContainsFunc(in.Own, func(o string) bool { return file.Within(w.Path, o) || file.Within(o, w.Path) }) {
		return "it is ringfence's own"
	}
	if e, ok := knownsecrets.Path(in.Home, w.Path); ok {
		return "credentials: " + e.What
	}
	if slices.Contains(decoy.Places(in.Home), w.Path) {
		return "it is a place of decoys"
	}
	if found := knownsecrets.Under(in.Home, w.Path, nil); len(found) > 0 {
		return "credentials in it: " + found[0].Entry.What
	}
	if r, hidden := in.masked(w.Path); hidden {
		return "hidden by " + r.Source.String()
	}
	if w.Write && system(w.Path) {
		return "a directory of the system stays read-only"
	}
	if w.Write && file.Runs(w.Path, in.PATH) {
		return "what is written there can run on the host, unseen; if it must be: --rw"
	}
	return ""
}

func (in Situation) masked(p string) (policy.Rule, bool) {
	for _, r := range in.Policy.Files.Mask {
		if path.IsAbs(r.Value) || strings.HasPrefix(r.Value, "~/") {
			if file.Within(p, policy.Expand(r.Value, in.Home)) {
				return r, true
			}
			continue
		}
		for _, t := range in.Trees {
			if file.Within(p, path.Join(t, r.Value)) {
				return r, true
			}
		}
	}
	return policy.Rule{}, false
}

// wide holds for directories that hold too many different things to be shown whole.
func (in Situation) wide(dir string) bool {
	if file.Within(in.Home, dir) || strings.Count(dir, "/") < 2 || path.Dir(dir) == path.Dir(in.Home) {
		return true
	}
	for _, b := range bases {
		if dir == path.Join(in.Home, b) {
			return true
		}
	}
	return false
}

func system(p string) bool {
	for _, d := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/boot", "/proc", "/sys", "/dev"} {
		if file.Within(p, d) {
			return true
		}
	}
	return false
}

// gather proposes a directory in the place of three or more things in it. It does so
// once and no further up, never for a hidden directory, which is where programs keep
// their secrets, and never where a credential lies.
func (in Situation) gather(all []Path) []Path {
	children := map[string][]Path{}
	for _, w := range all {
		children[path.Dir(w.Path)] = append(children[path.Dir(w.Path)], w)
	}
	var out []Path
	done := map[string]bool{}
	for _, w := range all {
		dir := path.Dir(w.Path)
		group := children[dir]
		switch {
		case done[dir] || slices.ContainsFunc(all, func(o Path) bool {
			return o.Dir && o.Path != w.Path && file.Within(w.Path, o.Path) && (o.Write || !w.Write)
		}):
		case len(group) >= siblings && !in.hidden(dir) && in.refuse(together(dir, group)) == "":
			done[dir] = true
			out = append(out, together(dir, group))
		default:
			out = append(out, w)
		}
	}
	return out
}

// together is a directory in the place of what was wanted in it.
func together(dir string, group []Path) Path {
	whole := Path{Path: dir, Dir: true, Open: true}
	for _, c := range group {
		whole.Write, whole.Count = whole.Write || c.Write, max(whole.Count, c.Count)
	}
	return whole
}

// hidden holds for a directory below HOME with a name of its way that begins with a dot.
func (in Situation) hidden(dir string) bool {
	return file.Within(dir, in.Home) && strings.Contains(dir[len(in.Home):], "/.") || dir == "/etc"
}

// show writes a path as a policy would have it.
func (in Situation) show(p string) string {
	if p != in.Home && file.Within(p, in.Home) {
		return "~/" + p[len(in.Home)+1:]
	}
	return p
}

func lets(w Path) string {
	how := "read-only"
	if w.Write {
		how = "to be changed"
	}
	if w.Dir {
		return "all that is in it now and later, " + how
	}
	if st, err := os.Stat(w.Path); err == nil {
		return fmt.Sprintf("one file of %d bytes, %s", st.Size(), how)
	}
	return "one file, " + how
}
