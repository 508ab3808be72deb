package oracle

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// row is one comparison.
type row struct {
	name, ours, theirs string
	verdict            verdict
}

type verdict string

const (
	equal   verdict = "equal"
	tighter verdict = "tighter"
	looser  verdict = "LOOSER"
)

// What bubblewrap tells where we do not, and the proof that the probe sees it.
const (
	firstEnviron = "environment of PID 1"
	firstCmdline = "command line of PID 1"
)

// trio is what the probe saw in ringfence, in bubblewrap and on the host.
type trio struct{ ours, theirs, host *sight }

// rows compares everything but mounts.
func (t trio) rows(canary, word string) []row {
	out := []row{
		leak(firstEnviron, t.ours.FirstEnviron, t.theirs.FirstEnviron, canary),
		leak(firstCmdline, t.ours.FirstCmdline, t.theirs.FirstCmdline, word),
		leak("processes of the host", strings.Join(t.ours.Processes, "\n"), strings.Join(t.theirs.Processes, "\n"), canary),
		same("variables", variables(t.ours.Environ), variables(t.theirs.Environ)),
		fewer("inherited descriptors", t.ours.Descriptors, t.theirs.Descriptors),
		fewer("names in /dev", t.ours.Dev, t.theirs.Dev),
		fewer("devices", t.ours.Nodes, t.theirs.Nodes),
		fewer("writable in /proc", t.ours.Writable, t.theirs.Writable),
		fewer("groups", strings.Fields(t.ours.Status["Groups"]), strings.Fields(t.theirs.Status["Groups"])),
		atMost("visible processes", len(t.ours.Processes), len(t.theirs.Processes)),
		atMost("lines in /proc/keys", strings.Count(t.ours.Keys, "\n"), strings.Count(t.theirs.Keys, "\n")),
		refused("keyctl", t.ours.Keyctl, t.theirs.Keyctl),
		refused("nested user namespace", t.ours.NestedUser, t.theirs.NestedUser),
		refused("controlling terminal", t.ours.Terminal, t.theirs.Terminal),
	}
	for _, kind := range probe.Kinds() {
		out = append(out, t.apart(kind))
	}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		out = append(out, caps(set, t.ours.Status[set], t.theirs.Status[set]))
	}
	for _, flag := range []string{"NoNewPrivs", "Seccomp", "Seccomp_filters"} {
		out = append(out, atLeast(flag, t.ours.Status[flag], t.theirs.Status[flag]))
	}
	for _, id := range []string{"Uid", "Gid"} {
		out = append(out, same(id, t.ours.Status[id], t.theirs.Status[id]))
	}
	return out
}

// leak: ours must not show the secret, whatever bubblewrap does.
func leak(name, ours, theirs, secret string) row {
	shows := map[bool]string{true: "shows the canary", false: "silent"}
	o, t := strings.Contains(ours, secret), strings.Contains(theirs, secret)
	r := row{name, shows[o], shows[t], equal}
	switch {
	case o:
		r.verdict = looser
	case t:
		r.verdict = tighter
	}
	return r
}

// fewer: ours may show nothing that theirs does not.
func fewer(name string, ours, theirs []string) row {
	r := row{name, strconv.Itoa(len(ours)), strconv.Itoa(len(theirs)), equal}
	if more := without(ours, theirs); len(more) > 0 {
		r.ours, r.verdict = fmt.Sprintf("%d with %q", len(ours), more), looser
	} else if more := without(theirs, ours); len(more) > 0 {
		r.theirs, r.verdict = fmt.Sprintf("%d with %q …", len(theirs), more[0]), tighter
	}
	return r
}

func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// variables joins an environment. One value is another in every session, and the time
// of day goes on.
func variables(env []string) string {
	env = slices.Sorted(slices.Values(env))
	for i, e := range env {
		if strings.HasPrefix(e, "RINGFENCE=") {
			env[i] = "RINGFENCE="
		}
		env[i] = clock.ReplaceAllString(env[i], "TIME")
	}
	return strings.Join(env, " ")
}

