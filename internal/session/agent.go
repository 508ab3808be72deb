package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/policy/toolchain"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
)

// NotePath is where the note for the agent lies inside.
const NotePath = plan.Own + "/SANDBOX.md"

// maxSettings bounds a settings file of the host that is read to be shown.
const maxSettings = 1 << 20

// profile loads the agent's description.
func (d *draft) profile() (err error) {
	d.Profile, err = agent.Load(d.opt.Agent, filepath.Join(d.dirs.Config, "agents"))
	if err == nil && d.opt.Server != "" {
		d.Profile.Title = serverTitle(d.opt.Server)
	}
	return err
}

// program finds what is to be run.
func (d *draft) program() error {
	q := agent.Query{Dir: d.dir, Path: d.getenv("PATH"), Home: d.User.Home, Look: agent.Host()}
	for _, ws := range d.Workspaces {
		q.Workspaces = append(q.Workspaces, ws.Path)
	}
	args := d.opt.Args
	if len(d.Profile.Search.Names) == 0 {
		if len(args) == 0 || args[0] == "" {
			return fault.New(fault.Usage, "for example: ringfence run -- make test", "the command is empty")
		}
		q.Command = args[0]
	}
	bin, err := d.Profile.Find(q)
	if err != nil {
		return err
	}
	if q.Command == "" {
		args = slices.Concat([]string{bin.Path}, d.Profile.Args, d.modelArgs, args)
	}
	d.argv = args
	d.showProgram(bin)
	return nil
}

// showProgram makes the binary, what it needs beside it and its interpreter
// visible where the system directories do not show them already.
func (d *draft) showProgram(bin agent.Binary) {
	for _, p := range []string{bin.Tree, bin.Interpreter} {
		if p == "" || system(p) {
			continue
		}
		real, err := filepath.EvalSymlinks(p)
		if err != nil || system(real) || d.inWorkspace(real) {
			continue
		}
		d.mounts = append(d.mounts, plan.Mount{Src: real, Dst: real, Why: "program " + d.Profile.Title})
		d.link(p, real)
	}
	if bin.Tree != "" && !system(bin.Path) && !d.inWorkspace(bin.Path) {
		d.link(bin.Path, bin.Resolved)
	}
}

func (d *draft) inWorkspace(p string) bool {
	for _, ws := range d.Workspaces {
		if file.Within(p, ws.Path) {
			return true
		}
	}
	return false
}

// toolchains shows what PATH leads to, read-only.
func (d *draft) toolchains() error {
	in := toolchain.Input{Path: d.getenv("PATH"), Home: d.User.Home, Env: d.getenv, Look: toolchain.Lookup{Stat: os.Stat, Resolve: filepath.EvalSymlinks, ReadDir: os.ReadDir, ReadFile: os.ReadFile},
		Credential: func(p string) string {
			if found := knownsecrets.Under(d.User.Home, p, nil); len(found) > 0 {
				return found[0].Entry.What
			}
			return ""
		}}
	for _, ws := range d.Workspaces {
		in.Workspaces = append(in.Workspaces, ws.Path)
	}
	found := toolchain.Find(in)
	for _, r := range found.Roots {
		if system(r.Resolved) || d.inWorkspace(r.Resolved) {
			continue
		}
		d.mounts = append(d.mounts, plan.Mount{Src: r.Resolved, Dst: r.Path, Why: "toolchain " + r.Why})
	}
	for _, h := range found.Hidden {
		d.masks = append(d.masks, plan.Mask{Path: h, Why: "holds credentials"})
	}
	for _, c := range found.Copies {
		d.files = append(d.files, plan.File{Dst: c.Path, Data: c.Data, Why: "toolchain " + c.Why})
	}
	d.path = strings.Join(found.Path, ":")
	for _, s := range found.Env {
		d.base = append(d.base, policy.Setting{Name: s.Name, Value: s.Value, Source: policy.Source{File: "toolchain"}})
	}
	for _, e := range found.Dropped {
		d.Dropped = append(d.Dropped, fmt.Sprintf("%s: %s", plan.Show(e.Entry), e.Reason))
	}
	return nil
}

