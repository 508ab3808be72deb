package sessions

import (
	"fmt"
	"io"
	"slices"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/control"
)

// What of a flood is shown. What waits is always shown, and the rest is counted.
const (
	maxShownDomains = 40
	maxShownHosts   = 4 // of one domain
)

// showPending shows what was wanted by domain, the first that was wanted first: names
// below a domain cost nothing, and an agent could hide one request behind a thousand.
func showPending(w io.Writer, s control.Status) {
	more := map[string]control.Others{}
	for _, o := range s.Others {
		more[o.Domain] = o
	}
	hidden, refused := 0, more[""].Refused
	for i, group := range byDomain(s.Pending) {
		if i >= maxShownDomains && !slices.ContainsFunc(group, waits) {
			hidden += len(group)
			continue
		}
		showDomain(w, s.Session, group, more[group[0].Domain].Refused)
	}
	if hidden > 0 {
		fmt.Fprintf(w, "  … and %d host%s more, wanted later: ringfence requests --json lists them\n", hidden, command.Plural(hidden, "", "s"))
	}
	if refused > 0 {
		fmt.Fprintf(w, "  … and %d refusals of hosts of other domains, too many to be listed: ringfence log %s\n", refused, s.Session)
	}
}

func waits(p control.Pending) bool { return p.Waiting > 0 }

// byDomain groups what waits, in the order of what was wanted first.
func byDomain(all []control.Pending) (groups [][]control.Pending) {
	at := map[string]int{}
	for _, p := range all {
		i, ok := at[p.Domain]
		if !ok {
			i = len(groups)
			at[p.Domain] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

func showDomain(w io.Writer, session string, group []control.Pending, others int) {
	refused, shown := others, 0
	for _, p := range group {
		refused += p.Refused
	}
	if len(group) > 1 || others > 0 {
		fmt.Fprintf(w, "  %s: refused %d×, first wanted at %s\n", plan.Show(group[0].Domain), refused, group[0].Since.Local().Format(time.TimeOnly))
	}
	for _, p := range group {
		if shown >= maxShownHosts && !waits(p) {
			continue
		}
		shown++
		showHost(w, session, p)
	}
	if n := len(group) - shown; n > 0 {
		fmt.Fprintf(w, "  … and %d host%s more of %s: ringfence requests --json lists them\n", n, command.Plural(n, "", "s"), plan.Show(group[0].Domain))
	}
	if others > 0 {
		fmt.Fprintf(w, "  … and %d refusals of other names below %s, too many to be listed: ringfence log %s\n", others, plan.Show(group[0].Domain), session)
	}
}

func showHost(w io.Writer, session string, p control.Pending) {
	state := fmt.Sprintf("refused %d×", p.Refused)
	if p.Waiting > 0 {
		state = fmt.Sprintf("waits since %s", p.Since.Local().Format(time.TimeOnly))
	}
	who := ""
	if p.Command != "" {
		who = fmt.Sprintf(" by %s (%d)", plan.Show(p.Command), p.PID)
	}
	where := plan.Show(p.Host)
	if p.Port != 0 {
		where = fmt.Sprintf("%s:%d", where, p.Port)
	}
	fmt.Fprintf(w, "  %s %s%s\n    ringfence grant %s --host %s\n", where, state, who, session, plan.Show(hostArg(p)))
}

func hostArg(p control.Pending) string {
	if p.Port == 443 || p.Port == 80 || p.Port == 0 {
		return p.Host
	}
	return fmt.Sprintf("%s:%d", p.Host, p.Port)
}
