package sessions

import (
	"fmt"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
)

// netLines is how many hosts a summary names: it is one screen, the log has them all.
const netLines = 8

// NetSummary says at the end what went out, and what was kept from it.
func NetSummary(c *command.Console, s *session.Session, lines []journal.Line) {
	if s.Mode() == launch.ModeNone {
		return
	}
	var sent, received int64
	var denied, hosts int
	for _, l := range lines {
		sent, received, denied = sent+l.Sent, received+l.Received, denied+l.Denied
		if l.Conns > 0 || l.Requests > 0 {
			hosts++
		}
	}
	if len(lines) == 0 {
		fmt.Fprintln(c.Err, "  network    nothing went out")
		return
	}
	fmt.Fprintf(c.Err, "  network    %s, %s sent, %s received, %d refused\n", plainCount(hosts, "host", "hosts"), plan.Size(sent), plan.Size(received), denied)
	for i, l := range lines {
		if i == netLines {
			fmt.Fprintf(c.Err, "             … %d more: ringfence log %s --net\n", len(lines)-i, s.ID)
			break
		}
		fmt.Fprintf(c.Err, "             %s\n", command.Inert(netLine(l)))
	}
}

func netLine(l journal.Line) string {
	host := l.Host
	if l.Others {
		host = "others"
	}
	if l.Conns == 0 && l.Requests == 0 && l.Denied > 0 {
		return fmt.Sprintf("%s refused %d×: %s", host, l.Denied, l.Reason)
	}
	text := host
	if l.Requests > 0 {
		text += " by the broker, " + plainCount(l.Requests, "request", "requests") + ","
	}
	text += fmt.Sprintf(" %s sent, %s received", plan.Size(l.Sent), plan.Size(l.Received))
	if l.Denied > 0 {
		text += fmt.Sprintf(", refused %d×: %s", l.Denied, l.Reason)
	}
	return text
}

// refused are the lines of hosts of which something was refused that somebody may miss.
func refused(lines []journal.Line) (out []journal.Line) {
	for _, l := range lines {
		if l.Denied > 0 && l.Reason != gate.Needless {
			out = append(out, l)
		}
	}
	return out
}

func refusedLine(l journal.Line) string {
	host := l.Host
	if l.Others {
		host = "others"
	}
	return fmt.Sprintf("%s %d×: %s", host, l.Denied, l.Reason)
}
