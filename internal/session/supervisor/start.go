// Package supervisor runs a prepared session: it starts the sandbox, waits for it, answers
// people who ask, records what happens, and ends it.
package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/self"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/session/history"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/trees"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Result is how a session went.
type Result struct {
	Exit    rung.Exit
	Time    time.Duration
	OOM     int64 // processes killed for want of memory
	Full    bool  // it was at the session's limit
	Forks   int64 // processes refused at their limit
	Started time.Time
	Net     []journal.Line // what went through the gate, and what did not
	Refused []journal.Line // writes and calls that were not
	Skipped []string       // packages whose install scripts were not run, as --allow-package takes them
	Decoys  []string       // that were read
	Resume  []string       // words for ringfence, to take up the conversation that the agent says can be

	Review  *review.Report   // what changed on the host, and what waits
	Applied []review.Outcome // what was held and needed nobody's eyes
	Shared  history.Report   // conversations that were copied to the host
}

// Talk is how a starting session speaks to the user.
type Talk struct {
	// Before is called when the limits are known and nothing runs yet; an error
	// from it cancels the launch.
	Before func(cgroup.Report) error
	// Began is called when the walls stand and the command runs. May be nil.
	Began  func()
	Warn   func(string)
	Say    func(string) // while the agent runs without a terminal
	Person bool         // somebody is there to be asked
	// Refused tells of a host that nobody is there to be asked about. May be nil.
	Refused func(string)
	// Ending is called when nothing runs any more and what it changed is looked at: how
	// far that is, and that it is over. May be nil.
	Ending func() (step func(n int), done func())
	// Terminal is that of a session that outlives the one it was started from; nil if
	// it does not.
	Terminal *control.Terminal
}

// Start launches the session and returns when it has ended and nothing of it is
// left.
func Start(ctx context.Context, s *session.Session, std [3]*os.File, talk Talk) (Result, error) {
	// From here to the end: a hang-up must not skip the tidying up.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	self.Lay(filepath.Join(s.Dirs.State, "small"))
	group, report, err := session.OpenLimits(s.Base)
	if err != nil {
		return Result{}, err
	}
	defer group.Close()
	if err := session.RequireLimits(s.Base, report); err != nil {
		return Result{}, err
	}
	if err := talk.Before(report); err != nil {
		return Result{}, err
	}
	live := &live{session: s, limits: report, talk: talk, signals: signals, began: make(chan struct{}), ended: make(chan struct{}), told: make(chan struct{})}
	if err := live.openBook(); err != nil {
		return Result{}, err
	}
	defer live.closeBook(nil)
	desk, err := live.openDesk()
	if err != nil {
		return Result{}, err
	}
	defer desk.Close()
	if live.door, err = openDoor(s, live); err != nil {
		return Result{}, err
	}
	defer live.door.Close()
	if live.door != nil {
		live.gate, live.shown = live.door.gate, live.door.shown
	}
	live.streams, err = OpenStreams(std)
	if err != nil {
		return Result{}, err
	}
	defer live.streams.CloseInside()
	return live.run(ctx, group)
}

// live is a running session.
type live struct {
	session  *session.Session
	limits   cgroup.Report
	talk     Talk
	streams  *Streams
	door     *door // nil: the network is closed
	box      rung.Sandbox
	program  *rung.Program // of others, below the agent; nil: none
	below    atomic.Pointer[control.Program]
	relay    *terminal.Relay
	asks     *asker // nil: nobody is asked
	relayed  chan error
	signals  chan os.Signal // what was sent to the supervisor, also before there was an agent to be told
	began    chan struct{}  // closed when box is there
	ended    chan struct{}
	over     chan struct{} // closed when nothing of it is left
	told     chan struct{} // closed when somebody wants it to end
	telling  sync.Once
	gate     *gate.Gate           // of the door, also after it was closed
	shown    func() []policy.Port // of the door as well
	book     book
	mcp      serving
	denials  denials
	skipped  skips
	refusals journal.Tally // of writes and calls; the gate counts its own
	exit     *int          // the agent's status, once it has ended
	status   statusLine
	note     noteFile

	smoke suspected // text that tried to give orders
	less  lessened  // what it has less of than at its start

	frozen   atomic.Bool
	shutting atomic.Bool            // somebody said stop, and its grace is over
	alarmed  atomic.Pointer[string] // why ringfence ended the session

	said  sync.Mutex
	quiet time.Time // until when what was said is enough
}

