package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHangup means that the user's terminal is gone. The caller ends the tree. The
// SIGHUP that goes with it may come only after Run has returned: a caller that
// has something to clean up has to catch it by itself.
var ErrHangup = errors.New("the terminal was closed")

// ErrStuck means that the terminal takes no output: it hangs, or was stopped.
var ErrStuck = errors.New("the terminal takes no output")

// ErrLeft means that the user asked to leave, by a key that Config.Keys knows.
var ErrLeft = errors.New("the user left")

// Config says between what a Relay stands. The files stay the caller's, and open
// until Run has returned.
type Config struct {
	// In is the user's terminal, from which keys are read; nil if standard
	// input is something else, which is then the agent's own affair.
	In *os.File
	// Out is the user's terminal, to which is written.
	Out *os.File
	// Master is the master side of the agent's pty, or a socket to who has it.
	// Somebody inside must hold the other side open from before Run until the
	// agent has ended, for when the last holder closes it the relay ends.
	Master *os.File
	// Stays keeps the terminal until Finish is called, also where nobody holds the other
	// side of Master any more: who runs there decides when to close it, and the terminal
	// would be given back to a shell while the person still types to what runs.
	Stays bool
	// Resize, if set, is told of the size instead of Master.
	Resize func(*Winsize)
	// Keys, if set, sees what was typed before it is passed on, says what of it
	// is, and whether the user wants to leave. What was pasted is told apart from
	// what was typed; a run is of one kind.
	Keys func(run []byte, pasted bool) (pass []byte, leave bool)
	// Mark stands before every title that the agent gives the terminal, and
	// is the title until it gives one; "" marks nothing.
	Mark string
	// OnSignal, if set, is told on the relay's goroutine of SIGTSTP: somebody
	// wants the job to stop, so stop the agent, and call Suspend when it has
	// stopped; and of SIGCONT: let the agent go on. It must not block.
	OnSignal func(os.Signal)
}

const (
	inLimit  = 4 << 10  // read at once of what was typed
	keyLimit = 1 << 20  // keys read and not yet taken where Config.Keys must see them
	outLimit = 16 << 10 // output read at once; nothing is read before it is written

	// defaultPatience is how long a terminal may take at the end to accept
	// the rest of the output, to answer, and to go on with a paste.
	defaultPatience = time.Second
	// askedLately is how long after a query its answer may still come.
	askedLately = 2 * time.Second
	// recheck is how often a job in the background looks whether it has been
	// brought to the foreground, for bash does not tell a running job; and whether
	// somebody holds the pty again.
	recheck = 500 * time.Millisecond
)

// Relay carries bytes between the user's terminal and the agent's pty. One
// goroutine does all of it, with a poll over the descriptors, so that no two
// things happen to the terminal at once. It holds one buffer each way and reads
// no more before that is empty: who writes too fast waits.
type Relay struct {
	conf    Config
	bell    *bell
	signals chan os.Signal
	filter  *Filter

	tty     *os.File // whose size counts
	in, out int      // the terminal; in is -1 if we do not read
	master  int
	saved   *unix.Termios // the user's modes while ours are set
	dumb    bool          // the terminal knows no sequences: it gets none of ours
	front   bool          // in the foreground: keys are ours

	buf     []byte // for reading
	typed   []byte // for reading from in
	keys    []byte // read from in, not yet written to master
	pastes  Pastes // follows what is read from in
	owes    bool   // the agent saw a paste begin whose end it will not see
	pending queue  // filtered, not yet written to out
	tail    []byte // the last that the agent printed
	notes   chan string
	lines   chan string
	wanted  atomic.Pointer[Dialog]
	instead atomic.Bool // the dialog could not be shown elsewhere
	open    *openDialog // nil: no dialog is
	drawn   string      // its text on the screen
	calls   bool        // the title says that there is a question
	prefix  Prefix      // Ctrl-] r, while it does
	again   time.Time   // from when on the size is told once more
	drew    bool        // the agent has printed since it was told of another
	ended   bool        // master has no more
	left    bool        // the terminal is the user's: what the agent had on is off

	lastAsk  time.Time
	bulk     time.Time // when several lines came at once that no mark ended
	patience time.Duration
}

// queue collects what the filter writes.
type queue []byte

func (q *queue) Write(p []byte) (int, error) {
	*q = append(*q, p...)
	return len(p), nil
}

// New checks the files and gives the agent's pty the size of the user's
// terminal, so that an agent started after New finds it right.
func New(conf Config) (*Relay, error) {
	r := &Relay{conf: conf, tty: conf.Out, in: -1, signals: make(chan os.Signal, 8), notes: make(chan string, maxNotes), lines: make(chan string, maxNotes), patience: defaultPatience}
	r.prefix.Letter = 'r'
	r.typed, r.keys, r.buf = make([]byte, inLimit), make([]byte, 0, inLimit), make([]byte, outLimit)
	for _, f := range []*os.File{conf.Out, conf.In} {
		if f != nil && !IsTerminal(f) {
			return nil, fmt.Errorf("relay: %s is not a terminal", f.Name())
		}
	}
	if conf.In != nil {
		r.tty = conf.In
	}
	if r.dumb = os.Getenv("TERM") == "dumb"; r.dumb {
		r.conf.Mark = ""
	}
	r.filter = NewFilter(&r.pending, conf.In != nil)
	r.filter.mark = clean(r.conf.Mark, titleLimit)
	r.master = int(conf.Master.Fd())
	if err := unix.SetNonblock(r.master, true); err != nil {
		return nil, fmt.Errorf("relay: pty: %w", err)
	}
	if err := r.resize(); err != nil {
		return nil, err
	}
	var err error
	if r.bell, err = newBell(); err != nil {
		return nil, err
	}
	return r, nil
}

