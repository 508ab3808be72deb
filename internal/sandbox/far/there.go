package far

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// Name is argv[0] of a far end. Its link is its standard input and output. Its argument is
// the directory that it makes for what waits for review; without one it keeps no layers.
const Name = "ringfence-far"

// init keeps a far end on the first thread: the sandbox dies with the thread that starts it.
func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		runtime.LockOSThread()
	}
}

// Main runs a far end and does not return. It must be called on the main thread: the
// sandbox dies with it.
func Main() {
	runtime.LockOSThread()
	sys.SetName(probe.Comm)
	ends, err := Stdio()
	if err != nil {
		os.Exit(1)
	}
	dir := ""
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	Serve(ends, Stay{Dir: dir, Tidy: func() {
		if dir != "" {
			file.RemoveTree(dir)
		}
	}})
}

// Stay is how a far end stays where it is.
type Stay struct {
	Dir  string // where it makes what waits for review; "": it keeps no layers
	Tidy func() // removes what the session had here, when nothing runs any more

	// Last lets it outlive its connection, once the agent runs: see Lasting. nil: the end of
	// the link is the end.
	Last func(lost, back func())
	// Patient is called when the near end may be silent for as long as it likes, and when it
	// may not any more. It is there where Last is.
	Patient func(bool)
	// Left takes the layers of one that has lasted, before they are removed: by their
	// directories, in their order. ended: nothing can change them any more. After an error
	// nothing here is removed. It is there where Last is.
	Left func(layers []string, ended bool) error
}

// Serve is a far end over ends. When nothing runs any more the process ends.
func Serve(ends io.ReadWriteCloser, how Stay) {
	t := &there{link: link.New(ends, link.Far, link.Options{}), Stay: how, over: make(chan struct{}), cut: make(chan struct{})}
	go t.watch()
	t.serve()
	close(t.over)
	select { // the near end closes the link when it has read everything
	case <-t.link.Done():
	case <-time.After(lastFetch):
	}
	t.leave(0)
}

// leave ends the process, once.
func (t *there) leave(status int) {
	t.leaving.Do(func() {
		if !t.lasted.Load() || t.leaveLayers() == nil {
			t.Tidy()
		}
		os.Exit(status)
	})
}

// lastFetch is how long the near end may take to read what waits for review.
const lastFetch = time.Hour

// Stdio is the way to the near end. It takes the two descriptors out of the way of whoever writes to them by habit.
func Stdio() (io.ReadWriteCloser, error) {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, err
	}
	var own [2]*os.File
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for i := range own {
		var fd int
		if err == nil {
			fd, err = unix.FcntlInt(uintptr(i), unix.F_DUPFD_CLOEXEC, 3)
		}
		if err == nil {
			err = errors.Join(unix.SetNonblock(fd, true), unix.Dup2(null, i)) // so that Close ends a Read
		}
		if err != nil {
			return nil, err
		}
		own[i] = os.NewFile(uintptr(fd), "link")
	}
	return duplex{own[0], own[1]}, nil
}

// duplex is a way in and a way out.
type duplex struct{ in, out *os.File }

func (d duplex) Read(b []byte) (int, error)  { return d.in.Read(b) }
func (d duplex) Write(b []byte) (int, error) { return d.out.Write(b) }
func (d duplex) Close() error                { return errors.Join(d.in.Close(), d.out.Close()) }

// SyscallConn is the way out.
func (d duplex) SyscallConn() (syscall.RawConn, error) { return d.out.SyscallConn() }

// there is a far end.
type there struct {
	Stay
	link    *link.Link
	control *link.Stream
	layers  []*layerThere
	disk    *os.File    // what the layers lie on, opened before anything was written: it knows of every error since
	lasted  atomic.Bool // it outlives its connection
	leaving sync.Once
	still   stillness
	over    chan struct{} // closed when the sandbox is gone
	cut     chan struct{} // closed when nobody waits for what was printed
	ending  sync.Once

	mu    sync.Mutex
	net   rung.Net     // from the launch on, if there is one
	box   rung.Sandbox // from the start of the agent on
	stdio map[link.Stdio]*link.Stream

	agent *descriptors
}

// watch ends everything with the link.
func (t *there) watch() {
	<-t.link.Done()
	if box := t.sandbox(); box != nil {
		go box.Close()
	}
	most := time.Second / 2
	if t.lasted.Load() {
		most = settling
	}
	select {
	case <-t.over:
	case <-time.After(most):
	}
	t.leave(1)
}

func (t *there) sandbox() rung.Sandbox {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.box
}

// serve starts the sandbox as the near end says, and returns when it has ended and all that
// was printed has been told.
func (t *there) serve() {
	p, err := t.receive()
	if err != nil {
		t.link.Close()
		return
	}
	go t.attend()
	box, err := native.Rung{}.Start(context.Background(), p, t.hooks(p))
	t.agent.closeInside()
	if err != nil {
		link.Send(t.control, link.Message{Kind: wire.Failed, Failure: failed(err)})
		return
	}
	t.mu.Lock()
	t.box = box
	t.mu.Unlock()
	t.last(box)
	if link.Send(t.control, link.Message{Kind: wire.Started}) != nil {
		box.Close()
		return
	}
	go t.obey(box)
	exit, _ := box.Wait()
	box.Close()
	link.Send(t.control, t.agent.ended(exit, t.cut))
}