// giveBack is when a session is one that stays: before, giving memory back would only cost
// time. The second time it is what the agent's own start needed.
var giveBack = []time.Duration{time.Second, 5 * time.Second}

func (l *live) run(ctx context.Context, group *cgroup.Group) (Result, error) {
	p := *l.session.Plan
	p.Process.TTY = l.streams.tty
	began := time.Now()
	hooks := rung.Hooks{Limits: l.session.Limits, Within: group.Within, Join: func(pid int) error { return l.join(group, pid) }, Witness: l.witness, Warn: l.Warn, KeepCut: l.session.Policy.Rung.KeepCut()}
	if l.door != nil {
		hooks.Net = l.door.gate.Take
	}
	watch, err := l.plant()
	if err != nil {
		l.talk.Warn(err.Error() + ": this session has no decoys in HOME")
		p.Ops = slices.DeleteFunc(slices.Clone(p.Ops), func(o plan.Op) bool { return o.Why == launch.DecoyWhy })
	}
	defer watch.Close()
	defer l.closeStatus()
	keep, err := l.beginTrees()
	if err != nil {
		return Result{}, err
	}
	defer keep.End(nil)
	l.over = make(chan struct{})
	defer close(l.over)
	if err := l.launch(ctx, keep, p, hooks); err != nil {
		return Result{}, rung.Explain(err, l.session.Facts)
	}
	l.session.Plan.Forget()
	l.session.Trust.Forget()
	defer l.box.Close()
	close(l.began)
	defer l.forwardSignals()()
	l.Record(l.session.Walls()...)
	l.sumProgram()
	l.settleOthers()
	defer context.AfterFunc(ctx, func() { l.box.Close() })()
	l.attend(ctx, keep)
	for _, d := range giveBack {
		defer time.AfterFunc(d, sys.GiveBack).Stop()
	}
	exit, err := l.box.Wait()
	close(l.ended)
	watch.Close() // what was read until now is told, while there is a journal
	if l.gate != nil {
		l.gate.Alarmed()
	}
	if l.relay != nil {
		l.relay.Finish()
		if stuck := <-l.relayed; errors.Is(stuck, terminal.ErrStuck) {
			l.streams.Mute()
		}
		if in := l.streams.in; in != nil {
			defer terminal.Discard(in) // what follows can take its time
		}
	}
	res := l.settle(exit, keep)
	if l.relay != nil {
		res.Resume = l.session.Profile.Resumed(l.relay.Tail())
	}
	events := group.Events().Add(exit.Hit)
	res.Time, res.Started, res.OOM, res.Full, res.Forks = time.Since(began), began, events.OOMKills, events.Limit, events.Refused
	if lost := l.closeBook(&res); lost != nil {
		l.talk.Warn(fmt.Sprintf("the record of the session is not complete: %v", lost))
	}
	if why := l.endedFor(); why != nil {
		return res, fault.New(fault.Refused, "see what it did: ringfence log "+l.session.ID, "%w", why)
	}
	if lost := l.streams.Drain(l.told); lost != nil && err == nil {
		err = fault.New(fault.Failed, "", "output of the command was lost: %w", lost)
	}
	return res, err
}

// attend sees to what a running session needs, beside it.
func (l *live) attend(ctx context.Context, keep *trees.Changes) {
	if l.talk.Began != nil {
		l.talk.Began()
	}
	if t := l.talk.Terminal; t != nil {
		t.Began(l.session.ID, titleMark(l.session))
	}
	keep.Watch(l.ended)
	l.streams.CloseInside()
	if l.door != nil {
		l.door.running()
	}
	if l.relay != nil {
		l.relayed = make(chan error, 1)
		go func() { l.relayed <- l.relay.Run(ctx) }()
		go l.watchTerminal()
	}
}

