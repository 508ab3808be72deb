package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/toolbox"
)

// toolDesk is where an agent asks for tools. A name is all that it can say. What policy
// allows is fetched, beside the session and in a sandbox of its own; for all else a person
// has to say yes, outside.
type toolDesk struct {
	live *live
	gate launch.Gateway

	mu      sync.Mutex // one at a time
	fetched int
}

// maxFetched bounds what an agent has fetched in one session.
const maxFetched = 32

// ServeHTTP implements http.Handler.
func (d *toolDesk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wish := strings.TrimPrefix(r.URL.Path, "/")
	if r.Method != http.MethodPost || r.URL.RawQuery != "" || r.ContentLength != 0 || wish == "" || len(wish) > maxWishWhat {
		http.Error(w, "ringfence: the way to a tool is "+launch.ToolClient+" NAME", http.StatusBadRequest)
		return
	}
	text, err := d.answer(r.Context(), wish)
	if err != nil {
		d.record(wish, journal.Deny, err.Error())
		http.Error(w, "ringfence: "+err.Error(), http.StatusForbidden)
		return
	}
	io.WriteString(w, text+"\n")
}

func (d *toolDesk) record(what, v, why string) error {
	return d.gate.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "tools", Name: plan.Show(what), Verdict: v, Reason: why})
}

// answer says where a tool is, or why it is not there and who can change that.
func (d *toolDesk) answer(ctx context.Context, wish string) (string, error) {
	s := d.live.session
	if err := d.live.mcp.wish.mayAsk(time.Now()); err != nil {
		return "", err
	}
	rules := &s.Policy.Tools
	all, err := toolbox.Sources(wish, rules.Allow, func(p string) bool { _, err := s.Program(p); return err == nil })
	if err != nil {
		return "", err
	}
	for _, t := range all {
		if r, err := session.Box(s.Base).Find(t); err != nil {
			return "", err
		} else if r != nil {
			return d.there(t, r), nil
		}
	}
	for _, t := range all {
		if rules.Allows(t) {
			return d.fetch(ctx, t)
		}
	}
	switch {
	case len(all) == 0:
		return "", fmt.Errorf("no source here is known to have %s.%s\nIf you know one: %s SOURCE:NAME", plan.Show(wish), managed(s), launch.ToolClient)
	case !rules.Asks():
		return "", fmt.Errorf("%s is not fetched: [tools] default is %q (%s).\nGo on without it, and tell the human that you miss it", all[0], policy.ToolsNone, rules.Default.Source.String())
	}
	return "", d.wish(all)
}

func (d *toolDesk) there(t policy.Tool, r *toolbox.Record) string {
	shown := func(m plan.Mount) bool { return m.Dst == toolbox.NixStore }
	if t.Source == "nix" && !slices.ContainsFunc(d.live.session.Visible.Mounts, shown) {
		return r.Tool + " was built, and is here at the next start of the session: this one does not see " + toolbox.NixStore
	}
	return fmt.Sprintf("%s is here, behind all else on PATH: %s", r.Tool, strings.Join(r.Commands[:min(len(r.Commands), 20)], ", "))
}

// wish puts tools to a person, and tells the agent what to say.
func (d *toolDesk) wish(all []policy.Tool) error {
	l := d.live
	var names []string
	for _, t := range all {
		names = append(names, t.String())
	}
	dir := plan.Show(l.session.Workspaces[0].Path)
	err := l.mcp.wish.add(control.Wish{Kind: "tool", What: names[0], Reason: "a command that is not here", Since: time.Now()})
	if err == nil {
		l.Say(fmt.Sprintf("the agent asks for a tool; in %s: ringfence tools add %s", dir, names[0]))
	}
	more := ""
	if len(names) > 1 {
		more = "\nIt can also come from " + strings.Join(names[1:], ", ") + "."
	}
	return fmt.Errorf("%s is not here, and a person has to say yes.%s\nTell your human to run this in %s, outside:\n  ringfence tools add %s\nThen it works here at once, without a new session. Go on without it until then.%s",
		names[0], more, dir, names[0], managed(l.session))
}

// fetch has a tool fetched that policy allows.
func (d *toolDesk) fetch(ctx context.Context, t policy.Tool) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ctx, done, err := d.live.less.aside.begin(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	s := d.live.session
	if d.fetched >= maxFetched {
		return "", errors.New("too many tools were fetched in this session already")
	}
	d.fetched++
	if err := d.record(t.String(), journal.Allow, "a tool is fetched"); err != nil {
		return "", errors.New("the journal cannot be written, and what cannot be recorded is not done")
	}
	d.live.Say("fetching " + t.String() + " for the agent: [tools] allow has it")
	ctx, cancel := context.WithTimeout(ctx, maxFetchTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "tools", "add", "--project", s.ProjectRoot(), t.String()) // the agent may have changed what is a project there
	cmd.Env, cmd.Dir, cmd.SysProcAttr = s.Asked.Environ, s.Workspaces[0].Path, &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it tidies up
	cmd.WaitDelay = serverGrace
	if err := cmd.Run(); d.live.less.aside.ended() != nil {
		return "", errBeside
	} else if err != nil { // what it said has paths of the host in it
		return "", fmt.Errorf("%s could not be fetched. Your human sees why with: ringfence tools add %s", t, t)
	}
	r, err := session.Box(s.Base).Find(t)
	if err != nil || r == nil {
		return "", errors.Join(fmt.Errorf("%s could not be fetched", t), err)
	}
	return d.there(t, r), nil
}

const maxFetchTime = 15 * time.Minute

// managed names a version manager of the host whose tools are shown as they are: what a
// person installs with it is there at once.
func managed(s *session.Session) string {
	for _, m := range []struct{ why, command string }{{"toolchain mise", "mise use"}, {"toolchain asdf", "asdf install"}} {
		for _, v := range s.Visible.Mounts {
			if v.Why == m.why {
				return "\nIf it is one that " + strings.TrimPrefix(m.why, "toolchain ") + " has, your human can also run: " + m.command + " NAME@VERSION"
			}
		}
	}
	return ""
}
