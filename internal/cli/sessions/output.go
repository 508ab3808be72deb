package sessions

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/session/detached"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Output shows what a kept session printed.
func Output() *command.Command {
	cmd := &command.Command{Name: "output", Args: "SESSION [-f]", Short: "show what a kept session printed",
		Long:     "Shows what a session printed that was started with --keep or -d: the last 4 MiB at\nleast. On a terminal it is shown as it was, else as plain text. What it was allowed\nto do is in `ringfence log`.",
		Examples: []string{"ringfence output demo"},
		Takes:    command.One}
	f := &cmd.Flags
	follow := f.Bool("f", false, "go on while the session runs")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		arg := command.First(args)
		if arg == "" {
			return 2, fault.New(fault.Usage, "ringfence ps -a lists them", "%s takes one session", cmd.Name)
		}
		w, err := findWork(c, arg)
		if err != nil {
			return 1, err
		}
		r, err := detached.OpenLog(w.Dir())
		if errors.Is(err, fs.ErrNotExist) {
			return 1, fault.New(fault.Failed, "start it with --keep or -d", "what session %s printed was not kept", w.ID)
		}
		if err != nil {
			return 2, err
		}
		defer r.Close()
		return 0, copyLog(c, r, w, *follow)
	}
	return cmd
}

func copyLog(c *command.Console, r io.Reader, w *review.Work, follow bool) error {
	var out io.Writer = &terminal.Plain{W: c.Out}
	suspend := terminal.StopJob
	if terminal.IsTerminal(c.Out) {
		filter := terminal.NewFilter(c.Out, false)
		defer filter.Leave()
		suspend = func() {
			filter.Leave() // what is drawn next is the shell's
			terminal.StopJob()
			filter.Return()
		}
		out = filter
	}
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTSTP)
	defer signal.Stop(stopped)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	tick := time.NewTicker(200 * time.Millisecond) // a person watches
	defer tick.Stop()
	for {
		over := !follow || !w.Running() // asked before the last look
		if _, err := io.Copy(out, r); err != nil || over {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-stopped:
			suspend()
		case <-tick.C:
		}
	}
}
