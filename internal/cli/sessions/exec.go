package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/session/supervisor"
)

// Exec runs a command in a running session.
func Exec() *command.Command {
	cmd := &command.Command{Name: "exec", Args: "SESSION [--dir DIR] -- CMD [ARGS]", Short: "run a command in a running session",
		Long:     "Runs a command in a running session: behind the same walls, with the same view and\nenvironment. The status is that of the command.",
		Examples: []string{"ringfence exec demo -- ls -la"},
		Takes:    command.One, Cut: true, Status: 125}
	dir := cmd.Flags.String("dir", "", "start in `DIR`, as it is called inside (default: where the agent was started)")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		arg, argv := command.First(args), cmd.Behind
		if arg == "" || len(argv) == 0 {
			return 125, fault.New(fault.Usage, "for example: ringfence exec demo -- ls", "exec needs a session and, behind --, a command")
		}
		id, err := findRunning(arg)
		if err != nil {
			return 125, err
		}
		called := id
		if !strings.HasPrefix(id, arg) {
			called = arg // by its name
		}
		return execIn(c, id, called, *dir, argv)
	}
	return cmd
}

func execIn(c *command.Console, id, called, dir string, cmd []string) (int, error) {
	s, err := supervisor.OpenStreams([3]*os.File{c.In, c.Out, c.Err})
	if err != nil {
		return 125, err
	}
	defer s.CloseInside()
	q := control.Request{Do: "exec", Dir: []byte(dir), TTY: s.TTY(), Files: s.Inside()}
	for _, a := range cmd {
		q.Argv = append(q.Argv, []byte(a))
	}
	for _, n := range []string{"TERM", "COLORTERM"} {
		if v := c.Getenv(n); v != "" && s.TTY() != 0 {
			q.Env = append(q.Env, []byte(n+"="+v))
		}
	}
	if _, out := s.Terminal(); out != nil {
		if ws, err := terminal.Size(out); err == nil {
			q.Rows, q.Cols = ws.Row, ws.Col
		}
	}
	r, conn, err := control.Call(id, q)
	switch {
	case errors.Is(err, syscall.ENOENT):
		return 127, fault.New(fault.Failed, "name a program of the session's own view", "exec in %s: %w", id, err)
	case errors.Is(err, syscall.EACCES):
		return 126, fault.New(fault.Failed, "", "exec in %s: %w", id, err)
	case err != nil:
		return 125, fault.New(fault.Failed, "", "exec in %s: %w", id, err)
	}
	defer conn.Close()
	s.CloseInside()
	told := make(chan struct{})
	status, err := carryExec(s, r, &hearing{Conn: conn, told: told}, control.Mark(called, cmd[0]))
	if lost := s.Drain(told); lost != nil && err == nil {
		err = fault.New(fault.Failed, "", "output of the command was lost: %w", lost)
	}
	return status, err
}

// hearing is a connection to a command, and what was heard of its end.
type hearing struct {
	*control.Conn
	once sync.Once
	told chan struct{} // closed when somebody wants it to end, or the session has ended
	left atomic.Bool
}

// tell notes that nobody is to be waited for who does not take what the command printed.
func (h *hearing) tell() { h.once.Do(func() { close(h.told) }) }

// leaveGrace is how long the session may take to tell the end of what it was asked to
// end. It gives the command two seconds.
const leaveGrace = 10 * time.Second

// leave says that the person is gone: the session ends the command, whether it listens
// or not. How it ended is still heard, but not waited for where the session stands still.
func (h *hearing) leave() {
	h.tell()
	h.left.Store(true)
	h.SetReadDeadline(time.Now().Add(leaveGrace))
	h.CloseWrite()
}

// carryExec stands between the user's terminal and the command until it ends.
func carryExec(s *supervisor.Streams, r control.Reply, conn *hearing, mark string) (int, error) {
	relayed, finish := make(chan struct{}), func() {}
	if in, out := s.Terminal(); len(r.Files) == 1 {
		defer r.Files[0].Close()
		conf := terminal.Config{In: in, Out: out, Master: r.Files[0], Mark: mark, Stays: true, OnSignal: func(os.Signal) {}}
		if !terminal.IsTerminal(r.Files[0]) { // a stream to one
			conf.Resize = func(ws *terminal.Winsize) { conn.SendWindow(ws.Row, ws.Col) }
		}
		relay, err := terminal.New(conf)
		if err != nil {
			return 125, err
		}
		finish = relay.Finish
		go func() {
			defer close(relayed)
			if relay.Run(context.Background()) != nil {
				conn.leave() // without a terminal, nobody reaches the command any more
			}
		}()
	} else {
		close(relayed)
	}
	// Who else holds the terminal, a child in the background or the agent, may print
	// there for ever: what is there when the command has ended is the last.
	defer func() {
		finish()
		<-relayed
	}()
	defer conn.passSignals()()
	return conn.status()
}

// passSignals sends the command what is sent to us.
func (h *hearing) passSignals() (stop func()) {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for sig := range ch {
			if sig == syscall.SIGTERM {
				h.tell()
			}
			if sig == syscall.SIGHUP {
				h.leave()
				continue
			}
			h.Send(control.Signal, []byte{byte(sig.(syscall.Signal))})
		}
	}()
	return func() {
		signal.Stop(ch)
		close(ch)
	}
}

// status waits for how the command ended.
func (h *hearing) status() (int, error) {
	for {
		kind, body, err := h.Receive()
		if err != nil {
			h.tell()
			if h.left.Load() {
				return 128 + int(syscall.SIGHUP), nil
			}
			return 137, fault.New(fault.Failed, "see `ringfence ps -a`", "the session has ended")
		}
		if status, ok := control.StatusOf(body); ok && kind == control.Exited {
			go func() {
				h.Receive() // the end of the session
				h.tell()
			}()
			return status, nil
		}
		if kind == control.Exited {
			return 125, fmt.Errorf("the session answered with nothing")
		}
	}
}
