package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/control"
)

// plant lays the decoys of the session, if it has any.
func (l *live) plant() (io.Closer, error) {
	return l.session.Lure.Plant(control.Sessions, l.wasRead)
}

// wasRead tells of a decoy that somebody opened.
func (l *live) wasRead(name string) {
	first := l.session.Lure.WasRead(name)
	l.gate.Record(journal.Record{Kind: journal.Decoy, Event: journal.Read, Secret: name})
	if first {
		l.Say(fmt.Sprintf("decoy credential %q was read inside", name))
	}
}

// caught stops the session: a decoy was about to leave, so somebody inside is stealing
// credentials. With a person there everything stands still until that person says
// what becomes of it; with nobody to ask, the session ends.
func (l *live) caught(c gate.Caught) {
	if l.began == nil {
		return // a proof: there is nobody to stop
	}
	<-l.began
	if !l.frozen.CompareAndSwap(false, true) {
		return
	}
	over := false // it ended by itself meanwhile
	select {
	case <-l.ended:
		over = true
	default:
	}
	text := fmt.Sprintf("decoy credential %q was about to leave to %s (%s): the session is frozen", c.Decoy, plan.Show(c.Host), c.Form)
	var err error
	if !over {
		err = l.freeze()
	}
	if err != nil {
		text += ", as far as it could be: " + err.Error()
	}
	l.gate.Record(journal.Record{Kind: journal.Decoy, Event: journal.Frozen, Secret: c.Decoy, Name: c.Host})
	if l.talk.Person && err == nil && !over {
		l.alarm(fmt.Sprintf("a decoy was about to leave: session %s is frozen", l.session.ID), fmt.Sprintf("%s; look: ringfence log %s; end it: ringfence stop %[2]s; go on: ringfence thaw %[2]s", text, l.session.ID))
		return
	}
	l.End(text)
}

// alarm is a message that no earlier one may hold back.
func (l *live) alarm(short, text string) {
	if l.relay != nil {
		l.relay.Notify("ringfence: " + short)
		l.relay.Print("ringfence: " + text)
		return
	}
	l.talk.Warn(text)
}

// freeze stops every process of the sandbox but its first, which is ours. Processes
// may be born while it looks: it looks until all that there are stand still.
func (l *live) freeze() error {
	tick := time.NewTicker(5 * time.Millisecond) // what was told to stop does so when it is next scheduled
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); <-tick.C {
		list, err := descendants(l.box.PID())
		if err != nil {
			return err
		}
		moving := 0
		for _, p := range list {
			if strings.ContainsRune("TtZX", rune(p.state)) {
				continue
			}
			moving++
			if err := p.signal(unix.SIGSTOP); err != nil {
				return err
			}
		}
		if moving == 0 {
			return nil
		}
	}
	return errors.New("some of its processes do not stand still")
}

// thaw lets them go on.
func (l *live) thaw() error {
	if !l.frozen.Load() {
		return errors.New("the session is not frozen")
	}
	<-l.began // it was, to be frozen
	list, err := descendants(l.box.PID())
	if err != nil {
		return err
	}
	l.frozen.Store(false)
	for _, p := range list {
		if err := p.signal(unix.SIGCONT); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the session: the agent is asked, then told that its terminal is gone, and
// when grace is over everything inside is killed. Who asked for it hears the end of
// the connection when nothing is left.
func (l *live) stop(grace time.Duration) control.Reply {
	select {
	case <-l.began:
	default:
		return control.Reply{Error: "the session has not begun yet"}
	}
	return control.Reply{Then: func(c *control.Conn) {
		if l.frozen.Load() { // nobody inside would hear it
			grace = 0
		}
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
			if grace <= 0 || l.endsWithin(s, grace/2) {
				break
			}
		}
		l.box.Close()
		l.tell()
		c.Receive() // until we are gone, or the person is
	}}
}

// endsWithin signals the agent and reports whether the session ends in time.
func (l *live) endsWithin(s syscall.Signal, d time.Duration) bool {
	l.box.Signal(s)
	select {
	case <-l.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// process is one that /proc showed.
type process struct {
	pid, parent int
	state       byte
	born        string // in ticks; tells it from a later one of the same number
}

// signal reaches this very process or none.
func (p process) signal(s unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := processAt(p.pid); !ok || now.born != p.born {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, s, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// descendants lists all processes below one.
func descendants(root int) ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := processAt(pid); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var out []process
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			out = append(out, p)
			next = append(next, p.pid)
		}
	}
	return out, nil
}

// processAt reads /proc/PID/stat. The name in it may hold anything, also parentheses.
func processAt(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	i := strings.LastIndexByte(string(b), ')')
	if i < 0 {
		return process{}, false
	}
	f := strings.Fields(string(b[i+1:]))
	if len(f) < 20 || len(f[0]) != 1 {
		return process{}, false
	}
	parent, err := strconv.Atoi(f[1])
	return process{pid: pid, parent: parent, state: f[0][0], born: f[19]}, err == nil
}

// ended says what ringfence itself ended the session for.
func (l *live) endedFor() error {
	if text := l.alarmed.Load(); text != nil {
		return errors.New(*text)
	}
	return nil
}
