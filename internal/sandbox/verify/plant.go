package verify

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// plant is what stands on the host during a proof: the canary, at every place
// from which it must not be reachable. All files are in private directories with
// random names, and all of it is gone with remove.
type plant struct {
	id, canary, decoy string
	environ           []string // the launcher's, with canaries
	names             []string // the variables among them that must not be set inside

	state, tmp, varTmp, shm, runtime string // private directories
	workspace, sibling, own          string
	places                           map[string]probe.Place
	standIn                          map[string]string // checks whose canary is not at its usual place: why
	allowed                          map[string]string // checks that leave out what policy lets in: what

	world     *world // behind the gate
	tcp       []net.Listener
	abstract  net.Listener
	pathnames []net.Listener
	stand     *exec.Cmd
	leaked    []*os.File
	segment   int
	keyring   int // 0: none could be made
	ns        map[string]uint64
	kernel    probe.Kernel
	asked     *bool // whether the process that asked inside was one of this kernel; nil: nobody looked

	git    gitRuns           // whether git ran something in the control
	end    *ending           // nil: nobody saw the end of the session
	before map[string]string // the workspace as it was made
	undo   []func()
}

// plantCanaries returns the plant even with an error, so that what stands already
// can be removed.
func plantCanaries(c Config) (*plant, error) {
	var b [probe.CanaryDigits / 2]byte
	rand.Read(b[:])
	var id [6]byte
	rand.Read(id[:])
	p := &plant{id: hex.EncodeToString(id[:]), decoy: rand.Text(), canary: probe.Mark + hex.EncodeToString(b[:]),
		places: map[string]probe.Place{}, standIn: map[string]string{}, allowed: map[string]string{}, ns: map[string]uint64{}}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"namespaces", p.namespaces},
		{"directories", func() error { return p.directories(c.State, runtimeDir(c.Environ)) }},
		{"files", func() error { return p.files(c.Home, c.Shown) }},
		{"sockets", p.sockets},
		{"network", func() (err error) { p.world, err = newWorld(p); return err }},
		{"environment", func() error { p.environment(c.Environ, c.Passed); return nil }},
		{"shared memory", p.sharedMemory},
		{"descriptors", p.descriptors},
		{"session key", p.sessionKey},
		{"process", func() error { return p.process(c.Self) }},
	} {
		if err := step.do(); err != nil {
			return p, fmt.Errorf("plant canaries: %s: %w", step.what, err)
		}
	}
	return p, nil
}

// remove takes everything away, last first.
func (p *plant) remove() {
	for i := len(p.undo) - 1; i >= 0; i-- {
		p.undo[i]()
	}
	p.undo = nil
}

func (p *plant) later(f func()) { p.undo = append(p.undo, f) }

func (p *plant) namespaces() error {
	for _, k := range probe.Kinds() {
		n, err := probe.Namespace("self", k)
		if err != nil {
			return err
		}
		p.ns[k] = n
	}
	var err error
	p.kernel, err = probe.OwnKernel()
	return err
}

// sharedMemory makes a segment that the kernel removes with this process, however
// it ends: removed already, it lives as long as it is attached, and Linux still
// finds it by its number.
func (p *plant) sharedMemory() error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		return fmt.Errorf("shmget: %w", err)
	}
	b, err := unix.SysvShmAttach(id, 0, 0)
	_, rmErr := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	if err != nil {
		return fmt.Errorf("shmat: %w", err)
	}
	p.later(func() { unix.SysvShmDetach(b) })
	copy(b, p.canary)
	p.segment = id
	if rmErr != nil {
		return fmt.Errorf("shmctl: %w", rmErr)
	}
	return nil
}

// descriptors opens a secret file and a directory and leaves them inheritable.
func (p *plant) descriptors() error {
	for _, name := range []string{filepath.Join(p.state, "secret"), p.sibling} {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		p.later(func() { f.Close() })
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("fcntl: %w", err)
		}
		p.leaked = append(p.leaked, f)
	}
	return nil
}

// sessionKey gives this thread a session keyring with a canary in it. Both end
// with the thread. A kernel without keyrings has nothing to leak; its check then
// says that there was no control.
func (p *plant) sessionKey() error {
	// Without a name, which x/sys cannot say: nobody can join it.
	ring, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	if errno == unix.ENOSYS {
		return nil
	}
	if errno != 0 {
		return fmt.Errorf("join a session keyring: %w", errno)
	}
	p.keyring = int(int32(ring))
	if _, err := unix.AddKey("user", p.keyName(), []byte(p.canary), unix.KEY_SPEC_SESSION_KEYRING); err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	return nil
}

func (p *plant) keyName() string { return "ringfence-verify-" + p.id }

// process starts one that shows the canary in its environment and arguments, and
// that anybody of the same user may touch.
func (p *plant) process(self string) error {
	p.stand = exec.Command(self, probe.Arg, probe.StandArg, p.canary)
	p.stand.Env = p.environ
	p.stand.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := p.stand.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.stand.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.stand.Start(); err != nil {
		return err
	}
	p.later(func() {
		in.Close()
		p.stand.Process.Kill()
		p.stand.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		return fmt.Errorf("%q does not answer to %s: it said %q (%v)", self, probe.Arg, line, err)
	}
	return nil
}

// target tells the battery where to look. keeper is the process that keeps it,
// own the directory that only Landlock protects; these two differ outside.
func (p *plant) target(keeper int, own string) probe.Target {
	t := probe.Target{Canary: probe.Digest([]byte(p.canary)), UID: os.Getuid(), Kernel: p.kernel, NS: p.ns, Places: p.places, Names: p.names,
		Contents: map[string]string{}, Abstract: p.abstractName(), Key: p.keyName(), Segment: p.segment,
		Process: p.stand.Process.Pid, Keeper: keeper, Own: probe.Path(own), Workspace: probe.Path(p.workspace),
		Sibling: probe.Path(p.sibling), Proof: p.proof(), Ran: probe.Path(p.ran())}
	for _, l := range p.tcp {
		t.TCP = append(t.TCP, l.Addr().String())
	}
	for _, check := range []string{"tmp", "shm"} {
		t.PrivateTmp = append(t.PrivateTmp, p.places[check].Files...)
	}
	for _, f := range []string{"/etc/passwd", "/etc/machine-id", "/etc/hosts"} {
		if b, err := os.ReadFile(f); err == nil {
			t.Contents[f] = probe.Digest(b)
		}
	}
	t.Root, _ = probe.InodeOf("/") // without it the target is refused
	var st unix.Stat_t
	if unix.Stat("/dev/pts", &st) == nil {
		t.Terminals = st.Dev
	}
	// A host that is called as every sandbox is proves nothing by its name.
	if name, err := os.Hostname(); err == nil && name != probe.Comm {
		t.Hostname = probe.Path(name)
	}
	return t
}

func (p *plant) proof() string { return "proof-" + p.id }

// proven looks whether what was written inside arrived here, as our own.
func (p *plant) proven(dir string) error {
	file := filepath.Join(dir, p.proof())
	st, err := os.Lstat(file)
	if err != nil {
		return err
	}
	if uid := st.Sys().(*syscall.Stat_t).Uid; int(uid) != os.Geteuid() {
		return errors.New("the file belongs to uid " + strconv.Itoa(int(uid)))
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if string(b) != probe.Digest([]byte(p.canary)) {
		return errors.New("the file has another content")
	}
	return nil
}
