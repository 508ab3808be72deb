package learn

import (
	"path"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/keeper"
)

// Look finds out what of the names the host has, and which of the variables that stayed
// outside are named by files that were opened. It is called when nothing runs inside any
// more: who asks must not be able to tell by the time it takes what the host has.
func (n *Names) Look(variables []string) Seen {
	var out Seen
	have := map[string]int{}
	for _, a := range n.wanted() {
		p, ok := onHost(a)
		if !ok {
			continue
		}
		if i, twice := have[p.Path]; twice {
			out.Paths[i].Write, out.Paths[i].Open = out.Paths[i].Write || p.Write, out.Paths[i].Open || p.Open
			continue
		}
		have[p.Path] = len(out.Paths)
		out.Paths = append(out.Paths, p)
	}
	n.mu.Lock()
	opened, more := n.opened, n.more
	n.mu.Unlock()
	out.Env, out.More = namedIn(opened, n.trees, variables), more
	return out
}

// onHost is what the host has under a name: the thing itself, or for something that was
// to be made the directory that it was to be made in.
func onHost(a keeper.Ask) (Path, bool) {
	p := Path{Path: a.Path, Write: a.Write, Open: a.Open}
	dir, ok := stat(p.Path)
	if !ok && a.Write {
		p.Path = path.Dir(p.Path)
		dir, ok = stat(p.Path)
		ok = ok && dir
	}
	p.Dir = dir
	mode := uint32(unix.R_OK)
	if p.Write {
		mode |= unix.W_OK
	}
	return p, ok && unix.Access(p.Path, mode) == nil
}

// stat tells a directory from a file; nothing else can be shown inside. Nothing is
// mounted for the sake of a look.
func stat(p string) (dir, ok bool) {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, p, unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE, &st) != nil {
		return false, false
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return true, true
	case unix.S_IFREG:
		return false, true
	}
	return false, false
}
