package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"ringfence.dev/ringfence/internal/file"
)

// spot is one thing at one path of the view. Spots are sorted so that what is
// above is there before what is below, whatever order the rules came in.
type spot struct {
	at  string
	ops []Op
}

// Make turns in into a plan. The same input gives the same plan.
func Make(in Input) (*Plan, error) {
	if err := check(in); err != nil {
		return nil, err
	}
	mounts, err := Join(in.Mounts)
	if err != nil {
		return nil, err
	}
	if err := refuseGenerated(in, mounts); err != nil {
		return nil, err
	}
	spots := slices.Concat(systemSpots(in.System, in.There), privateSpots(in), mountSpots(mounts), linkSpots(in.Links))
	slices.SortStableFunc(spots, func(a, b spot) int { return comparePath(a.at, b.at) })

	p := &Plan{Version: Version, Session: in.Session, Hostname: in.Hostname, UID: in.User.UID, GID: in.User.GID,
		Walls: in.Walls, Limits: in.Limits, Seccomp: in.Seccomp, Process: in.Process, Capture: in.Capture, Filter: in.Filter}
	for _, pl := range spots {
		p.Ops = append(p.Ops, pl.ops...)
	}
	p.Trees = trees(mounts)
	p.Ops = append(p.Ops, layerOps(mounts, p.Trees)...)
	if len(p.Trees) > 0 || in.Observe {
		p.Watch, p.Heard = in.Watch, in.Heard
	}
	p.Ops = append(p.Ops, fileOps(in)...)
	p.Ops = append(p.Ops, maskOps(in.Masks)...)
	// Last: nothing can be added to our own root and /dev any more.
	p.Ops = append(p.Ops, Op{Do: DoReadOnly, Dst: "/dev", Why: "minimal /dev"}, Op{Do: DoReadOnly, Dst: "/", Why: "empty root"})
	p.Landlock = landlock(in.ABI, p.Ops, p.Trees)
	return p, p.validate()
}

func check(in Input) error {
	for _, d := range []struct{ what, path string }{{"home", in.User.Home}, {"working directory", string(in.Process.Dir)}} {
		if !path.IsAbs(d.path) || path.Clean(d.path) != d.path || d.path == "/" {
			return fmt.Errorf("%s %q is not a clean absolute path below /", d.what, d.path)
		}
	}
	return nil
}

// Join drops mounts that are there twice. Where two rules name one place, the tighter wins.
func Join(in []Mount) ([]Mount, error) {
	var out []Mount
	at := map[string]int{}
	for _, m := range in {
		if !path.IsAbs(m.Dst) || path.Clean(m.Dst) != m.Dst || m.Dst == "/" {
			return nil, fmt.Errorf("mount at %q is not a clean absolute path below /", m.Dst)
		}
		i, seen := at[m.Dst]
		if !seen {
			at[m.Dst] = len(out)
			out = append(out, m)
			continue
		}
		if out[i].Src != m.Src {
			return nil, fmt.Errorf("two sources for %q: %q (%s) and %q (%s)", m.Dst, out[i].Src, out[i].Why, m.Src, m.Why)
		}
		if out[i].Write && !m.Write || out[i].View == Direct && m.View != Direct && out[i].Write {
			out[i] = m
		}
	}
	return out, nil
}

// refuseGenerated keeps a mount from taking the place of a file that we make.
func refuseGenerated(in Input, mounts []Mount) error {
	for _, op := range fileOps(in) {
		for _, m := range mounts {
			if m.Dst == string(op.Dst) {
				return fmt.Errorf("%q (%s) is made by ringfence itself (%s) and cannot be the host's", m.Dst, m.Why, op.Why)
			}
		}
	}
	return nil
}

