package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Base is who, where and by which rules. It is decided first; afterwards the parts of
// a session only read it.
type Base struct {
	ID   string
	Name string // that the user gave; may be empty
	person
	place
	law
	Profile *agent.Profile
	Facts   hostfacts.Facts
	Reach   policy.Reach // what of the network is there

	work   *review.Work // what the session does to the trees of the host
	server serverPlace  // of a session that is an MCP server
	view   *view        // what the session shows, once that is known
	said   Contribution // what was found while deciding
}

// person is who runs ringfence, what was asked for, and where things are kept.
type person struct {
	User  plan.User
	asked Options
	dirs  state.Dirs
}

// place is where the session works.
type place struct {
	Workspaces []Workspace
	Repo       *repo.Repo
	dir        string // where the agent starts
}

// law is by which rules.
type law struct {
	Policy  *policy.Policy
	Ignored []policy.Change // widenings of an untrusted project file
	bare    *policy.Policy  // what holds without the project's file
	ceiling *policy.Policy
}

// decide says who, where and by which rules.
func decide(opt Options) (Base, error) {
	b := Base{ID: state.NewID(), Name: opt.Name, view: &view{}}
	var err error
	if b.person, err = who(opt); err != nil {
		return b, err
	}
	b.work = review.New(b.dirs.State, b.ID)
	if err := b.where(); err != nil {
		return b, err
	}
	return b, b.rules()
}

// describe adds the agent's own description.
func (b *Base) describe() (err error) {
	b.Profile, err = agent.Load(b.asked.Agent, b.agentsDir())
	if err == nil && b.asked.Server != "" {
		b.Profile.Title = serverTitle(b.asked.Server)
	}
	return err
}

// decideLaunch is decide for a launch: it refuses what cannot be held here, and says
// what of the network is there.
func decideLaunch(opt Options) (Base, error) {
	b, err := decide(opt)
	if err != nil {
		return b, err
	}
	if err := b.enforceable(); err != nil {
		return b, err
	}
	if b.Facts, err = enforcedHere(); err != nil {
		return b, err
	}
	if err := b.describe(); err != nil {
		return b, err
	}
	return b, b.network()
}

// who is the user, and where that user's things are.
func who(opt Options) (person, error) {
	p := person{asked: opt}
	if err := state.CheckName(opt.Name); err != nil {
		return p, err
	}
	if Nested() {
		return p, fault.New(fault.Refused, "ask the human outside to widen this session's policy", "this is the inside of a ringfence sandbox: no second one can be made here")
	}
	var err error
	if p.User, err = currentUser(p.getenv); err != nil {
		return p, err
	}
	p.dirs, err = state.XDG(p.getenv, p.User.Home)
	return p, err
}

// Nested reports whether we run inside a sandbox of our own.
func Nested() bool {
	_, err := os.Lstat(NotePath)
	return err == nil
}

// enforcedHere asks what this host can enforce, and refuses if a wall is not among it.
// Namespaces are not asked about: making them is the launch.
func enforcedHere() (hostfacts.Facts, error) {
	f := hostfacts.Quick()
	if f.Landlock < 1 {
		reason, fix := hostfacts.Diagnose(string(plan.WallLandlock), f.Calls.Landlock.Errno(), f)
		return f, fault.New(fault.Refused, fix, "wall landlock cannot be raised: %s", reason)
	}
	return f, nil
}

func (p person) getenv(name string) string {
	for _, e := range p.asked.Environ {
		if len(e) > len(name) && e[:len(name)] == name && e[len(name)] == '=' {
			return e[len(name)+1:]
		}
	}
	return ""
}

// agentsDir is where the user's own descriptions of agents lie.
func (p person) agentsDir() string { return filepath.Join(p.dirs.Config, "agents") }

// configHome is where clients keep their settings.
func (p person) configHome() string {
	if dir := p.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(p.User.Home, ".config")
}

// homes are the home directories whose credentials count: ours, as HOME and as
// passwd say it, and for root everybody's.
func (p person) homes() []string {
	homes := []string{p.User.Home}
	for _, row := range people() {
		own := row.uid == p.User.UID
		if (own || p.User.UID == 0) && row.home != p.User.Home && row.home != "/" {
			homes = append(homes, row.home)
		}
	}
	return homes
}

// projectRoot names the project: its main repository, or else its workspace.
func (p place) projectRoot() string {
	if p.Repo != nil {
		return p.Repo.Main
	}
	return p.Workspaces[0].Path
}

// paths are those of the workspaces.
func (p place) paths() (out []string) {
	for _, ws := range p.Workspaces {
		out = append(out, ws.Path)
	}
	return out
}

func (p place) inWorkspace(path string) bool {
	return slices.ContainsFunc(p.Workspaces, func(ws Workspace) bool { return file.Within(path, ws.Path) })
}

func (l law) modeNone() bool { return modeOf(l.Policy) == modeNone }

func (l law) viewOf() plan.View {
	if v := l.Policy.Workspace.View; v != nil && v.Value == string(plan.Review) {
		return plan.Review
	}
	return plan.Live
}

// bound holds a grant under the ceiling.
func (l law) bound(e policy.Entry) error {
	if l.ceiling == nil {
		return nil
	}
	asked := &policy.Policy{Network: policy.Network{Mode: l.Policy.Network.Mode, Allow: policy.List{{Value: e.Text, Source: e.Source}}}}
	for _, r := range policy.Tighten(asked, l.ceiling).Network.Allow {
		if r.Value == e.Text {
			return nil
		}
	}
	return fmt.Errorf("%s does not allow %s", Ceiling, e.Text)
}

// written are the places that a session of this project can write.
func (b Base) written() (out []string) {
	for _, ws := range b.Workspaces {
		if ws.Write {
			out = append(out, ws.Path)
		}
	}
	for _, r := range b.Policy.Files.Write {
		out = append(out, policy.Expand(r.Value, b.User.Home))
	}
	if b.Repo != nil {
		out = append(out, b.Repo.Extra...)
	}
	return out
}

// agentWrites holds for a path that a session of this project can write.
func (b Base) agentWrites(path string) bool {
	return slices.ContainsFunc(b.written(), func(dir string) bool { return file.Within(path, dir) })
}
