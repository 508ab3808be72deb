package supervisor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
)

// asker asks the person at the terminal about hosts that no rule allows, one after the
// other. What an agent can cause by it is bounded: a domain that was turned down is not
// asked about again, few can wait, and who leaves questions unanswered is asked no more.
type asker struct {
	live   *live
	gate   *gate.Gate
	dialog *terminal.Dialog
	popped atomic.Bool // a popup of tmux is being shown

	mu     sync.Mutex
	queue  []gate.Pending
	turned map[address.Name]bool // domains of which a host was turned down
	vain   int                   // questions in a row that nobody answered
	sure   bool                  // "always" was chosen and is to be confirmed
}

const (
	maxQueue = 16
	maxVain  = 3
)

func newAsker(l *live) *asker {
	a := &asker{live: l, turned: map[address.Name]bool{}}
	a.dialog = &terminal.Dialog{Text: a.text, Enter: a.enter, Left: a.leave, Elsewhere: a.popup}
	return a
}

// ask puts a host to the person, or turns it down at once.
func (a *asker) ask(p gate.Pending) {
	a.mu.Lock()
	ask := a.live.relay != nil && !a.turned[p.Domain] && a.vain < maxVain && len(a.queue) < maxQueue
	if ask {
		a.queue = append(a.queue, p)
	}
	a.mu.Unlock()
	switch {
	case ask:
		a.live.relay.Ask(a.dialog)
	case a.live.relay != nil:
		a.gate.Refuse(p.Target())
	}
}

// left forgets a host that nobody waits for any more: it was granted from elsewhere, or
// time is up.
func (a *asker) left(t address.Target) {
	a.mu.Lock()
	i := slices.IndexFunc(a.queue, func(p gate.Pending) bool { return p.Target() == t })
	if i >= 0 {
		if i == 0 {
			a.sure = false
		}
		if !slices.ContainsFunc(a.gate.Grants(), func(g gate.Granted) bool { return covers(g.Rule, t) }) {
			a.vain++
		}
		a.queue = slices.Delete(a.queue, i, i+1)
	}
	a.mu.Unlock()
	if i >= 0 && a.live.relay != nil {
		a.live.relay.Ask(a.dialog)
	}
}

func covers(rule string, t address.Target) bool {
	r, err := address.ParseRule(rule)
	if err != nil {
		return false
	}
	_, on := r.On(t.Port)
	return on && r.Covers(t.Name)
}

// text is the question about the first host, and over a screen the list of all.
func (a *asker) text(over bool) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lines(over)
}

// lines is the same for who has the lock.
func (a *asker) lines(over bool) (lines []string) {
	if len(a.queue) == 0 {
		return nil
	}
	p := a.queue[0]
	if over {
		lines = append(lines, "ringfence: hosts that are wanted and that no rule allows", "")
		for _, q := range a.queue {
			lines = append(lines, fmt.Sprintf("  %s%s, since %s", hostRule(q.Name, q.Port), wantedBy(q), q.Since.Local().Format(time.TimeOnly)))
		}
		lines = append(lines, "")
	}
	lines = append(lines, fmt.Sprintf("ringfence: %s is wanted%s, and no rule allows it", hostRule(p.Name, p.Port), wantedBy(p)))
	if a.sure {
		return append(lines, fmt.Sprintf("  keep [network] allow = [%q] for this project? y and Enter, else no: ", hostRule(p.Name, p.Port)))
	}
	return append(lines, fmt.Sprintf("  %s: o once, s this session, a always for this project, n no (in %d s): ", hostRule(p.Name, p.Port), int(patience.Seconds())))
}

func wantedBy(p gate.Pending) string {
	if p.Command == "" {
		return ""
	}
	return " by " + strconv.QuoteToASCII(p.Command)
}

// enter takes an answer.
func (a *asker) enter(line string) (said string, known bool) {
	said, known, _ = a.enterFor(nil, line)
	return said, known
}

// enterFor takes an answer to the question that was shown; nil is whatever is asked now.
// stale: another one is.
func (a *asker) enterFor(shown []string, line string) (said string, known, stale bool) {
	a.mu.Lock()
	if len(a.queue) == 0 || shown != nil && !slices.Equal(a.lines(true), shown) {
		a.mu.Unlock()
		return "", false, true
	}
	p, sure := a.queue[0], a.sure
	answer := strings.ToLower(strings.TrimSpace(line))
	a.sure = false
	switch {
	case sure && answer != "y":
		answer = "n"
	case sure:
	case answer == "a":
		a.sure, a.vain = true, 0
		a.mu.Unlock()
		return "", true, false
	case answer == "":
		answer = "n"
	case !slices.Contains([]string{"o", "s", "n"}, answer):
		a.mu.Unlock()
		return "", false, false
	}
	a.vain = 0
	a.queue = a.queue[1:]
	if answer == "n" {
		a.turned[p.Domain] = true
	}
	a.mu.Unlock()
	return a.answer(p, answer), true, false
}

// answer does what was answered, and says what that was.
func (a *asker) answer(p gate.Pending, answer string) string {
	host := hostRule(p.Name, p.Port)
	rule, err := address.ParseRule(host)
	entry := policy.Entry{Rule: rule, Text: rule.String(), Source: policy.Source{File: "asked at the terminal"}}
	said := ""
	switch {
	case err != nil:
	case answer == "o":
		err, said = a.gate.GrantOnce(entry), "allowed once"
	case answer == "s":
		err, said = a.gate.Grant(entry, time.Time{}), "allowed for this session"
	case answer == "y":
		err, said = a.always(p, entry), "allowed, and kept for this project"
	default:
		a.gate.Refuse(p.Target())
		return fmt.Sprintf("ringfence: %s is refused; later: ringfence grant %s --host %s", host, a.live.session.ID, host)
	}
	if err != nil {
		a.gate.Refuse(p.Target())
		return fmt.Sprintf("ringfence: %s is refused: %v", host, err)
	}
	a.live.renewNote()
	return fmt.Sprintf("ringfence: %s is %s", host, said)
}

// always keeps the rule for the project first: what cannot be kept is not allowed either.
func (a *asker) always(p gate.Pending, entry policy.Entry) error {
	s := a.live.session
	if err := policy.Keep(s.Dirs.GrantFile(s.ProjectRoot()), entry.Rule, time.Now(), "asked in session "+s.ID+", wanted"+wantedBy(p)); err != nil {
		return err
	}
	return a.gate.Grant(entry, time.Time{})
}

// leave turns down all that waits: the person wants something else now.
func (a *asker) leave() {
	a.mu.Lock()
	queue := a.queue
	a.queue, a.sure = nil, false
	a.mu.Unlock()
	for _, p := range queue {
		a.gate.Refuse(p.Target())
	}
}
