package launch

import (
	"fmt"
	"path/filepath"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/toolchain"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// NotePath is where the note for the agent lies inside.
const NotePath = plan.Own + "/SANDBOX.md"

// note is what the agent is told.
type note struct {
	Base
	Contribution
	phantoms []string // files that show phantoms
}

// NoteFile is where the supervisor keeps it, and renews it, in the directory of the session.
func NoteFile(dir string) string { return filepath.Join(dir, "note") }

// Now is what changes of it while a session runs.
type Now struct {
	Phantoms  []string
	Granted   []string // rules of hosts that hold for now
	Published []policy.Port
}

// NoteNow is the note as it is at a moment of a running session.
func NoteNow(b Base, keys []string, now Now) string {
	nt := &note{Base: b, phantoms: now.Phantoms}
	nt.Reach.Publish = now.Published
	in := nt.input(keys)
	in.Network.Granted = now.Granted
	return agent.Note(in)
}

// Note writes what the agent should know, to its own channel and to NotePath.
func Note(b Base, keys, phantoms []string) (text string, out Contribution, err error) {
	nt := &note{Base: b, phantoms: phantoms}
	text = agent.Note(nt.input(keys))
	nt.Mounts = append(nt.Mounts, plan.Mount{Src: StatusFile(nt.Work.Dir()), Dst: StatusPath, Why: "how the session does"})
	nt.Mounts = append(nt.Mounts, plan.Mount{Src: NoteFile(nt.Work.Dir()), Dst: NotePath, Why: "what the agent is told"})
	if ch := nt.Profile.Note; ch.Path != "" {
		own, err := nt.ownInstructions(ch)
		if err != nil {
			return text, nt.Contribution, err
		}
		nt.Put(agent.Expand(ch.Path, nt.User.Home), agent.Compose(text, own), "what the agent is told")
	}
	return text, nt.Contribution, nil
}

// ownInstructions reads the user's own file for the channel, the first there is.
func (nt *note) ownInstructions(ch agent.Channel) ([]byte, error) {
	for _, b := range ch.Base {
		own, err := ReadIfPresent(agent.Expand(b, nt.User.Home), MaxSettings)
		if err != nil {
			return nil, fmt.Errorf("instructions of %s: %w", nt.Profile.Title, err)
		}
		if own != nil {
			return own, nil
		}
	}
	return nil, nil
}

func (nt *note) input(keys []string) agent.NoteInput {
	in := agent.NoteInput{Agent: nt.Profile.Name, Home: nt.User.Home, Keys: keys}
	for _, ws := range nt.Workspaces {
		in.Workspaces = append(in.Workspaces, agent.Place{Path: ws.Path, Write: ws.Write})
	}
	for _, r := range nt.Policy.Files.Read {
		in.Read = append(in.Read, policy.Expand(r.Value, nt.User.Home))
	}
	for _, r := range nt.Policy.Files.Write {
		in.Write = append(in.Write, policy.Expand(r.Value, nt.User.Home))
	}
	for _, s := range nt.Profile.State {
		in.Kept = append(in.Kept, agent.Expand(s.Path, nt.User.Home))
	}
	for _, c := range toolchain.Caches() {
		in.Kept = append(in.Kept, agent.Expand(c.Path, nt.User.Home))
	}
	for _, m := range nt.Policy.Files.Mask {
		in.Hidden = append(in.Hidden, m.Value)
	}
	for _, l := range []struct {
		name  string
		limit *policy.Limit
		show  func(int64) string
	}{
		{"processes and threads", nt.Policy.Limits.Pids, func(n int64) string { return fmt.Sprint(n) }},
		{"memory", nt.Policy.Limits.Memory, plan.Size}, {"/tmp", nt.Policy.Limits.Tmp, plan.Size}, {"HOME", nt.Policy.Limits.Home, plan.Size},
	} {
		if l.limit != nil {
			in.Limits = append(in.Limits, agent.Limit{Name: l.name, Value: l.show(l.limit.Value)})
		}
	}
	in.Review = nt.ViewMode() == plan.Review
	in.Phantoms = nt.phantoms
	in.Network = nt.posture()
	in.Packages = agent.Packages{Scripts: nt.Policy.Supply.ScriptsOn(), Allowed: nt.Policy.Supply.Allow.Values()}
	if s := nt.Policy.Supply; s.MinAge() > 0 {
		in.Packages.Age = s.Age.Value
	}
	in.Tools = agent.Tools{Asks: nt.Policy.Tools.Asks(), Allowed: nt.Policy.Tools.Allow.Values()}
	if Tooled(nt.Base) && (in.Tools.Asks || len(in.Tools.Allowed) > 0) {
		in.Tools.Client = ToolClient
	}
	return in
}

// posture tells the agent what of the network is there.
func (nt *note) posture() agent.Posture {
	if nt.Reach.Mode == ModeNone {
		return agent.Posture{Mode: ModeNone}
	}
	out := agent.Posture{Mode: nt.Reach.Mode, Session: nt.ID, Proxy: fmt.Sprintf("127.0.0.1:%d", netns.Proxy)}
	collect := func(to *[]agent.Hosts, e policy.Entry) {
		if n := len(*to); n > 0 && (*to)[n-1].Name == e.Group {
			(*to)[n-1].Rules = append((*to)[n-1].Rules, e.Text)
			return
		}
		*to = append(*to, agent.Hosts{Name: e.Group, Rules: []string{e.Text}})
	}
	for _, e := range nt.Reach.Allow {
		if e.Group == "" {
			out.Allowed = append(out.Allowed, e.Text)
		} else {
			collect(&out.Groups, e)
		}
	}
	for _, e := range nt.Reach.Deny {
		collect(&out.Denied, e)
	}
	for _, p := range nt.Reach.IP {
		out.Devices = append(out.Devices, p.Text)
	}
	for _, p := range nt.Reach.Publish {
		out.Publish = append(out.Publish, fmt.Sprint(p.Inside))
	}
	for _, p := range nt.Reach.HostPorts {
		out.Host = append(out.Host, fmt.Sprint(p))
	}
	return out
}

// StatusPath is where the state of the session lies inside, in one line.
const StatusPath = plan.Own + "/status"

func StatusFile(dir string) string { return filepath.Join(dir, "status") }
