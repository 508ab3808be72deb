package container

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// pinned is a plan that names every source by its inode too. The engine looks the names up
// again, as root, and follows links, and inside its mounts hide where they led: the first
// process there takes nothing but these inodes. What an agent of another session renames
// meanwhile ends the start. The session's own state is not pinned: no agent reaches it.
func pinned(p *plan.Plan) (*plan.Plan, error) {
	out := *p
	out.Ops = slices.Clone(p.Ops)
	for i, o := range out.Ops {
		if o.ID != nil || o.There || o.Do != plan.DoBind && o.Do != plan.DoLayer || mutated("pid") && o.Src == "/proc" {
			continue
		}
		fd, err := sys.OpenSource(string(o.Src))
		if err != nil {
			return nil, err
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
		out.Ops[i].ID = &plan.Identity{Dev: st.Dev, Ino: st.Ino}
	}
	return &out, nil
}

// sharesOf lists what of the host the container has to have for a plan, each at its own
// path: the sources of the view and of its layers, and nothing else. What lies below
// another share comes with it: mounts within mounts would be locked to each other inside.
func sharesOf(p *plan.Plan) ([]mount, error) {
	writable := map[string]bool{}
	add := func(source plan.Raw, write bool) error {
		s := string(source)
		if !utf8.ValidString(s) {
			return fmt.Errorf("%q has a name that no engine can be told of", s)
		}
		if !path.IsAbs(s) || path.Clean(s) != s || s == "/" {
			return fmt.Errorf("%q cannot be shared with a container", s)
		}
		writable[s] = writable[s] || write
		return nil
	}
	for _, o := range p.Ops {
		var err error
		switch o.Do {
		case plan.DoBind:
			if !o.There {
				err = add(o.Src, o.Write)
			}
		case plan.DoLayer:
			// Changes and overlayfs' own directory must lie on one mount.
			if path.Dir(string(o.Upper)) != path.Dir(string(o.Work)) {
				err = errors.New("the layers of a view lie apart")
			}
			err = errors.Join(err, add(o.Src, false), add(plan.Raw(path.Dir(string(o.Upper))), true))
		}
		if err != nil {
			return nil, err
		}
	}
	for _, t := range p.Trees {
		if err := add(t.Path, false); err != nil {
			return nil, err
		}
	}
	return merged(writable), nil
}

// merged drops what lies below another share. One that has something writable below it is
// writable as a whole: the walls inside say what the agent may write.
func merged(writable map[string]bool) (out []mount) {
	names := make([]string, 0, len(writable))
	for s := range writable {
		names = append(names, s)
	}
	slices.Sort(names)
	for _, s := range names {
		i := slices.IndexFunc(out, func(m mount) bool { return strings.HasPrefix(s, m.Source+"/") })
		if i >= 0 {
			out[i].ReadOnly = out[i].ReadOnly && !writable[s]
			continue
		}
		out = append(out, share(s, s, !writable[s]))
	}
	return out
}

func share(source, target string, readOnly bool) mount {
	return mount{Type: "bind", Source: source, Target: target, ReadOnly: readOnly, BindOptions: bindOptions{Propagation: "rprivate"}}
}
