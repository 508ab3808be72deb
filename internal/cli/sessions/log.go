package sessions

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
)

// Log shows the record of a session: the newest if none is named.
func Log() *command.Command {
	cmd := &command.Command{Name: "log", Args: "[SESSION] [flags]", Short: "show, verify or export what a session did and what was decided",
		Long:     "Shows what a session did and what was decided about it: who wanted to go where, what\nbecame of it, what was kept back, what waits, how it ended. Without SESSION the newest.",
		Examples: []string{"ringfence log", "ringfence log demo --denied", "ringfence log verify"},
		Takes:    command.One, Subs: []*command.Command{logList(), logVerify(), logExport()}}
	f := &cmd.Flags
	net := f.Bool("net", false, "only the network and the use of credentials")
	kinds := f.String("kind", "", "only these `KINDS`, with commas between them: session, net, broker, decoy, work")
	follow := f.Bool("f", false, "go on while the session runs")
	denied := f.Bool("denied", false, "refusals only")
	asJSON := f.Bool("json", false, "print the records as JSON lines")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		want, err := wantedKinds(*kinds, *net)
		if err != nil {
			return 2, err
		}
		r, err := openLog(c, command.First(args))
		if err != nil {
			return 1, err
		}
		defer r.Close()
		return printLog(c, r, *follow, *asJSON, func(rec journal.Record) bool {
			return (!*denied || rec.Verdict == journal.Deny) && (len(want) == 0 || slices.Contains(want, rec.Kind))
		})
	}
	return cmd
}

func wantedKinds(text string, net bool) ([]string, error) {
	var want []string
	if net {
		want = []string{journal.Net, journal.Broker, journal.Decoy}
	}
	for _, k := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		if !slices.Contains(journal.Kinds(), k) {
			return nil, fault.New(fault.Usage, "run `ringfence log --help`", "--kind %q is not one of %s", k, strings.Join(journal.Kinds(), ", "))
		}
		want = append(want, k)
	}
	return want, nil
}

// openLog opens the journal of a session that is named in any way.
func openLog(c *command.Console, name string) (*journal.Reader, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return nil, err
	}
	info, err := journal.Find(dirs.Journal(), name)
	if err != nil {
		return nil, err
	}
	return journal.Open(dirs.Journal(), info.Session)
}

func printLog(c *command.Console, r *journal.Reader, follow, asJSON bool, wanted func(journal.Record) bool) (int, error) {
	w := bufio.NewWriter(c.Out)
	defer w.Flush()
	status, wide := 0, 0
	if terminal.IsTerminal(c.Out) {
		wide = command.Columns(c.Out)
	}
	show := func(rec journal.Record, err error) error {
		var bad *journal.BadLine
		if errors.As(err, &bad) {
			status = 1
			w.Flush()
			c.Warn(bad.Error())
			return nil
		}
		if err != nil || !wanted(rec) {
			return err
		}
		if asJSON {
			_, err := w.Write(append(rec.AppendJSON(nil), '\n')) // ASCII, as it is in the file
			return err
		}
		_, err = fmt.Fprintln(w, fitted(command.Inert(logLine(rec)), wide))
		return err
	}
	all := r.All()
	if follow {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		all = r.Follow(ctx)
	}
	for rec, err := range all {
		if err := show(rec, err); err != nil {
			return 2, err
		}
		if follow {
			w.Flush()
		}
	}
	return status, nil
}

// fitted breaks a line for a terminal of that width, behind the time. To a pipe, which has
// none, each record is one line. A path that is longer than the rest of a line stays whole.
func fitted(line string, wide int) string {
	const time = len("15:04:05 ")
	if wide == 0 || utf8.RuneCountInString(line) <= wide || len(line) < time {
		return line
	}
	return line[:time] + command.Wrap(line[time:], time, wide)
}

// shortDigest names a digest for people; --json has all of it.
func shortDigest(d string) string {
	const enough = len("sha256:") + 16
	return d[:min(len(d), enough)]
}

// logLine is one record for people.
func logLine(r journal.Record) string {
	text := r.Time.Local().Format(time.TimeOnly) + " "
	if r.Kind == journal.Session {
		return text + sessionLine(r)
	}
	if what, whole := eventLine(r); whole {
		return text + what
	} else {
		text += what
	}
	return text + details(r)
}

