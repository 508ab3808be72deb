package ssh

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/carrier"
	"ringfence.dev/ringfence/internal/sandbox/far"
)

// The far end is a process of its own, which outlives ssh. It listens at a socket in the
// directory of its session, where only its user comes; what ssh starts leads there. Who
// connects has to know the secret of the session as well.

// stayArg is the first argument of the far end. After it come the cache and the session.
const stayArg = Arg + "-stays"

// The descriptors of the far end.
const (
	fdListen = 3 + iota
	fdLock
	fdTerms
)

// alive is how often both ends say that they are there.
const alive = 10 * time.Second

// door is where the far end listens, by a name that no path makes too long.
func door(dir *os.File) *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), "door")}
}

// settle starts the far end. The lock of the session goes with it.
func (w *work) settle(t *terms) error {
	l, err := net.ListenUnix("unix", door(w.lock))
	if err != nil {
		return err
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(filepath.Join(w.dir, "door"), 0o600); err != nil {
		return err
	}
	listen, err := l.File()
	if err != nil {
		return err
	}
	defer listen.Close()
	r, told, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer told.Close()
	cmd := exec.Command("/proc/self/exe", stayArg, w.cache, filepath.Base(w.dir))
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.ExtraFiles = []*os.File{listen, w.lock, r}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	return writeFrame(told, t)
}

// lead carries what comes to the far end, and back, until that has had enough. What follows an
// end of ssh is for the far end to say: it may still be tidying up.
func (w *work) lead(ends io.ReadWriteCloser) error {
	c, err := net.DialUnix("unix", nil, door(w.lock))
	if err != nil {
		return err
	}
	go func() {
		io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{ends})
		c.CloseWrite()
	}()
	io.Copy(struct{ io.Writer }{ends}, struct{ io.Reader }{c})
	os.Exit(0)
	return nil
}

// find opens the directory of a session, and says whether it stays.
func (w *work) find() (stays bool, err error) {
	w.lock, err = os.OpenFile(w.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = file.Lock(int(w.lock.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil { // nobody has it
		return false, unix.Flock(int(w.lock.Fd()), unix.LOCK_UN)
	}
	return errors.Is(err, unix.EWOULDBLOCK), nil
}

// resume leads to a session that stays.
func resume(ends io.ReadWriteCloser, home string, o order) error {
	w, err := named(home, o.Session)
	if err != nil {
		return err
	}
	stays, err := w.find()
	if err != nil {
		return err
	}
	if !stays {
		return writeFrame(ends, answer{State: w.state()})
	}
	if err := writeFrame(ends, answer{State: stateLives}); err != nil {
		return err
	}
	return w.lead(ends)
}

// stayMain is the far end. It does not return.
func stayMain(cache, session string) {
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) != nil {
		os.Exit(1)
	}
	w := &work{cache: cache, dir: filepath.Join(cache, "work", session), lock: os.NewFile(fdLock, "lock")}
	t, l, err := inherited()
	if err != nil {
		w.remove()
		os.Exit(1)
	}
	c := carrier.New(carrier.Far, t.Secret, alive)
	came := make(chan struct{})
	go admit(l, c, sync.OnceFunc(func() { close(came) }))
	select {
	case <-came:
	case <-time.After(greeting):
		w.remove()
		os.Exit(1)
	}
	dir := w.layers()
	if t.Keep < 0 {
		dir = w.trial()
	}
	far.Serve(c, far.Stay{Dir: dir, Tidy: w.remove, Patient: c.Patient,
		Last: func(lost, back func()) { c.Last(t.Keep, lost, back) },
		Left: func(layers []string, ended bool) error {
			if errors.Is(c.Err(), io.EOF) { // the near end said that it has all of it
				return nil
			}
			return w.leave(t, layers, ended)
		}})
}

// inherited are the terms and the listener.
func inherited() (*terms, *net.UnixListener, error) {
	from := os.NewFile(fdTerms, "terms")
	defer from.Close()
	body, err := readFrame(from, maxReady)
	if err != nil {
		return nil, nil, err
	}
	t := new(terms)
	if err := json.Unmarshal(body, t); err != nil {
		return nil, nil, err
	}
	listen := os.NewFile(fdListen, "door")
	defer listen.Close()
	l, err := net.FileListener(listen)
	if err != nil {
		return nil, nil, err
	}
	at, ok := l.(*net.UnixListener)
	if !ok {
		return nil, nil, errors.New("not a door")
	}
	return t, at, t.check()
}

// maxGuests is how many may prove at a time who they are.
const maxGuests = 4

// admit takes connections of who knows the secret.
func admit(l *net.UnixListener, c *carrier.Carrier, came func()) {
	room := make(chan struct{}, maxGuests)
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		room <- struct{}{}
		go func() {
			defer func() { <-room }()
			if !own(conn) {
				conn.Close()
				return
			}
			switch why, err := c.Accept(conn); {
			case err != nil:
			case why == carrier.Leave:
				c.Abandon(errDismissed)
			default:
				came()
			}
		}()
	}
}

var errDismissed = errors.New("its person fetches what it changed")

// own says whether a process of our own user is at the other end.
func own(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return cerr == nil && err == nil && int(cred.Uid) == os.Geteuid()
}