// Run carries bytes until the agent's pty has no more (nil), the user's terminal
// is gone (ErrHangup) or ctx is done (its error). However it ends, by a panic
// too, the terminal is given back as it was found. Run may be called once.
func (r *Relay) Run(ctx context.Context) error {
	defer r.bell.file.Close()
	out, own := nonblocking(r.conf.Out, unix.O_WRONLY)
	r.out = out
	if own {
		defer unix.Close(out)
	}
	if r.conf.In != nil {
		in, own := nonblocking(r.conf.In, unix.O_RDONLY)
		r.in = in
		if own {
			defer unix.Close(in)
		}
	}
	defer r.bell.listen(ctx, r.signals)()
	defer r.leave()
	if err := r.enter(); err != nil {
		return err
	}
	if r.conf.Mark != "" {
		r.filter.Write([]byte("\x1b]2;\x07"))
	}
	return r.loop(ctx)
}

// resize copies the size, pixels included. The kernel tells the agent if it changed.
func (r *Relay) resize() error {
	ws, err := Size(r.tty)
	if errors.Is(err, unix.EIO) {
		return ErrHangup
	}
	if err != nil {
		return err
	}
	if r.conf.Resize != nil {
		r.conf.Resize(ws)
		return nil
	}
	if err := unix.IoctlSetWinsize(r.master, unix.TIOCSWINSZ, ws); err != nil {
		return fmt.Errorf("set size of the pty: %w", err)
	}
	return nil
}

// Indices of the descriptors in a poll.
const (
	pollBell = iota
	pollIn
	pollMaster
	pollOut
)

func (r *Relay) loop(ctx context.Context) error {
	for !r.ended || len(r.pending) > 0 || r.conf.Stays {
		r.takeNote()
		r.tend()
		if err := r.reopened(); err != nil {
			return err
		}
		fds := r.wants()
		timeout := -1
		if r.in >= 0 && !r.front || r.ended {
			timeout = int(recheck.Milliseconds())
		}
		if !r.again.IsZero() {
			timeout = int(redrawPause.Milliseconds())
		}
		if _, err := unix.Poll(fds[:], timeout); err != nil && err != unix.EINTR {
			return fmt.Errorf("poll: %w", err)
		}
		events := r.bell.answer()
		if events&(lastCall|suspended|hungUp|cancelled) != 0 {
			r.shut("")
		}
		if r.redraws(time.Now()) {
			r.again = time.Time{}
			events |= resized
		}
		if err := r.attend(ctx, events); err != nil {
			return err
		}
		if events&lastCall != 0 {
			return r.last()
		}
		if events != 0 {
			continue // what the poll said may be long ago
		}
		if err := r.carry(&fds); err != nil {
			return err
		}
	}
	return nil
}

// wants lists what to wait for: no reading where the last read is not yet
// passed on. The pty is left out altogether when nothing is wanted of it, for
// the kernel reports its end whether asked or not.
func (r *Relay) wants() [4]unix.PollFd {
	fds := [4]unix.PollFd{
		pollBell:   {Fd: int32(r.bell.fd), Events: unix.POLLIN},
		pollIn:     {Fd: int32(r.in)},
		pollMaster: {Fd: -1},
		pollOut:    {Fd: int32(r.out)},
	}
	if r.front && r.mayRead() {
		fds[pollIn].Events = unix.POLLIN
	}
	if len(r.pending) > 0 {
		fds[pollOut].Events = unix.POLLOUT
	} else if !r.ended && r.open == nil {
		fds[pollMaster].Fd = int32(r.master)
		fds[pollMaster].Events = unix.POLLIN
	}
	if len(r.keys) > 0 && !r.ended {
		fds[pollMaster].Fd = int32(r.master)
		fds[pollMaster].Events |= unix.POLLOUT
	}
	return fds
}

// attend handles the events, in the order of their weight.
func (r *Relay) attend(ctx context.Context, e event) error {
	if e&cancelled != 0 {
		return context.Cause(ctx)
	}
	if e&hungUp != 0 {
		return ErrHangup
	}
	if e&stopAsked != 0 {
		r.tell(unix.SIGTSTP)
	}
	if e&suspended != 0 {
		return r.suspend()
	}
	if e&continued != 0 || r.in >= 0 && !r.front {
		return r.enter()
	}
	if e&resized != 0 {
		r.drawn = "" // what is open is drawn anew
		return r.resize()
	}
	return nil
}

func (r *Relay) tell(s os.Signal) {
	if r.conf.OnSignal != nil {
		r.conf.OnSignal(s)
	}
}

// carry moves the bytes that can be moved.
func (r *Relay) carry(fds *[4]unix.PollFd) error {
	const over = unix.POLLHUP | unix.POLLERR | unix.POLLNVAL
	if (fds[pollIn].Revents|fds[pollOut].Revents)&over != 0 {
		return ErrHangup
	}
	if fds[pollIn].Revents&unix.POLLIN != 0 {
		if err := r.readKeys(); err != nil {
			return err
		}
	}
	if len(r.keys) > 0 && fds[pollMaster].Revents&(unix.POLLOUT|over) != 0 {
		r.writeKeys()
	}
	if len(r.pending) == 0 && r.open == nil && fds[pollMaster].Revents&(unix.POLLIN|over) != 0 {
		if _, err := r.readMaster(); err != nil {
			return err
		}
	}
	if len(r.pending) > 0 {
		return r.writeOut()
	}
	return nil
}