// sessionLine is a record of the session itself.
func sessionLine(r journal.Record) string {
	list := shownList(r)
	switch r.Event {
	case journal.Begin:
		what := fmt.Sprintf("begin %s: %s", r.Agent, plan.Show(r.Command))
		if r.Count > 1 {
			what += fmt.Sprintf(" and %d words", r.Count-1)
		}
		return what + " in " + list
	case journal.Policy, journal.Planned:
		return strings.TrimSpace(r.Event + " " + shortDigest(r.Digest) + " " + list)
	case journal.Exit:
		return fmt.Sprintf("exit %d, %s", r.Code, r.State)
	case journal.Lost:
		return fmt.Sprintf("lost: the session ended without a word; %d records were not signed", r.Count)
	case journal.Limit:
		return fmt.Sprintf("limit %s hit %d×", r.Name, max(r.Count, 1))
	}
	return strings.Join(strings.Fields(strings.Join([]string{r.Event, r.State, list, bracket(r.Source)}, " ")), " ")
}

func bracket(s string) string {
	if s == "" {
		return ""
	}
	return "[" + s + "]"
}

// shownList keeps a line short; --json has all.
func shownList(r journal.Record) string {
	const most = 12
	var out []string
	for i, item := range r.List.All() {
		if i == most {
			out = append(out, fmt.Sprintf("… (%d in all)", len(r.List.All())))
			break
		}
		out = append(out, plan.Show(item))
	}
	return strings.Join(out, " ")
}

func hostOf(r journal.Record) string {
	host := r.Name
	if host == "" {
		host = r.Addr
	}
	if r.Port != 0 {
		host = fmt.Sprintf("%s:%d", host, r.Port)
	}
	return host
}

// eventLine is what happened, and whether that is all there is to say.
func eventLine(r journal.Record) (text string, whole bool) {
	switch r.Event {
	case journal.Gate:
		return strings.TrimSpace("gate " + r.State + " " + r.Mode), true
	case journal.Listen:
		return fmt.Sprintf("listen inside:%d", r.Port), true
	case journal.Grant:
		return "grant " + r.Rule + " " + r.Reason, true
	case journal.Revoke:
		return fmt.Sprintf("taken back %s, %d cut", r.Rule, r.Count), true
	case journal.Tighten:
		return strings.TrimSpace(fmt.Sprintf("network %s, it was %s, %d cut, by %s %s", r.Mode, r.State, r.Count, r.Source, r.Reason)), true
	case journal.Exec:
		return fmt.Sprintf("exec %s and %d words", plan.Show(r.Name), max(r.Count-1, 0)), true
	case journal.Asked:
		return fmt.Sprintf("asked to %s %d", r.Method, r.Count), true
	case journal.Changed, journal.Waits, journal.Discarded, journal.Undone, journal.NotKept, journal.Dropped, journal.Forgotten:
		return strings.TrimSpace(r.Event + " " + r.State + " " + shownList(r)), true
	case journal.Applied:
		if r.Name == "" {
			return strings.TrimSpace("applied " + r.State + " " + shownList(r)), true
		}
		return "applied " + plan.Show(r.Name), false
	case journal.Held, journal.Masked, journal.Revealed, journal.Brake:
		return r.Event + " " + plan.Show(r.Name), false
	case journal.Refused:
		if r.Name == "" {
			return fmt.Sprintf("%-5s %d more", r.Verdict, r.Count), false
		}
		return strings.TrimSpace(fmt.Sprintf("%-5s %s %s", r.Verdict, r.Via, plan.Show(r.Name))), false
	case journal.Use:
		return fmt.Sprintf("%-5s %s uses %s", r.Verdict, hostOf(r), plan.Show(r.Secret)), false
	case journal.Read, journal.Sent, journal.Frozen:
		return fmt.Sprintf("decoy %s %s", plan.Show(r.Secret), r.Event), false
	case journal.End:
		return fmt.Sprintf("end   %s %s sent, %s received", hostOf(r), plan.Size(r.Sent), plan.Size(r.Received)), false
	}
	return fmt.Sprintf("%-5s %s %s", r.Verdict, hostOf(r), strings.TrimSpace(r.Via+" "+r.Protocol)), false
}

// details follow what happened.
func details(r journal.Record) string {
	var b strings.Builder
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