// launch starts the sandbox. The agent runs before it returns: who asks it to leave in
// between must not end the supervisor instead. Ctrl-\ still does, should a launch never
// return.
func (l *live) launch(ctx context.Context, keep *trees.Changes, p plan.Plan, h rung.Hooks) (err error) {
	signal.Notify(l.signals, syscall.SIGINT, syscall.SIGTERM)
	h.Stdio = rung.Stdio{In: l.streams.files[0], Out: l.streams.files[1], Err: l.streams.files[2], Terminal: l.takeTerminal, Stopped: l.stopped}
	ctx, stop := impatient(ctx)
	defer stop()
	l.box, err = l.fromThread(func() (rung.Sandbox, error) { return keep.Launch(ctx, l.session.Rung, p, h) })
	if f := (*fault.Error)(nil); err != nil && errors.As(context.Cause(ctx), &f) {
		err = f
	}
	if err := l.session.Lure.Bare(); err != nil {
		l.talk.Warn(fmt.Sprintf("decoys are left on the host: %v", err))
	}
	return err
}

// fromThread starts the sandbox from a thread that stays until it is over: see rung.Rung. The
// session itself has no thread of its own. Where one has, two threads change places each time
// that it waits for somebody.
func (l *live) fromThread(start func() (rung.Sandbox, error)) (box rung.Sandbox, err error) {
	started := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		box, err = start()
		close(started)
		<-l.over
	}()
	<-started
	return box, err
}

