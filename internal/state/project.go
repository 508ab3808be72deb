package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// The names in a project's directory. An agent sees parts of home and no other.
const (
	homeName   = "home"   // what the agent keeps
	asideName  = "aside"  // what was found where something else belongs
	lockName   = "lock"   // held shared by sessions, exclusively by removal
	recordName = "record" // which root this is; mtime: last used
	overName   = "over"   // layers of overlays: the agent writes to them, and sees them through one alone
)

// Project is the state of one project, held against removal until Close.
type Project struct {
	Key  string
	Root string
	dir  string // canonical path
	fd   int
	home int
	lock int
	over []*os.File // layers that are this session's
}

// Open returns the state that belongs to root, making it if there is none, and
// marks it as used. Root is gitdir's Repo.Main, or the canonical workspace.
func (d Dirs) Open(root string) (*Project, error) {
	projects, err := d.openProjects(true)
	if err != nil {
		return nil, err
	}
	defer unix.Close(projects)
	key := Key(root)
	// A removal can come between any two steps; each round starts afresh.
	for range 16 {
		p, err := attach(projects, key)
		if p != nil {
			return p.check(root)
		}
		if err == nil {
			err = create(projects, key, root)
		}
		if err != nil {
			return nil, fault.New(fault.Failed, gcHint, "state of project %q: %w", root, err)
		}
	}
	return nil, fmt.Errorf("state of project %q: made and removed again and again", root)
}

// Has reports whether root has been a project, or a workspace of one, before.
func (d Dirs) Has(root string) bool {
	var st unix.Stat_t
	return unix.Lstat(filepath.Join(d.State, "projects", Key(root)), &st) == nil ||
		unix.Lstat(d.mark(root), &st) == nil
}

// Mark remembers a workspace whose state is kept under another root, as that of a
// linked worktree or a submodule is.
func (d Dirs) Mark(workspace string) error {
	if d.Has(workspace) {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(d.State, "workspaces"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(d.mark(workspace), nil, 0o600)
}

func (d Dirs) mark(workspace string) string {
	return filepath.Join(d.State, "workspaces", Key(workspace))
}

const gcHint = "if its state is damaged, `ringfence gc` shows and removes it"

// Home is the directory below which Ensure places things.
func (p *Project) Home() string { return filepath.Join(p.dir, homeName) }

// Memory is a file beside the home, which no session sees.
func (p *Project) Memory(name string) string { return filepath.Join(p.dir, name) }

// OpenDir opens a directory below the home and makes it if it is missing. No link that an
// agent left there is followed.
func (p *Project) OpenDir(rel string) (*os.File, error) {
	if _, err := p.Ensure([]Item{{Path: rel, Dir: true}}); err != nil {
		return nil, err
	}
	fd, err := openAt(p.home, rel, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: rel, Err: err}
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// Layer is the pair of directories that an overlay writes to, for one session at a time. It
// is not there where another session has it, or the file system takes no marks.
func (p *Project) Layer(name string) (upper, work string, ok bool) {
	dir := filepath.Join(p.dir, overName, name)
	upper, work = filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	if errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755)) != nil {
		return "", "", false
	}
	f, err := file.LockDir(dir, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return "", "", false
	}
	p.over = append(p.over, f)
	return upper, work, unix.Fsetxattr(int(f.Fd()), "user.ringfence", []byte("1"), 0) == nil
}

// Close lets go of the project.
func (p *Project) Close() error {
	for _, f := range p.over {
		f.Close()
	}
	return errors.Join(unix.Close(p.home), unix.Close(p.fd), unix.Close(p.lock))
}

// openProjects opens the directory of all projects. It must be ours alone:
// another user who could rename in it would choose what agents are given.
func (d Dirs) openProjects(make bool) (int, error) {
	path := filepath.Join(d.State, "projects")
	if make {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return -1, err
		}
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		unix.Close(fd)
		return -1, fault.New(fault.Refused, "set XDG_STATE_HOME to a directory of your own, or: chmod go-w "+fmt.Sprintf("%q", path),
			"state directory %q belongs to or can be changed by others", path)
	}
	return fd, nil
}

// attach opens and locks an existing project. Nil without an error means that
// there is none, or that it was just removed.
func attach(projects int, key string) (*Project, error) {
	fd, err := openAt(projects, key, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.ENOENT {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	step("opened")
	p := &Project{Key: key, fd: fd, home: -1, lock: -1}
	err = p.open()
	removed := !file.Named(projects, key, fd) // and then err only says how far that got
	if err == nil && !removed {
		return p, nil
	}
	p.Close()
	if removed {
		return nil, nil
	}
	return nil, err
}

func (p *Project) open() (err error) {
	if p.dir, err = os.Readlink(fdPath(p.fd)); err != nil {
		return err
	}
	if p.lock, err = openAt(p.fd, lockName, unix.O_RDONLY, 0); err != nil {
		return fmt.Errorf("open %q: %w", lockName, err)
	}
	if p.home, err = openAt(p.fd, homeName, unix.O_PATH|unix.O_DIRECTORY, 0); err != nil {
		return fmt.Errorf("open %q: %w", homeName, err)
	}
	return file.Lock(p.lock, unix.LOCK_SH)
}

// check compares the record with root and marks the project as used: an mtime,
// no data and no fsync, because every launch passes here.
func (p *Project) check(root string) (*Project, error) {
	r, err := readRecord(p.fd)
	if err == nil && r.Root != root {
		err = fmt.Errorf("key %s is taken by %q", p.Key, r.Root)
	}
	if err == nil {
		err = unix.UtimesNanoAt(p.fd, recordName, nil, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		p.Close()
		return nil, fault.New(fault.Failed, gcHint, "state of project %q in %q: %w", root, p.dir, err)
	}
	p.Root = root
	return p, nil
}

func readRecord(project int) (record, error) {
	b, err := readAll(project, recordName, maxRecord)
	if err != nil {
		return record{}, err
	}
	return decodeRecord(b)
}

// create makes a complete project and renames it into place. That another
// process was faster is no error: its directory is as good.
func create(projects int, key, root string) error {
	if err := sweep(projects); err != nil {
		return err
	}
	name, fd, err := scratch(projects, true)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = fill(fd, record{Root: root, Created: time.Now()})
	if err == nil {
		// Never empty, so that renaming onto an existing project fails.
		err = unix.Renameat(projects, name, projects, key)
		step("renamed")
	}
	if err != nil {
		gone := removeTree(projects, name)
		if err == unix.EEXIST || err == unix.ENOTEMPTY {
			return gone
		}
		return errors.Join(err, gone)
	}
	return unix.Fsync(projects)
}

func fill(fd int, r record) error {
	for _, name := range []string{homeName, asideName} {
		if err := unix.Mkdirat(fd, name, 0o700); err != nil {
			return err
		}
	}
	step("directories made")
	b, err := r.encode()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{lockName: nil, recordName: b} {
		if err := writeSynced(fd, name, content); err != nil {
			return err
		}
		step(name + " written")
	}
	return unix.Fsync(fd)
}

func writeSynced(dir int, name string, content []byte) error {
	fd, err := openAt(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}
