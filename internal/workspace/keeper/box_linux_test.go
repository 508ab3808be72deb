package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/seccomp"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/undo"
	"ringfence.dev/ringfence/test/wait"
)

// A sandbox in miniature: a re-execution of the test binary in namespaces of its own,
// with the tree read-only at its own path, a layer over it elsewhere, and the filter.
// It does the one thing that the variable names, and says what it saw then.
const (
	childEnv = "RINGFENCE_KEEPER_CHILD"
	learnEnv = "RINGFENCE_KEEPER_LEARN"
	pipeFD   = 3
)

func TestMain(m *testing.M) {
	name, dir, ok := strings.Cut(os.Getenv(childEnv), ":")
	if !ok {
		os.Exit(m.Run())
	}
	run := func() error { return child(name, dir) }
	if name == "watched" {
		run = func() error { return watched(tasks[dir]) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// answer is what comes of an operation inside.
type answer struct {
	Err  string // of the operation
	List string // the tree, as the sandbox sees it afterwards
}

func child(name, dir string) error {
	all := slices.Concat(operations(), paused, questions, irreplaceable, public, refusedOps, []operation{unshares})
	at := slices.IndexFunc(all, func(o operation) bool { return o.name == name })
	if at < 0 {
		return fmt.Errorf("there is no operation %q", name)
	}
	layer, err := mountBox(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(sys.DropCapabilities(), sys.NoNewPrivs()); err != nil {
		return err
	}
	program, err := seccomp.Watch(runtime.GOARCH)
	if os.Getenv(learnEnv) != "" {
		program, err = seccomp.Learn(runtime.GOARCH, true)
	}
	if err != nil {
		return err
	}
	watch, err := sys.LoadWatch(program)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(pipeFD, []byte("w"), unix.UnixRights(int(watch.Fd()), layer), nil, 0); err != nil {
		return err
	}
	watch.Close()
	unix.Close(layer)
	pipe := os.NewFile(pipeFD, "pipe")
	if _, err := pipe.Read(make([]byte, 1)); err != nil {
		return err
	}
	if err := os.Chdir(dir + "/tree"); err != nil {
		return err
	}
	unix.Umask(0o022)
	a := answer{Err: text(all[at].do())}
	if a.List, err = list(dir + "/tree"); err != nil {
		return err
	}
	return json.NewEncoder(pipe).Encode(a)
}

// mountBox builds the view: nothing but the tree is changed in it.
func mountBox(dir string) (layer int, err error) {
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE}); err != nil {
		return -1, fmt.Errorf("private: %w", err)
	}
	layer, err = sys.NewMount("overlay", 0, sys.Option{Key: "userxattr"}, sys.Option{Key: "lowerdir", Value: dir + "/tree"},
		sys.Option{Key: "upperdir", Value: dir + "/upper"}, sys.Option{Key: "workdir", Value: dir + "/work"})
	if err != nil {
		return -1, err
	}
	to, err := sys.OpenSource(dir + "/layer")
	if err != nil {
		return -1, err
	}
	defer unix.Close(to)
	if err := sys.Attach(layer, to); err != nil {
		return -1, err
	}
	if fixed := fixPlace(); fixed != "" {
		if err := makeReadOnly(fixed); err != nil {
			return -1, err
		}
	}
	return layer, makeReadOnly(dir + "/tree")
}

// makeReadOnly mounts a directory over itself.
func makeReadOnly(dir string) error {
	tree, err := sys.OpenSource(dir)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	clone, err := sys.CloneTree(tree)
	if err != nil {
		return err
	}
	defer unix.Close(clone)
	if err := sys.Restrict(clone, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
		return err
	}
	return sys.Attach(clone, tree)
}

// text is an error number by its name, or the error's own words.
func text(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return ""
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// list writes a tree down in one line, without its times: "a=text d/ l->there".
func list(root string) (string, error) {
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		// By the name's own look: the type that a directory says is that of what stands
		// for a held name.
		st, err := os.Lstat(p)
		if err != nil {
			return err
		}
		rel := p[len(root)+1:]
		switch st.Mode().Type() {
		case fs.ModeDir:
			out = append(out, rel+"/")
		case fs.ModeSymlink:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			out = append(out, rel+"->"+to)
		case 0:
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if st.Mode() != 0o644 {
				rel += fmt.Sprintf("(%o)", st.Mode())
			}
			out = append(out, rel+"="+string(b))
		default:
			out = append(out, rel+"?"+st.Mode().Type().String())
		}
		return nil
	})
	slices.Sort(out)
	return strings.Join(out, " "), err
}

// box is the outside of one such sandbox.
type box struct {
	t    *testing.T
	dir  string
	keep *Keeper
	cmd  *exec.Cmd
	pipe *os.File
	undo *undo.Store

	keeps bool   // undo leaves what git needs
	fixed string // a further place that is read-only
	learn bool   // hear of what is only asked for, too

	mu      sync.Mutex
	held    []string
	asked   []Ask
	refused []Refused
	failed  []error
}

// newBox makes the tree with a shell script, before the session begins.
func newBox(t *testing.T, host string) *box {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, dir: dir}
	b.sh("umask 022; mkdir tree upper work layer; cd tree; " + host)
	t.Cleanup(func() { exec.Command("chmod", "-R", "u+rwx", dir).Run() }) // overlayfs closes its work directory
	return b
}

