package supervisor

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/session/control"
)

// popup opens the list in a popup of the tmux in which the person sits: the agent's screen
// is not touched, and nothing of the agent's is in there. The popup runs ringfence itself,
// which asks this session by its control socket. instead is called where tmux knows no
// popups, or shows none. It returns false where there is no tmux.
func (a *asker) popup(instead func()) bool {
	pane, program := a.live.session.Getenv("TMUX_PANE"), a.live.tmux()
	self, err := os.Executable()
	if program == "" || pane == "" || err != nil || a.live.session.AgentWrites(self) {
		return false
	}
	if !a.popped.CompareAndSwap(false, true) {
		return true
	}
	go func() {
		defer a.popped.Store(false)
		if !a.live.sits(program, pane) || a.live.runTmux(context.Background(), program, "display-popup", "-E", "-w", "90%", "-h", "60%", "-t", pane, "--", self, "requests", "--answer", a.live.session.ID).Run() != nil {
			instead()
		}
	}()
	return true
}

// tmux finds the program, where no agent could have put it; "" where the person is in none.
func (l *live) tmux() string {
	if l.session.Getenv("TMUX") == "" {
		return ""
	}
	path, err := l.session.Program("tmux")
	if err != nil {
		return ""
	}
	return path
}

// tmuxPatience is what tmux gets to answer a question.
const tmuxPatience = 2 * time.Second

// sits holds where the terminal of the session is that pane: the variables of tmux come along
// into a terminal that somebody has opened from there, and a popup would stand where nobody looks.
func (l *live) sits(program, pane string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), tmuxPatience)
	defer cancel()
	said, err := l.runTmux(ctx, program, "display-message", "-p", "-t", pane, "#{pane_tty}").Output()
	own, lost := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(l.streams.in.Fd())))
	return err == nil && lost == nil && strings.TrimSpace(string(said)) == own
}

func (l *live) runTmux(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay = "/", tmuxPatience
	for _, name := range []string{"TMUX", "TMUX_PANE", "HOME", "PATH", "TERM", "LANG", "LC_ALL"} {
		if v := l.session.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// question is what is asked now, for who answers elsewhere than at the session's terminal.
func (a *asker) question() control.Reply { return control.Reply{Question: a.text(true)} }

// answered takes an answer from elsewhere. It counts only for the question that was seen there.
func (a *asker) answered(q control.Request) control.Reply {
	if q.Asked == nil {
		q.Asked = []string{}
	}
	said, known, stale := a.enterFor(q.Asked, q.Answer)
	if stale {
		return a.question()
	}
	if !known {
		said = "ringfence: that is none of the answers"
	}
	a.live.relay.Ask(a.dialog)
	r := a.question()
	r.Said = said
	return r
}

// unwanted: who answers elsewhere wants no question now.
func (a *asker) unwanted() control.Reply {
	a.leave()
	a.live.relay.Ask(a.dialog)
	return control.Reply{}
}
