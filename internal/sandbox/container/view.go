package container

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// view is what an engine is asked to build of a plan, where the first process inside may
// not mount. That process compares what came of it with the plan.
type view struct {
	ops    []plan.Op         // those that are dealt with, with the inodes that they must come to
	dir    string            // of the session's state, for generated files
	mounts []mount           // by path
	tmpfs  map[string]string // options by path
	masked []string          // below /proc
	links  map[string]string // of the root
	dirs   []string          // of the root
	owner  string            // options of a tmpfs
	files  int
}

// viewOf turns a plan into what an engine can build. dir is an empty directory of the
// session's state, which no agent reaches.
func viewOf(p *plan.Plan, dir string) (*view, error) {
	v := &view{dir: dir, tmpfs: map[string]string{"/sys": "ro,noexec,nosuid,nodev,size=4k,mode=0555"}, links: map[string]string{},
		owner: fmt.Sprintf("uid=%d,gid=%d", p.UID, p.GID)}
	if err := os.Mkdir(v.emptyDir(), 0o555); err != nil {
		return nil, err
	}
	if err := os.WriteFile(v.emptyFile(), nil, 0o444); err != nil {
		return nil, err
	}
	for _, o := range p.Ops {
		if err := v.add(&o); err != nil {
			return nil, fmt.Errorf("%s %q: %w", o.Do, string(o.Dst), err)
		}
		v.ops = append(v.ops, o)
	}
	return v, nil
}

func (v *view) emptyDir() string  { return filepath.Join(v.dir, "empty-dir") }
func (v *view) emptyFile() string { return filepath.Join(v.dir, "empty-file") }

func (v *view) add(o *plan.Op) error {
	at := string(o.Dst)
	if !utf8.ValidString(at) || !utf8.ValidString(string(o.Src)) && o.Do != plan.DoSymlink {
		return errors.New("has a name that no engine can be told of")
	}
	if engines(o) {
		return nil
	}
	switch o.Do {
	case plan.DoTmpfs:
		return v.room(at, fmt.Sprintf("mode=%#o,size=%d,nr_inodes=%d", o.Mode, o.Size, o.Size/(16<<10)+64), o.NoExec)
	case plan.DoBind:
		if o.There {
			return errors.New("an image cannot be shown in part")
		}
		return v.bind(string(o.Src), at, !o.Write)
	case plan.DoFile:
		v.files++
		name := filepath.Join(v.dir, strconv.Itoa(v.files))
		if o.Mode&0o111 != 0 {
			o.Mode = 0o555 // a program of ours
		} else {
			o.Mode = 0o444
		}
		mode := fs.FileMode(o.Mode) // whatever the umask is: the first process inside compares it
		if err := errors.Join(os.WriteFile(name, o.Data, mode), os.Chmod(name, mode)); err != nil {
			return err
		}
		return v.own(o, name)
	case plan.DoMask:
		return v.mask(o)
	case plan.DoSymlink, plan.DoDir:
		return v.name(o)
	}
	return errors.New("no engine can be asked for that")
}

// engines holds for what an engine has of its own: /proc, and /dev with its terminals. Both
// are read-only by newOrder.
func engines(o *plan.Op) bool {
	at := string(o.Dst)
	switch o.Do {
	case plan.DoProc, plan.DoPts, plan.DoDevice, plan.DoReadOnly:
		return true
	case plan.DoSymlink:
		return file.Within(at, "/dev")
	}
	return o.Do == plan.DoTmpfs && at == "/dev"
}

// over finds what a path of the view lies in; nil: the root.
func (v *view) over(at string) (found *plan.Op) {
	for i, o := range v.ops {
		if (o.Do == plan.DoBind || o.Do == plan.DoTmpfs) && at != string(o.Dst) && file.Within(at, string(o.Dst)) && (found == nil || len(o.Dst) > len(found.Dst)) {
			found = &v.ops[i]
		}
	}
	return found
}

// source is what the host has at a path of the view; "": nothing of the host is there.
func (v *view) source(at string) string {
	in := v.over(at)
	if in == nil || in.Do != plan.DoBind {
		return ""
	}
	return path.Join(string(in.Src), strings.TrimPrefix(at, string(in.Dst)))
}

