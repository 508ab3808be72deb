package session

import (
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/session/launch"
)

// bounds are the limits of a session: what policy has, and for memory a share of the
// machine where nobody wrote a number.
func bounds(l launch.Law) cgroup.Limits {
	lim := l.Policy.Limits
	out := cgroup.Limits{Pids: lim.Pids.Number(), Memory: lim.Memory.Number()}
	if lim.Memory == nil && lim.Share != nil {
		out.Memory = rounded(cgroup.Machine() / 100 * lim.Share.Value)
	}
	return out
}

// rounded makes a number that can be said: whole GiB, or MiB where that is too coarse.
func rounded(n int64) int64 {
	unit := int64(1 << 20)
	if n >= 4<<30 {
		unit = 1 << 30
	}
	return n / unit * unit
}

// askedLimit is a limit that somebody asked for, and where.
type askedLimit struct {
	name   string
	source policy.Source
	how    string // what was asked: that it be there, or a number
}

// AskedLimits are those that may not be missing: with a number in a file or a flag, or
// named by [require] limits. What the built-in policy has nobody asked for; a share of
// the machine's memory is for hosts that lend a bound, whoever wrote it.
func AskedLimits(w launch.Law) []askedLimit {
	var out []askedLimit
	for _, r := range w.Policy.Require.Limits {
		out = append(out, askedLimit{r.Value, r.Source, "is required"})
	}
	for _, l := range []struct {
		name  string
		limit *policy.Limit
	}{{"pids", w.Policy.Limits.Pids}, {"memory", w.Policy.Limits.Memory}} {
		if l.limit != nil && l.limit.Source.File != launch.BuiltIn {
			out = append(out, askedLimit{l.name, l.limit.Source, "was asked for"})
		}
	}
	return out
}

// Refuse is the error for a limit that does not hold.
func (a askedLimit) Refuse(why string, b launch.Base) error {
	return fault.New(fault.Refused, b.Facts.LimitsFix(), "limit %q %s (%s) and is not enforced: %s", a.name, a.how, a.source.String(), why)
}

// RequireLimits refuses a launch when nothing enforces a limit that was asked for.
func RequireLimits(b launch.Base, r cgroup.Report) error {
	for _, want := range AskedLimits(b.Law) {
		l := map[string]cgroup.Limit{"pids": r.Pids, "memory": r.Memory}[want.name]
		if l.Enforced() {
			continue
		}
		why := l.Why
		if l.Want == 0 {
			why = "policy sets no number for it"
		}
		return want.Refuse(why, b)
	}
	return nil
}

// OpenLimits raises the limits of a session, with whatever its rung has for that.
func OpenLimits(b launch.Base) (*cgroup.Group, cgroup.Report, error) {
	want := bounds(b.Law)
	if by := b.Rung.Offer().Limits; by != "" {
		group, report := cgroup.Elsewhere(want, by)
		return group, report, nil
	}
	return cgroup.Open(b.ID, want)
}

// limitsHold tries the limits on nothing.
func limitsHold(b launch.Base) error {
	if len(AskedLimits(b.Law)) == 0 {
		return nil
	}
	group, report, err := OpenLimits(b)
	if err != nil {
		return err
	}
	defer group.Close()
	return RequireLimits(b, report)
}