var clock = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

func atMost(name string, ours, theirs int) row {
	r := row{name, strconv.Itoa(ours), strconv.Itoa(theirs), equal}
	switch {
	case ours < theirs:
		r.verdict = tighter
	case ours > theirs:
		r.verdict = looser
	}
	return r
}

func atLeast(name, ours, theirs string) row {
	o, errO := strconv.Atoi(ours)
	t, errT := strconv.Atoi(theirs)
	r := atMost(name, -o, -t)
	if r.ours, r.theirs = ours, theirs; errO != nil || errT != nil {
		r.verdict = looser
	}
	return r
}

func refused(name, ours, theirs string) row {
	r := row{name, ours, theirs, equal}
	switch {
	case !strings.HasPrefix(ours, "refused"):
		r.verdict = looser
	case !strings.HasPrefix(theirs, "refused"):
		r.verdict = tighter
	}
	return r
}

// apart: both must have left the host's namespace, or the script is no equivalent.
func (t trio) apart(kind string) row {
	where := map[bool]string{true: "the host's", false: "own"}
	o, th := t.ours.Namespaces[kind] == t.host.Namespaces[kind], t.theirs.Namespaces[kind] == t.host.Namespaces[kind]
	r := row{kind + " namespace", where[o], where[th], equal}
	if o || th {
		r.verdict = looser
	}
	return r
}

func caps(set, ours, theirs string) row {
	o, errO := strconv.ParseUint(ours, 16, 64)
	t, errT := strconv.ParseUint(theirs, 16, 64)
	r := row{set, ours, theirs, equal}
	switch {
	case errO != nil || errT != nil || o&^t != 0:
		r.verdict = looser
	case o != t:
		r.verdict = tighter
	}
	return r
}

func same(name, ours, theirs string) row {
	if ours != theirs {
		return row{name, ours, theirs, looser}
	}
	return row{name, "the same", "the same", equal}
}

// mountRows judges every place at which either has a mount by the mount that covers
// it, since what bubblewrap mounts may be a plain file of our read-only root.
func (t trio) mountRows() []row {
	ours, theirs := table(t.ours.Mounts), table(t.theirs.Mounts)
	// The layers are mounted where nobody can go; bubblewrap has nothing like them.
	maps.DeleteFunc(ours, func(at string, _ []string) bool { return strings.HasPrefix(at, "/.ringfence/layer") })
	out := []row{fewer("mount points", slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(theirs)))}
	places := maps.Clone(ours)
	maps.Copy(places, theirs)
	for _, p := range slices.Sorted(maps.Keys(places)) {
		out = append(out, flags(p, cover(ours, p), cover(theirs, p)))
	}
	return out
}

// table is what is on top at each mount point.
func table(mounts []probe.Mount) map[string][]string {
	out := map[string][]string{}
	for _, m := range mounts {
		out[m.Point] = m.Options
	}
	return out
}

// cover returns the options of the mount that a path lies in.
func cover(mounts map[string][]string, path string) []string {
	for path != "/" {
		if o, ok := mounts[path]; ok {
			return o
		}
		path = path[:max(strings.LastIndexByte(path, '/'), 1)]
	}
	return mounts["/"]
}

// flags: what is forbidden in theirs is forbidden in ours.
func flags(point string, ours, theirs []string) row {
	var o, t []string
	for _, flag := range []string{"ro", "nosuid", "nodev", "noexec"} {
		if slices.Contains(ours, flag) {
			o = append(o, flag)
		}
		if slices.Contains(theirs, flag) {
			t = append(t, flag)
		}
	}
	r := fewer("mount "+point, t, o) // more flags allow less
	r.ours, r.theirs = strings.Join(o, ","), strings.Join(t, ",")
	return r
}