// keepState opens the project's own state: what the agent writes under HOME and
// the caches of package managers, private to this project. On top of it, read
// only, come the user's settings without their secrets.
func (d *draft) keepState() error {
	judge := agent.Judge{Secret: func(name string) bool { e, ok := knownsecrets.Env(name); return ok && e.Class == knownsecrets.Secret }}
	judge.Dir = d.dir
	for _, ws := range d.Workspaces {
		judge.Workspaces = append(judge.Workspaces, ws.Path)
	}
	for _, s := range d.Profile.State {
		if err := d.stateItem(s, judge); err != nil {
			return err
		}
	}
	for _, c := range toolchain.Caches() {
		d.keep(strings.TrimPrefix(c.Path, "~/"), true, nil, "package cache, private to this project")
	}
	for _, c := range d.Profile.Config {
		for _, p := range c.Paths {
			d.showConfig(c, agent.Expand(p, d.User.Home), judge)
		}
	}
	for path, set := range d.overlays { // of files that the host does not have
		data, err := agent.Overlaid(nil, set)
		if err != nil {
			return err
		}
		d.place(path, data, "leads the agent to the broker")
	}
	for _, f := range d.Profile.Managed {
		d.place(f.Path, append(f.Fill(broker.Endpoint, d.dir), d.managedEnd(f.Path)...), "tells the agent that it is sandboxed")
	}
	return nil
}

func (d *draft) stateItem(s agent.State, j agent.Judge) error {
	rel, ok := strings.CutPrefix(s.Path, "~/")
	if !ok {
		return fmt.Errorf("agent %s: state %q is not under ~/", d.Profile.Name, s.Path)
	}
	var seed []byte
	if s.Kind == agent.KindFile {
		host, err := readIfPresent(filepath.Join(d.User.Home, rel), 16<<20)
		if err != nil {
			d.notice(fmt.Sprintf("%s is not carried over: %v", plan.Show(s.Path), err))
		}
		seed = s.Fill(host, j)
	}
	d.keep(rel, s.Kind == agent.KindDir, seed, "state of "+d.Profile.Title+", private to this project")
	if len(s.Answer) > 0 {
		d.state[len(d.state)-1].Amend = func(now []byte) []byte { return s.Answered(now, j) }
	}
	return nil
}

// keep binds a path of the project's state at the same path under HOME.
func (d *draft) keep(rel string, dir bool, seed []byte, why string) {
	d.state = append(d.state, stateItem{state.Item{Path: rel, Dir: dir, Seed: seed}, why})
}

// showConfig shows one settings path of the host, if it exists: itself read-only,
// or a copy without secrets.
func (d *draft) showConfig(c agent.Config, p string, j agent.Judge) {
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return
	}
	st, err := os.Stat(real)
	if err != nil || d.inWorkspace(real) {
		return
	}
	why := "settings of " + d.Profile.Title
	if c.Format != "" {
		d.showScrubbed(c, p, real, why, j)
		return
	}
	if !st.IsDir() && !st.Mode().IsRegular() {
		return
	}
	// The profile names its paths one by one; a link may lead anywhere.
	if found := knownsecrets.Under(d.User.Home, real, nil); real != p && len(found) > 0 {
		d.notice(fmt.Sprintf("%s is not shown: it leads to %s", plan.Show(p), found[0].Entry.What))
		return
	}
	hidden, err := c.Omitted(real, os.ReadDir)
	if err != nil {
		d.notice(fmt.Sprintf("%s is not shown: %v", plan.Show(p), err))
		return
	}
	for _, h := range hidden {
		d.masks = append(d.masks, plan.Mask{Path: p + strings.TrimPrefix(h, real), Why: why})
	}
	d.mounts = append(d.mounts, plan.Mount{Src: real, Dst: p, Why: why})
}

func (d *draft) showScrubbed(c agent.Config, p, real, why string, j agent.Judge) {
	data, err := readIfPresent(real, maxSettings)
	if err == nil {
		var gone []string
		if data, gone, err = c.Scrub(data, j); err == nil {
			if set := d.overlays[p]; set != nil && c.Format == "json" {
				delete(d.overlays, p)
				if data, err = agent.Overlaid(data, set); err != nil {
					d.notice(fmt.Sprintf("%s is not shown: %v", plan.Show(p), err))
					return
				}
			}
			if len(gone) > 0 {
				d.notice(fmt.Sprintf("%s is shown without %s", plan.Show(p), strings.Join(gone, ", ")))
			}
			d.place(p, data, why+", without secrets")
			return
		}
	}
	d.notice(fmt.Sprintf("%s is not shown: %v", plan.Show(p), err))
}

// place puts a generated file at p, read-only.
func (d *draft) place(p string, data []byte, why string) {
	d.files = append(d.files, plan.File{Dst: p, Data: data, Why: why})
}