// comparePath orders by components, so that "/a" < "/a/b" < "/a-b": byte by byte
// with "/" before all others. It is called too often in a launch to split them.
func comparePath(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

func systemSpots(nodes []Node, there bool) []spot {
	var out []spot
	for _, n := range nodes {
		op := Op{Do: DoBind, Dst: Raw(n.Path), Src: Raw(n.Real), There: there, Why: "system"}
		// A merged /bin, /lib, … is a link into /usr and stays one; links in
		// /etc are followed, because where they lead may not be in the view.
		if n.Link != "" && path.Dir(n.Path) == "/" {
			op = Op{Do: DoSymlink, Dst: Raw(n.Path), Src: Raw(n.Link), Why: "system"}
		}
		out = append(out, spot{n.Path, []Op{op}})
	}
	return out
}

// privateSpots are the directories that belong to the session alone.
func privateSpots(in Input) []spot {
	run := fmt.Sprintf("/run/user/%d", in.User.UID)
	dev := []Op{
		{Do: DoTmpfs, Dst: "/dev", Size: 64 << 10, Mode: 0o755, NoExec: true, Why: "minimal /dev"},
		{Do: DoPts, Dst: "/dev/pts", Why: "own terminals"},
		{Do: DoSymlink, Dst: "/dev/ptmx", Src: "pts/ptmx", Why: "own terminals"},
		{Do: DoSymlink, Dst: "/dev/fd", Src: "/proc/self/fd", Why: "minimal /dev"},
		{Do: DoSymlink, Dst: "/dev/stdin", Src: "/proc/self/fd/0", Why: "minimal /dev"},
		{Do: DoSymlink, Dst: "/dev/stdout", Src: "/proc/self/fd/1", Why: "minimal /dev"},
		{Do: DoSymlink, Dst: "/dev/stderr", Src: "/proc/self/fd/2", Why: "minimal /dev"},
		{Do: DoTmpfs, Dst: "/dev/shm", Size: in.Sizes.Shm, Mode: 0o1777, NoExec: true, Why: "private shared memory"},
	}
	for _, d := range devices() {
		dev = append(dev, Op{Do: DoDevice, Dst: Raw(d), Src: Raw(d), Why: "minimal /dev"})
	}
	proc := []Op{{Do: DoProc, Dst: "/proc", Why: "own processes only"}}
	for _, m := range procMasks() {
		proc = append(proc, Op{Do: DoMask, Dst: Raw(m), Why: "tells of the host"})
	}
	return []spot{
		{Own, []Op{{Do: DoTmpfs, Dst: Own, Size: 4 << 20, Mode: 0o755, NoExec: true, Why: "what ringfence tells the agent"}}},
		{"/dev", dev},
		{"/proc", proc},
		{"/run", []Op{{Do: DoTmpfs, Dst: "/run", Size: in.Sizes.Run, Mode: 0o755, Why: "private runtime directory"},
			{Do: DoDir, Dst: "/run/user", Mode: 0o755, Why: "private runtime directory"},
			{Do: DoDir, Dst: Raw(run), Mode: 0o700, Why: "private runtime directory"},
			{Do: DoDir, Dst: "/run/lock", Mode: 0o1777, Why: "private runtime directory"}}},
		{"/tmp", []Op{{Do: DoTmpfs, Dst: "/tmp", Size: in.Sizes.Tmp, Mode: 0o1777, Why: "private temporary files"}}},
		{"/var", []Op{{Do: DoSymlink, Dst: "/var/run", Src: "/run", Why: "private runtime directory"},
			{Do: DoSymlink, Dst: "/var/lock", Src: "/run/lock", Why: "private runtime directory"},
			{Do: DoTmpfs, Dst: "/var/tmp", Size: in.Sizes.Tmp, Mode: 0o1777, Why: "private temporary files"}}},
		{in.User.Home, []Op{{Do: DoTmpfs, Dst: Raw(in.User.Home), Size: in.Sizes.Home, Mode: 0o700, Why: "private HOME"}}},
	}
}

func mountSpots(mounts []Mount) []spot {
	var out []spot
	for _, m := range mounts {
		op := Op{Do: DoBind, Dst: Raw(m.Dst), Src: Raw(m.Src), Write: m.Write, ID: m.ID, Why: m.Why}
		switch {
		case m.live():
			op.Write = false
		case m.Write && m.View == Direct && len(m.Below) > 0:
			op.Do, op.Upper, op.Work, op.Lower = DoCache, Raw(m.Layer.Upper), Raw(m.Layer.Work), raws(m.Below)
		case m.Write && m.View == Review:
			op.Do, op.Write, op.Upper, op.Work = DoLayer, false, Raw(m.Layer.Upper), Raw(m.Layer.Work)
		}
		out = append(out, spot{m.Dst, []Op{op}})
	}
	return out
}

func raws(list []string) (out []Raw) {
	for _, s := range list {
		out = append(out, Raw(s))
	}
	return out
}

func (m Mount) live() bool { return m.Write && m.View == Live }

// layersAt is where the layers of live trees are mounted: not to be looked at, but
// to be brought over single paths later. A mask covers them.
const layersAt = Own + "/layer"

func trees(mounts []Mount) []Tree {
	var out []Tree
	for _, m := range mounts {
		if !m.live() {
			continue
		}
		t := Tree{Path: Raw(m.Dst)}
		if m.Layer != nil {
			t.Layer = Raw(fmt.Sprintf("%s/%d", layersAt, len(out)))
		}
		out = append(out, t)
	}
	return out
}

func layerOps(mounts []Mount, trees []Tree) []Op {
	var out []Op
	n := 0
	for _, m := range mounts {
		if !m.live() {
			continue
		}
		if m.Layer != nil {
			out = append(out, Op{Do: DoLayer, Dst: trees[n].Layer, Src: Raw(m.Src), Upper: Raw(m.Layer.Upper), Work: Raw(m.Layer.Work), ID: m.ID, Why: "what is held back"})
		}
		n++
	}
	if len(out) > 0 {
		out = append(out, Op{Do: DoMask, Dst: layersAt, Why: "what is held back"})
	}
	return out
}

func linkSpots(links []Link) []spot {
	var out []spot
	for _, l := range links {
		out = append(out, spot{l.At, []Op{{Do: DoSymlink, Dst: Raw(l.At), Src: Raw(l.To), Why: "the path you came by"}}})
	}
	return out
}

func maskOps(masks []Mask) []Op {
	var out []Op
	for _, m := range masks {
		out = append(out, Op{Do: DoMask, Dst: Raw(m.Path), Why: m.Why})
	}
	return out
}

// landlock names the topmost writable spots; what is read-only below them is
// read-only by its mount.
func landlock(abi int, ops []Op, trees []Tree) Landlock {
	l := Landlock{ABI: abi, Dev: []Raw{"/dev/pts"}}
	for _, d := range devices() {
		l.Dev = append(l.Dev, Raw(d))
	}
	var write []string
	for _, t := range trees { // what is held in them is written like any file
		write = append(write, string(t.Path))
	}
	for _, op := range ops {
		writable := op.Do == DoTmpfs || (op.Do == DoBind && op.Write) || op.Do == DoLayer || op.Do == DoCache
		if writable && op.Dst != "/dev" && !file.Within(string(op.Dst), Own) {
			write = append(write, string(op.Dst))
		}
	}
	slices.SortFunc(write, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	for _, w := range write {
		if !slices.ContainsFunc(l.Write, func(have Raw) bool { return file.Within(w, string(have)) }) {
			l.Write = append(l.Write, Raw(w))
		}
	}
	return l
}