// impatient ends a launch some seconds after somebody asked for the end. What is quick is not
// cut short, and the agent hears the signal; but a place may hang, such as a container engine.
func impatient(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-asked:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(3 * time.Second):
			cancel(fault.New(fault.Failed, "", "the launch was interrupted"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(asked)
		cancel(nil)
	}
}

// beginTrees begins the work on the trees of the host.
func (l *live) beginTrees() (*trees.Changes, error) {
	return trees.Begin(l.session.Base, l.session.Trees, l.session.Plan, l, l.session.Names(), func() error {
		if err := errors.Join(l.openStatus(), l.openNote()); err != nil || l.talk.Terminal == nil {
			return err
		}
		log, err := control.CreateLog(l.session.Work.Dir())
		if err == nil {
			l.talk.Terminal.Record(log)
		}
		return err
	})
}

// settle puts together what a session left, once nothing runs inside.
func (l *live) settle(exit rung.Exit, keep *trees.Changes) Result {
	code := exit.Code()
	l.exit = &code
	res := Result{Exit: exit}
	done := func() {}
	if l.talk.Ending != nil && l.session.Work != nil {
		l.session.Work.Looked, done = l.talk.Ending()
	}
	l.closeStatus()
	var lost error
	res.Review, res.Applied, lost = keep.End(l.exit)
	res.Shared = l.session.ShareOut()
	l.Record(session.SharedOut(res.Shared)...)
	done()
	if lost != nil {
		l.talk.Warn(fmt.Sprintf("the review of what changed is not complete: %v", lost))
	}
	res.Refused = l.refusals.Top(session.MaxLines)
	if l.door == nil {
		return res
	}
	if lost := l.door.Close(); lost != nil {
		l.talk.Warn(fmt.Sprintf("the record of the network is not complete: %v", lost))
	}
	res.Net = l.door.gate.Tally(session.MaxLines)
	res.Decoys, res.Skipped = l.session.Lure.ReadSoFar(), l.skipped.all()
	l.door = nil
	return res
}

// Say tells the person at the terminal something without touching the screen. What an
// agent can cause is bounded: a few at once, then one every other second. The rest is
// in `ringfence requests` and in the journal.
func (l *live) Say(text string) {
	const burst, every = 4, 2 * time.Second
	l.said.Lock()
	now := time.Now()
	if l.quiet.Before(now) {
		l.quiet = now
	}
	tooMuch := l.quiet.Sub(now) > (burst-1)*every
	if !tooMuch {
		l.quiet = l.quiet.Add(every)
	}
	l.said.Unlock()
	if tooMuch {
		return
	}
	if l.relay != nil {
		l.relay.Notify("ringfence: " + text)
		return
	}
	if l.talk.Say != nil {
		l.talk.Say(text)
	}
}

// Warn tells what must be heard, with or without somebody at a terminal, and leaves the
// screen of a program that has one alone.
func (l *live) Warn(text string) {
	if l.relay != nil {
		l.Say(text)
		return
	}
	l.talk.Warn(text)
}

// refused tells of a host that nobody is asked about, and leaves the screen of a program
// that has one alone.
func (l *live) refused(text string) {
	switch {
	case l.relay != nil:
		l.Say(text)
	case l.talk.Refused != nil:
		l.talk.Refused(text)
	}
}

// Tell tells it where no program has the screen, or before one has.
func (l *live) Tell(text string) { l.talk.Warn(text) }

// End ends the session, for a reason that its person is told.
func (l *live) End(why string) {
	l.alarmed.Store(&why)
	l.box.Close()
}

// join puts the sandbox under its limits. One that the host promised and does not
// keep is told, and stops the launch where somebody asked for it.
func (l *live) join(group *cgroup.Group, pid int) error {
	err := group.Join(pid)
	if err == nil {
		return nil
	}
	if asked := session.AskedLimits(l.session.Base.Law); len(asked) > 0 {
		return asked[0].Refuse(fmt.Sprintf("the host promised it and does not keep it: %v", err), l.session.Base)
	}
	l.talk.Warn(fmt.Sprintf("limits are not enforced by the host after all: %v", err))
	return nil
}

// mark is what the title of a terminal begins with while the session has it.
func titleMark(s *session.Session) string { return control.Mark(cmp.Or(s.Name, s.ID), "") }

func (l *live) takeTerminal(master *os.File, resize func(rows, cols uint16)) error {
	conf := terminal.Config{In: l.streams.in, Out: l.streams.out, Master: master, Mark: titleMark(l.session), OnSignal: func(s os.Signal) {
		if sig, ok := s.(syscall.Signal); ok {
			l.box.Signal(sig)
		}
	}}
	if resize != nil {
		conf.Resize = func(ws *terminal.Winsize) { resize(ws.Row, ws.Col) }
	}
	var err error
	l.relay, err = terminal.New(conf)
	return err
}

// stopped hands the terminal back to the user's shell until the job is continued.
func (l *live) stopped() {
	<-l.began // who stops as its first act does so before the launch has returned
	if l.frozen.Load() {
		return
	}
	if l.relay != nil {
		l.relay.Suspend()
		return
	}
	// Without a terminal there is nobody to bring it back, and the agent must not
	// stop a process of the host.
	l.box.Signal(syscall.SIGCONT)
}

// hangupGrace is what an agent gets to save its work when the terminal is gone.
const hangupGrace = 2 * time.Second

// watchTerminal ends the tree when the user's terminal was closed.
func (l *live) watchTerminal() {
	err := <-l.relayed
	l.relayed <- err
	if errors.Is(err, terminal.ErrHangup) {
		l.hangUp()
	}
}

// tell notes that somebody wants the session to end: then nobody is waited for who does
// not take what it printed.
func (l *live) tell() { l.telling.Do(func() { close(l.told) }) }

func (l *live) hangUp() {
	l.tell()
	l.box.Signal(syscall.SIGHUP)
	select {
	case <-l.ended:
	case <-time.After(hangupGrace):
		l.box.Close()
	}
}

// forwardSignals passes what is sent to the supervisor on to the agent's job.
func (l *live) forwardSignals() (stop func()) {
	signal.Notify(l.signals, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-l.signals:
				l.forward(s.(syscall.Signal))
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

func (l *live) forward(s syscall.Signal) {
	if s == syscall.SIGHUP || s == syscall.SIGTERM {
		l.tell()
	}
	if s == syscall.SIGHUP {
		go l.hangUp()
		return
	}
	if l.frozen.Load() || s == syscall.SIGTERM && l.cut() { // nobody inside would hear it
		l.box.Close()
	}
	l.box.Signal(s)
}