// note writes what the agent should know, to its own channel and to NotePath.
func (d *draft) note() error {
	text := agent.Note(d.noteInput())
	d.Note = text
	d.mounts = append(d.mounts, plan.Mount{Src: statusFile(d.work.Dir()), Dst: StatusPath, Why: "how the session does"})
	d.files = append(d.files, plan.File{Dst: NotePath, Data: []byte(text), Why: "what the agent is told"})
	if ch := d.Profile.Note; ch.Path != "" {
		own, err := d.ownInstructions(ch)
		if err != nil {
			return err
		}
		d.place(agent.Expand(ch.Path, d.User.Home), agent.Compose(text, own), "what the agent is told")
	}
	return nil
}

// ownInstructions reads the user's own file for the channel, the first there is.
func (d *draft) ownInstructions(ch agent.Channel) ([]byte, error) {
	for _, b := range ch.Base {
		own, err := readIfPresent(agent.Expand(b, d.User.Home), maxSettings)
		if err != nil {
			return nil, fmt.Errorf("instructions of %s: %w", d.Profile.Title, err)
		}
		if own != nil {
			return own, nil
		}
	}
	return nil, nil
}

func (d *draft) noteInput() agent.NoteInput {
	in := agent.NoteInput{Agent: d.Profile.Name, Home: d.User.Home, Keys: d.Keys}
	for _, ws := range d.Workspaces {
		in.Workspaces = append(in.Workspaces, agent.Place{Path: ws.Path, Write: ws.Write})
	}
	for _, r := range d.Policy.Files.Read {
		in.Read = append(in.Read, policy.Expand(r.Value, d.User.Home))
	}
	for _, r := range d.Policy.Files.Write {
		in.Write = append(in.Write, policy.Expand(r.Value, d.User.Home))
	}
	for _, s := range d.Profile.State {
		in.Kept = append(in.Kept, agent.Expand(s.Path, d.User.Home))
	}
	for _, c := range toolchain.Caches() {
		in.Kept = append(in.Kept, agent.Expand(c.Path, d.User.Home))
	}
	for _, m := range d.Policy.Files.Mask {
		in.Hidden = append(in.Hidden, m.Value)
	}
	for _, l := range []struct {
		name  string
		limit *policy.Limit
		show  func(int64) string
	}{
		{"processes and threads", d.Policy.Limits.Pids, func(n int64) string { return fmt.Sprint(n) }},
		{"memory", d.Policy.Limits.Memory, plan.Size}, {"/tmp", d.Policy.Limits.Tmp, plan.Size}, {"HOME", d.Policy.Limits.Home, plan.Size},
	} {
		if l.limit != nil {
			in.Limits = append(in.Limits, agent.Limit{Name: l.name, Value: l.show(l.limit.Value)})
		}
	}
	in.Review = d.view() == plan.Review
	for p := range d.masking.masked {
		in.Phantoms = append(in.Phantoms, p)
	}
	slices.Sort(in.Phantoms)
	in.Network = d.posture()
	return in
}

// posture tells the agent what of the network is there.
func (d *draft) posture() agent.Posture {
	if d.Reach.Mode == modeNone {
		return agent.Posture{Mode: modeNone}
	}
	out := agent.Posture{Mode: d.Reach.Mode, Session: d.ID, Proxy: fmt.Sprintf("127.0.0.1:%d", netns.Proxy)}
	collect := func(to *[]agent.Hosts, e policy.Entry) {
		if n := len(*to); n > 0 && (*to)[n-1].Name == e.Group {
			(*to)[n-1].Rules = append((*to)[n-1].Rules, e.Text)
			return
		}
		*to = append(*to, agent.Hosts{Name: e.Group, Rules: []string{e.Text}})
	}
	for _, e := range d.Reach.Allow {
		if e.Group == "" {
			out.Allowed = append(out.Allowed, e.Text)
		} else {
			collect(&out.Groups, e)
		}
	}
	for _, e := range d.Reach.Deny {
		collect(&out.Denied, e)
	}
	for _, p := range d.Reach.IP {
		out.Devices = append(out.Devices, p.Text)
	}
	for _, p := range d.Reach.Publish {
		out.Publish = append(out.Publish, fmt.Sprint(p.Inside))
	}
	for _, p := range d.Reach.HostPorts {
		out.Host = append(out.Host, fmt.Sprint(p))
	}
	return out
}