// failed is an error as the near end is told.
func failed(err error) *wire.Failure {
	out := &wire.Failure{Step: "far", Text: err.Error()}
	var f *rung.Failure
	if errors.As(err, &f) {
		out.Step, out.Text = f.Step, f.Text
	}
	out.Text = out.Text[:min(len(out.Text), 4<<10)]
	var errno syscall.Errno
	if errors.As(err, &errno) {
		out.Errno = int(errno)
	}
	return out
}

// receive takes what a launch begins with: control, the plan, the descriptors of the agent.
func (t *there) receive() (*plan.Plan, error) {
	var err error
	if t.control, err = next[link.Control](t.link); err != nil {
		return nil, err
	}
	from, err := next[link.Plan](t.link)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(from, wire.MaxFrame+1))
	if err == nil && len(b) > wire.MaxFrame {
		err = errors.New("the plan is too long")
	}
	if err != nil {
		return nil, err
	}
	from.Close()
	p, err := plan.Decode(b)
	if err != nil {
		return nil, err
	}
	mutate(p)
	p.Landlock.ABI = hostfacts.LandlockABI() // of the kernel that is here
	t.stdio = map[link.Stdio]*link.Stream{}
	for range streamsOf(p.Process.TTY) {
		s, err := next[link.Stdio](t.link)
		if err != nil {
			return nil, err
		}
		t.stdio[s.Header().(link.Stdio)] = s
	}
	if t.agent, err = t.take(0, p.Process.TTY); err != nil {
		return p, err
	}
	return p, errors.Join(t.receiveLayers(p), t.makePrivate(p))
}

func next[H link.Header](l *link.Link) (*link.Stream, error) {
	s, err := l.Accept()
	if err != nil {
		return nil, err
	}
	if _, ok := s.Header().(H); !ok {
		return nil, l.Broke(fmt.Sprintf("a stream of %T where another was due", s.Header()))
	}
	return s, nil
}

// hooks are what the native rung asks for on the way.
func (t *there) hooks(p *plan.Plan) rung.Hooks {
	h := rung.Hooks{Witness: t.testify, Stdio: rung.Stdio{In: t.agent.files[0], Out: t.agent.files[1], Err: t.agent.files[2],
		Terminal: t.takeTerminal, Stopped: t.stopped}}
	if p.Capture != nil {
		h.Net = t.takeNet
	}
	return h
}

// testify tells what was seen, and waits for the word.
func (t *there) testify(seen rung.Seen) error {
	for _, o := range seen.Probes {
		w := wire.Observation(o)
		w.Detail = w.Detail[:min(len(w.Detail), 4<<10)]
		if err := link.Send(t.control, link.Message{Kind: link.Probe, Seen: &w}); err != nil {
			return err
		}
	}
	for _, kind := range probe.Kinds() {
		n, err := probe.Namespace("self", kind)
		if err != nil {
			return err
		}
		seen.Outside[probe.LookerNS+kind] = strconv.FormatUint(n, 10)
	}
	ring, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	if err != nil {
		ring = 0 // there is none here
	}
	seen.Outside[probe.LookerKeyring] = strconv.Itoa(ring)
	for name, value := range seen.Outside {
		if err := link.Send(t.control, link.Message{Kind: link.Saw, Outside: &link.Fact{Name: name, Value: value}}); err != nil {
			return err
		}
	}
	if err := link.Send(t.control, link.Message{Kind: wire.Walls, Keyring: seen.Keyring}); err != nil {
		return err
	}
	m, err := link.Receive(t.control)
	if err == nil && m.Kind != wire.Go {
		err = fmt.Errorf("%q instead of go", m.Kind)
	}
	return err
}

// takeTerminal relays the agent's terminal, once its size is known.
func (t *there) takeTerminal(master *os.File, _ func(rows, cols uint16)) (err error) {
	if t.agent.master, err = pollable(master); err != nil {
		return err
	}
	if err := link.Send(t.control, link.Message{Kind: wire.PTY}); err != nil {
		return err
	}
	for {
		m, err := link.Receive(t.control)
		switch {
		case err != nil:
			return err
		case m.Kind == wire.Size:
			t.agent.resize(m.Terminal)
		case m.Kind == wire.Go:
			t.agent.carryTerminal()
			return nil
		default:
			return fmt.Errorf("%q for a terminal", m.Kind)
		}
	}
}

// obey does what the near end says of the agent.
func (t *there) obey(box rung.Sandbox) {
	for {
		m, err := link.Receive(t.control)
		if err != nil {
			return
		}
		switch m.Kind {
		case wire.Signal:
			t.goesOn(syscall.Signal(m.Signal))
			box.Signal(syscall.Signal(m.Signal))
		case wire.Size:
			t.agent.resize(m.Terminal)
		case link.End:
			go box.Close()
			t.ending.Do(func() { time.AfterFunc(leaves/2, func() { close(t.cut) }) })
		default:
			t.link.Broke(string(m.Kind))
		}
	}
}