func (b *box) sh(script string) {
	b.t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = b.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// start brings the sandbox up to where the operation would begin.
func (b *box) start(name string, pinned ...string) {
	b.t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	b.pipe = os.NewFile(uintptr(pair[0]), "pipe")
	uid, gid := os.Getuid(), os.Getgid()
	b.cmd = exec.Command("/proc/self/exe")
	b.cmd.Env = append(os.Environ(), childEnv+"="+name+":"+b.dir)
	if b.learn {
		b.cmd.Env = append(b.cmd.Env, learnEnv+"=1")
	}
	if b.fixed != "" {
		b.cmd.Env = append(b.cmd.Env, fixedEnv+"="+b.fixed)
	}
	b.cmd.ExtraFiles = []*os.File{theirs}
	b.cmd.Stderr = os.Stderr
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, Setsid: true,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN}} // what overlayfs works with
	err = b.cmd.Start()
	theirs.Close()
	if err != nil {
		b.t.Fatalf("start the sandbox: %v", err)
	}
	watch, layer := b.receive(pair[0])
	b.serve(watch, layer, pinned)
}

func (b *box) receive(pipe int) (watch, layer *os.File) {
	b.t.Helper()
	oob := make([]byte, unix.CmsgSpace(8))
	n, oobn, _, _, err := unix.Recvmsg(pipe, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n != 1 {
		b.t.Fatalf("the sandbox was not built: %v", errors.Join(err, b.cmd.Wait()))
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		b.t.Fatal("no descriptors came", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 2 {
		b.t.Fatal("no descriptors came", err)
	}
	return os.NewFile(uintptr(fds[0]), "watch"), os.NewFile(uintptr(fds[1]), "layer")
}

func (b *box) serve(watch, layer *os.File, pinned []string) {
	b.t.Helper()
	rules, err := hostexec.Builtin()
	if err != nil {
		b.t.Fatal(err)
	}
	if b.undo, err = undo.Create(b.dir+"/undo", []string{b.dir + "/tree"}, undo.Limits{File: 1 << 20, Total: 8 << 20}); err != nil {
		b.t.Fatal(err)
	}
	host, err := os.Open(b.dir + "/tree")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { host.Close(); layer.Close() })
	var asked func(Ask)
	if b.learn {
		asked = b.hear
	}
	b.keep, err = Start(Config{Asked: asked, Listener: watch, PID: b.cmd.Process.Pid, Umask: 0o022, Store: b.undo, Stand: b.dir + "/stand",
		Trees: []Tree{{Path: b.dir + "/tree", Rules: rules, Host: host, Layer: layer, Pinned: pinned}},
		Held: func(_ int, rel string, _ hostexec.Verdict) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.held = append(b.held, rel)
		},
		Refuse: testRefuse,
		Refused: func(r Refused) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.refused = append(b.refused, r)
		},
		Failed: func(err error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.failed = append(b.failed, err)
		}})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) hear(a Ask) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, a)
}

// finish lets the operation run and returns what came of it inside. Nothing is left
// there then.
func (b *box) finish() (a answer) {
	b.t.Helper()
	late := time.AfterFunc(wait.Patience, func() { b.cmd.Process.Kill() })
	defer late.Stop()
	_, err := b.pipe.Write([]byte("g"))
	raw, rerr := io.ReadAll(b.pipe)
	if err := errors.Join(err, rerr, b.cmd.Wait(), json.Unmarshal(raw, &a)); err != nil {
		b.t.Errorf("inside: %v", err)
	}
	b.pipe.Close()
	return a
}

// end closes everything and returns what the host has.
func (b *box) end() string {
	b.t.Helper()
	if err := errors.Join(b.keep.Close(), b.undo.Close()); err != nil {
		b.t.Error(err)
	}
	for _, err := range b.failed {
		b.t.Errorf("the keeper failed: %v", err)
	}
	return b.list("tree")
}

func (b *box) list(rel string) string {
	b.t.Helper()
	l, err := list(filepath.Join(b.dir, rel))
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// restore undoes the session and returns what the host has.
func (b *box) restore() string {
	b.t.Helper()
	log, err := undo.Open(b.dir + "/undo")
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close()
	results, err := log.Restore(0, nil, false)
	if err != nil {
		b.t.Error(err)
	}
	for _, r := range results {
		if r.Outcome == undo.Conflict && !b.keeps || r.Outcome == undo.NotKept {
			b.t.Errorf("undo %s: %s: %s", strconv.Quote(r.Path), r.Outcome, r.Why)
		}
	}
	return b.list("tree")
}
