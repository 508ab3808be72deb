package cli

import (
	"bufio"
	gocontext "context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/plan"
	"ringfence.dev/ringfence/internal/run"
)

// log shows the record of a session: the newest if none is named.
func log(c *context, name string, args []string) (int, error) {
	f := c.flags(name, "[SESSION] [--net] [-f] [--denied] [--json]", "Shows what a session's gate decided: who wanted to go where, what became of it, how\nmuch was sent and received. Without SESSION the newest.")
	f.Bool("net", true, "the network (there is no other record yet)")
	follow := f.Bool("f", false, "go on while the session runs")
	denied := f.Bool("denied", false, "refusals only")
	asJSON := f.Bool("json", false, "print the records as JSON lines")
	id, err := c.sessionThenFlags(f, args)
	if err != nil {
		return 2, err
	}
	dirs, err := c.dirs()
	if err != nil {
		return 2, err
	}
	dir := run.JournalDir(dirs)
	if id == "" {
		list, err := journal.List(dir)
		if err != nil {
			return 2, err
		}
		if len(list) == 0 {
			return 1, fault.New(fault.Failed, "", "no session has left a record of its network yet")
		}
		id = list[0].Session
	}
	r, err := journal.Open(dir, id)
	if err != nil {
		return 1, fault.New(fault.Failed, "`ringfence log` alone shows the newest", "no record of session %q: %w", id, err)
	}
	defer r.Close()
	return c.printLog(r, *follow, *denied, *asJSON)
}

func (c *context) printLog(r *journal.Reader, follow, denied, asJSON bool) (int, error) {
	w := bufio.NewWriter(c.out)
	defer w.Flush()
	status := 0
	show := func(rec journal.Record, err error) error {
		var bad *journal.BadLine
		if errors.As(err, &bad) {
			status = 1
			w.Flush()
			fmt.Fprintf(c.err, "ringfence: warning: %s\n", inert(bad.Error()))
			return nil
		}
		if err != nil {
			return err
		}
		if denied && rec.Verdict != journal.Deny {
			return nil
		}
		if asJSON {
			_, err := w.Write(append(rec.AppendJSON(nil), '\n')) // ASCII, as it is in the file
			return err
		}
		_, err = fmt.Fprintln(w, inert(logLine(rec)))
		return err
	}
	if follow {
		ctx, stop := signal.NotifyContext(gocontext.Background(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		for rec, err := range r.Follow(ctx) {
			if err := show(rec, err); err != nil {
				return 2, err
			}
			w.Flush()
		}
		return status, nil
	}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return status, nil
		}
		if err := show(rec, err); err != nil {
			return 2, err
		}
	}
}

// logLine is one record for people.
func logLine(r journal.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ", r.Time.Local().Format(time.TimeOnly))
	host := r.Name
	if host == "" {
		host = r.Addr
	}
	if r.Port != 0 {
		host = fmt.Sprintf("%s:%d", host, r.Port)
	}
	switch r.Event {
	case journal.Gate:
		fmt.Fprintf(&b, "gate %s %s", r.State, r.Mode)
		return strings.TrimSpace(b.String())
	case journal.Listen:
		fmt.Fprintf(&b, "listen inside:%d", r.Port)
		return b.String()
	case journal.Grant:
		fmt.Fprintf(&b, "grant %s %s", r.Rule, r.Reason)
		return b.String()
	case journal.Held, journal.Masked, journal.Revealed, journal.Applied, journal.Brake:
		fmt.Fprintf(&b, "%s %s", r.Event, plan.Show(r.Name))
	case journal.Use:
		fmt.Fprintf(&b, "%-5s %s uses %s", r.Verdict, host, plan.Show(r.Secret))
	case journal.Read, journal.Sent, journal.Frozen:
		fmt.Fprintf(&b, "decoy %s %s", plan.Show(r.Secret), r.Event)
	case journal.End:
		fmt.Fprintf(&b, "end   %s %s sent, %s received", host, plan.Size(r.Sent), plan.Size(r.Received))
	default:
		fmt.Fprintf(&b, "%-5s %s %s", r.Verdict, host, strings.TrimSpace(r.Via+" "+r.Protocol))
	}
	if r.Method != "" {
		fmt.Fprintf(&b, " %s", r.Method)
	}
	if r.Addr != "" && r.Name != "" {
		fmt.Fprintf(&b, " → %s", r.Addr)
	}
	if r.Reason != "" {
		fmt.Fprintf(&b, ": %s", r.Reason)
	}
	if r.Event != journal.End && r.Rule != "" {
		fmt.Fprintf(&b, " [%s", r.Rule)
		if r.Source != "" {
			fmt.Fprintf(&b, ", %s", r.Source)
		}
		b.WriteString("]")
	}
	if r.Command != "" {
		fmt.Fprintf(&b, " %s(%d)", plan.Show(r.Command), r.PID)
	}
	return b.String()
}
