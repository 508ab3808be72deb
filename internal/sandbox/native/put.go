package native

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// maxPut bounds what is compared before it is replaced. A longer file is replaced if it
// begins alike.
const maxPut = 1 << 20

// Put implements rung.Sandbox: it writes through the sandbox's own view, which leads to the
// layer. What the layer has already is the agent's, unless it is what the host has.
func (s *sandbox) Put(p string, data []byte) (rung.Placed, error) {
	upper, host, ok := layerAt(s.ops, p)
	if !ok {
		return 0, fmt.Errorf("%q lies in no layer", p)
	}
	root, err := s.root()
	if err != nil {
		return 0, err
	}
	defer root.Close()
	open := func(flags int) (*os.File, error) {
		fd, err := sys.OpenAt(int(root.Fd()), strings.TrimPrefix(p, "/"), flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), p), nil
	}
	if _, err := os.Lstat(upper); err == nil && !asHost(host, open) {
		return rung.TheirOwn, nil
	}
	f, err := open(unix.O_WRONLY | unix.O_TRUNC)
	switch {
	case none(err):
		return rung.NotThere, nil
	case errors.Is(err, unix.EROFS):
		return rung.Fixed, nil
	case err != nil:
		return 0, err
	}
	_, err = f.Write(data)
	return rung.Done, errors.Join(err, f.Close())
}

// writtenOps are the operations by which something can be written. The others hold contents of
// files, half a megabyte of certificates among them, which a session would keep to its end.
func writtenOps(ops []plan.Op) []plan.Op {
	var out []plan.Op
	for _, o := range ops {
		if o.Do == plan.DoLayer || o.Do == plan.DoBind && o.Write {
			out = append(out, o)
		}
	}
	return out
}

// layerAt finds where the layer has a path, and where the host has it. A complete copy is a
// layer too; what is bound in as the host has it is none, and is never written to.
func layerAt(ops []plan.Op, p string) (upper, host string, ok bool) {
	best := -1
	for i, o := range ops {
		if file.Within(p, string(o.Dst)) && (best < 0 || len(o.Dst) >= len(ops[best].Dst)) {
			best = i
		}
	}
	if best < 0 {
		return "", "", false
	}
	o := ops[best]
	rel := strings.TrimPrefix(p[len(o.Dst):], "/")
	switch {
	case o.Do == plan.DoLayer:
		return path.Join(string(o.Upper), rel), path.Join(string(o.Src), rel), true
	case o.Src != o.Dst:
		return path.Join(string(o.Src), rel), p, true
	}
	return "", "", false
}

// asHost says whether the sandbox sees what the host has. What cannot be told is hidden.
func asHost(host string, open func(int) (*os.File, error)) bool {
	f, err := open(unix.O_RDONLY)
	if none(err) {
		return false
	}
	if err != nil {
		return true
	}
	defer f.Close()
	inside, err := file.ReadRegular(f, maxPut)
	if errors.Is(err, file.ErrNotRegular) {
		return false
	}
	there, herr := file.Read(host, maxPut, unix.O_NOFOLLOW)
	unread := err != nil && !errors.Is(err, file.ErrLong) || herr != nil && !errors.Is(herr, file.ErrLong)
	return unread || bytes.Equal(inside, there)
}

// none holds where there is no such file.
func none(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// Sync implements rung.Sandbox: the layers lie on this host.
func (s *sandbox) Sync() error { return nil }