// ready makes a path one at which the engine can mount. In a tmpfs it would make the
// directories above as root, so each becomes a tmpfs of the user's. On the host nothing is
// made: what is not there ends the start.
func (v *view) ready(at string) error {
	in := v.over(at)
	switch {
	case in == nil:
	case in.Do == plan.DoTmpfs:
		for up := path.Dir(at); up != string(in.Dst); up = path.Dir(up) {
			if _, ok := v.tmpfs[up]; !ok {
				v.tmpfs[up] = fmt.Sprintf("rw,exec,nosuid,nodev,mode=0755,size=%d,nr_inodes=%d,%s", in.Size, in.Size/(16<<10)+64, v.owner)
			}
		}
	default:
		if _, err := os.Lstat(v.source(at)); err != nil {
			return errors.New("would create a name on the host")
		}
	}
	return nil
}

func (v *view) room(at, options string, noexec bool) error {
	exec := "exec"
	if noexec {
		exec = "noexec"
	}
	v.tmpfs[at] = fmt.Sprintf("rw,%s,nosuid,nodev,%s,%s", exec, options, v.owner)
	return v.ready(at)
}

func (v *view) bind(source, at string, readOnly bool) error {
	if !path.IsAbs(source) || path.Clean(source) != source || source == "/" {
		return fmt.Errorf("%q cannot be shared with a container", source)
	}
	v.mounts = slices.DeleteFunc(v.mounts, func(m mount) bool { return m.Target == at }) // the last one is seen
	v.mounts = append(v.mounts, share(source, at, readOnly))
	return v.ready(at)
}

// own puts a file or directory of the session's state in the place of an operation.
func (v *view) own(o *plan.Op, source string) error {
	i, err := probe.InodeOf(source)
	if err != nil {
		return err
	}
	o.ID = &plan.Identity{Dev: i.Dev, Ino: i.Ino}
	return v.bind(source, string(o.Dst), true)
}

// mask hides what the host has at a path, if it has something.
func (v *view) mask(o *plan.Op) error {
	at := string(o.Dst)
	if file.Within(at, "/proc") {
		v.masked = append(v.masked, at)
		return nil
	}
	source := v.source(at)
	for _, m := range v.mounts {
		if m.Target == at {
			source = m.Source
		}
	}
	if source == "" {
		return nil
	}
	st, err := os.Lstat(source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode()&fs.ModeSymlink != 0:
		return errors.New("is a symbolic link: mask what it points to")
	case st.IsDir():
		return v.own(o, v.emptyDir())
	}
	return v.own(o, v.emptyFile())
}

// name is for a name without a mount: the image has it, or the first process makes it.
func (v *view) name(o *plan.Op) error {
	at := string(o.Dst)
	in := v.over(at)
	switch {
	case in == nil && o.Do == plan.DoSymlink:
		v.links[at] = string(o.Src)
	case in == nil:
		v.dirs = append(v.dirs, at)
	case in.Do != plan.DoTmpfs:
		return errors.New("would create a name on the host")
	}
	return nil
}

// root is the image of the view: names only, so it is the same for every session of a
// machine.
func (v *view) root() (tag string, content []byte, err error) {
	headers := map[string]tar.Header{}
	add := func(at string, h tar.Header) {
		h.Name = strings.TrimPrefix(at, "/")
		headers[h.Name] = h
		for up := path.Dir(at); up != "/"; up = path.Dir(up) {
			headers[up[1:]] = tar.Header{Name: up[1:] + "/", Typeflag: tar.TypeDir, Mode: 0o755}
		}
	}
	for at, to := range v.links {
		add(at, tar.Header{Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777})
	}
	for _, at := range v.dirs {
		add(at+"/.", tar.Header{Typeflag: tar.TypeDir, Mode: 0o755})
	}
	names := []string{}
	for n := range headers {
		names = append(names, n)
	}
	slices.Sort(names)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, n := range names {
		h := headers[n]
		if err := w.WriteHeader(&h); err != nil {
			return "", nil, err
		}
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	return fmt.Sprintf("%x", sum[:12]), b.Bytes(), nil
}
