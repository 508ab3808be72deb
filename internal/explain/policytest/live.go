package policytest

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/journal"
)

// Trial is a live test: what is to be tried, and of which case each try is.
type Trial struct {
	Asks []Ask
	// Apart says that another kernel answers inside, which has numbers of its own for what
	// it shows of the host: there a file is known by what is in it.
	Apart bool
	cases []*Case
	world *why.World
}

// NewTrial collects what can be tried of results that were made with all cases. The
// others say why they are not.
func (f *File) NewTrial(results []Result, w *why.World) *Trial {
	t := &Trial{world: w}
	for i := range results {
		for j := range results[i].Cases {
			c := &results[i].Cases[j]
			a := Ask{Access: f.Lines[i].Access, Subject: c.Subject}
			if why := untriable(a, w); why != "" {
				c.Live = &Live{Skipped: why}
				continue
			}
			t.Asks, t.cases = append(t.Asks, a), append(t.cases, c)
		}
	}
	return t
}

// untriable says why something is not tried: it would change the host, or there is
// nothing to meet.
func untriable(a Ask, w *why.World) string {
	switch a.Access {
	case why.ToPush:
		return "the broker's own rules were asked; nothing is pushed"
	case why.Resolve, why.Connect:
		if t, err := why.ParseHost(a.Subject); err == nil && why.Loopback(t) {
			return "a loopback of the session's own"
		}
		return ""
	case why.Pass:
		return ""
	}
	st, err := os.Stat(a.Subject)
	switch {
	case err != nil:
		return "nothing is there on the host that could be met"
	case w.Layered(a.Subject) && a.Access == why.Write:
		return "in review nothing reaches the host"
	case a.Access != why.Read && !st.Mode().IsRegular():
		return "only files are opened so"
	case !st.IsDir() && !st.Mode().IsRegular():
		return "a device or socket is not opened"
	}
	return ""
}

// Judge compares what was met with what was said beforehand. records is the journal
// of the session, value a variable as the launcher has it.
func (t *Trial) Judge(met []Met, records []journal.Record, value func(string) string) {
	for i, m := range met {
		a := t.Asks[i]
		live := &Live{Met: m.Error}
		if m.OK && m.Error == "" {
			live.Met = "it worked"
		}
		live.Reached = t.reached(a, m, records, value)
		if m.OK && !live.Reached && a.Access != why.Connect {
			live.Met = "it met something of the session's own"
		}
		said := t.cases[i].Finding.Verdict == why.Allowed
		live.Differs = live.Reached != said
		t.cases[i].Live = live
	}
}

// reached says whether the host's own was met.
func (t *Trial) reached(a Ask, m Met, records []journal.Record, value func(string) string) bool {
	switch a.Access {
	case why.Pass:
		return m.OK && m.Digest == Digest(value(a.Subject))
	case why.Resolve:
		return m.OK
	case why.Connect:
		return passed(a.Subject, records)
	}
	if !m.OK {
		return false
	}
	st, err := os.Stat(a.Subject)
	if err != nil {
		return false
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	if ok && (own.Dev == m.Dev && own.Ino == m.Ino || t.world.Layered(a.Subject)) {
		return true
	}
	return t.Apart && m.Digest != "" && tryOpen(a.Subject, unix.O_RDONLY).Digest == m.Digest
}

// passed looks for the gate's own word about a target.
func passed(subject string, records []journal.Record) bool {
	for _, r := range records {
		if r.Kind == journal.Net && r.Event == journal.Decision && r.Verdict == journal.Allow && r.Via != "dns" && why.Recall(r).Subject == subject {
			return true
		}
	}
	return false
}

// Settle counts a difference between the two as a failure.
func Settle(results []Result) {
	for i := range results {
		for j := range results[i].Cases {
			c := &results[i].Cases[j]
			if c.Live != nil && c.Live.Differs {
				c.Pass, results[i].Pass = false, false
			}
		}
	}
}
