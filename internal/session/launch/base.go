// Package launch is what a session is made of before it starts: who, where and by which
// rules, what a part of it adds, and the parts that need no credential and no tree. Parts
// that lend credentials are in package lending, those about trees in package trees.
package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/ladder"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/state"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Base is who, where and by which rules. It is decided first; afterwards the parts of
// a session only read it.
type Base struct {
	ID   string
	Name string // that the user gave; may be empty
	Person
	Place
	Law
	Profile *agent.Profile
	Facts   hostfacts.Facts
	Reach   policy.Reach // what of the network is there
	Trust   *Trust       // whose certificates are believed

	Work    *review.Work // what the session does to the trees of the host
	Server  serverPlace  // of a session that is an MCP server
	Visible *view        // what the session shows, once that is known
	Said    Contribution // what was found while deciding

	held  []string // names in the user's env file that the broker has
	filed []string // those of them whose value is the file's
}

// Person is who runs ringfence, what was asked for, and where things are kept.
type Person struct {
	User  plan.User
	Asked Options
	Dirs  state.Dirs
}

// Place is where the session works.
type Place struct {
	Workspaces []Workspace
	Repo       *repo.Repo
	Dir        string // where the agent starts
}

// Law is by which rules.
type Law struct {
	Policy  *policy.Policy
	Rung    rung.Rung       // where the walls stand
	House   string          // the program whose place it is, as a container engine; "": none
	Own     *rung.Userland  // the operating system of that place; nil: this machine's
	Ignored []policy.Change // widenings of an untrusted project file
	Bare    *policy.Policy  // what holds without the project's file
	ceiling *policy.Policy
}

// Decide says who, where and by which rules.
func Decide(opt Options) (Base, error) {
	b := Base{ID: state.NewID(), Name: opt.Name, Visible: &view{}}
	var err error
	if b.Person, err = Who(opt); err != nil {
		return b, err
	}
	b.Work = review.New(b.Dirs.State, b.ID)
	if err := b.where(); err != nil {
		return b, err
	}
	if err := b.rules(); err != nil {
		return b, err
	}
	b.climb()
	if b.Rung, err = ladder.Chosen(b.Policy); err != nil {
		return b, err
	}
	if r, ok := b.Rung.(rung.Seeking); ok {
		who := b
		b.Rung = r.Seeks(who.Program)
	}
	return b, b.projectImage()
}

// Where names the place of the walls, for people.
func (b *Base) Where() string {
	where := b.Rung.Name()
	if b.House != "" {
		where += " (" + b.House + ")"
	}
	if b.Own != nil && b.Own.Machine == nil {
		where += ", image " + b.Own.Name + ", named by " + b.Policy.Rung.Image.Source.String()
	}
	if less := b.Rung.Offer().Less; less != "" {
		where += ", " + less
	}
	return where
}

// System is what of an operating system is shown.
func (b *Base) System() []plan.Node {
	if b.Own != nil {
		return b.Own.System
	}
	return hostfacts.System()
}

// Describe adds the agent's own description.
func (b *Base) Describe() (err error) {
	b.Profile, err = agent.Load(b.Asked.Agent, b.AgentsDir())
	if err == nil && b.Asked.Server != "" {
		b.Profile.Title = serverTitle(b.Asked.Server)
	}
	if err == nil && b.Asked.Fetch != "" {
		b.Profile.Title = "tool " + b.Asked.Fetch
	}
	if err == nil {
		err = b.holdKeys()
	}
	return err
}

// DecideLaunch is decide for a launch: it refuses what cannot be held here, and says
// what of the network is there.
func DecideLaunch(opt Options) (Base, error) {
	b, err := Decide(opt)
	if err != nil {
		return b, err
	}
	if err := b.enforceable(); err != nil {
		return b, err
	}
	if err := b.highEnough(); err != nil {
		return b, err
	}
	if err := b.refuseSeveral(); err != nil {
		return b, err
	}
	if err := b.viewed(); err != nil {
		return b, err
	}
	if err := b.furnish(); err != nil {
		return b, err
	}
	if err := b.Describe(); err != nil {
		return b, err
	}
	if err := b.noSecretEnv(); err != nil {
		return b, err
	}
	if err := b.network(); err != nil {
		return b, err
	}
	return b, b.trust()
}

// furnish asks what the place of the walls has, and what its kernel enforces.
func (b *Base) furnish() (err error) {
	if place, ok := b.Rung.(rung.Housed); ok {
		b.House = place.House(context.Background())
	}
	if place, ok := b.Rung.(rung.Furnished); ok {
		if b.Own, err = place.Userland(context.Background(), b.Dirs.State); err != nil {
			return err
		}
	}
	if m := b.Machine(); m != nil {
		b.Facts = hostfacts.Facts{Kernel: m.Kernel, Arch: m.Arch, Landlock: m.Landlock}
		return b.elsewhere()
	}
	b.Facts, err = enforcedHere()
	return err
}

// Machine is the machine of the walls; nil: this one.
func (b *Base) Machine() *rung.Machine {
	if b.Own == nil {
		return nil
	}
	return b.Own.Machine
}

// Arch is the processor of the walls.
func (b *Base) Arch() string {
	if m := b.Machine(); m != nil {
		return m.Arch
	}
	return runtime.GOARCH
}

// DecideAudit is DecideLaunch for who only wants to know: it goes on where a launch would
// be refused.
func DecideAudit(opt Options) (Base, error) {
	b, err := Decide(opt)
	if err == nil {
		err = b.Describe()
	}
	if err == nil {
		b.Facts, _ = enforcedHere()
		err = b.network()
	}
	if err == nil {
		err = b.trust()
	}
	return b, err
}

// Who is the user, and where that user's things are.
func Who(opt Options) (Person, error) {
	p := Person{Asked: opt}
	if err := state.CheckName(opt.Name); err != nil {
		return p, err
	}
	if Nested() {
		return p, fault.New(fault.Refused, "ask the human outside to widen this session's policy", "this is the inside of a ringfence sandbox: no second one can be made here")
	}
	var err error
	if p.User, err = currentUser(p.Getenv); err != nil {
		return p, err
	}
	p.Dirs, err = state.XDG(p.Getenv, p.User.Home)
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

func (p Person) Getenv(name string) string {
	for _, e := range p.Asked.Environ {
		if len(e) > len(name) && e[:len(name)] == name && e[len(name)] == '=' {
			return e[len(name)+1:]
		}
	}
	return ""
}

// AgentsDir is where the user's own descriptions of agents lie.
func (p Person) AgentsDir() string { return filepath.Join(p.Dirs.Config, "agents") }

// ConfigHome is where clients keep their settings.
func (p Person) ConfigHome() string {
	if dir := p.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(p.User.Home, ".config")
}

// Homes are the home directories whose credentials count: ours, as HOME and as
// passwd say it, and for root everybody's.
func (p Person) Homes() []string {
	homes := []string{p.User.Home}
	for _, row := range people() {
		own := row.uid == p.User.UID
		if (own || p.User.UID == 0) && row.home != p.User.Home && row.home != "/" {
			homes = append(homes, row.home)
		}
	}
	return homes
}

// ProjectRoot names the project: its main repository, or else its workspace.
func (p Place) ProjectRoot() string {
	if p.Repo != nil {
		return p.Repo.Main
	}
	return p.Workspaces[0].Path
}

// Paths are those of the workspaces.
func (p Place) Paths() (out []string) {
	for _, ws := range p.Workspaces {
		out = append(out, ws.Path)
	}
	return out
}

func (p Place) inWorkspace(path string) bool {
	return slices.ContainsFunc(p.Workspaces, func(ws Workspace) bool { return file.Within(path, ws.Path) })
}

func (l Law) NoNetwork() bool { return ModeOf(l.Policy) == ModeNone }

// ViewMode is how the workspaces are shown: as policy says, where the rung can.
func (l Law) ViewMode() plan.View {
	views := l.Rung.Offer().Views
	if v := plan.View(l.Policy.Workspace.View.Text()); slices.Contains(views, v) {
		return v
	}
	return views[0]
}

// Bound holds a grant under the ceiling.
func (l Law) Bound(e policy.Entry) error {
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

// BoundPublish holds the publication of a port under the ceiling.
func (l Law) BoundPublish(text string) error {
	if l.ceiling == nil {
		return nil
	}
	asked := &policy.Policy{Network: policy.Network{Mode: l.Policy.Network.Mode, Publish: policy.List{{Value: text}}}}
	if len(policy.Tighten(asked, l.ceiling).Network.Publish) == 0 {
		return fmt.Errorf("%s does not allow %s to be published", Ceiling, text)
	}
	return nil
}

// Written are the places that a session of this project can write.
func (b Base) Written() (out []string) {
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

// AgentWrites holds for a file that an agent can have written, of this project or of
// another: by its name, or by a link on the way to it.
func (b Base) AgentWrites(path string) bool {
	_, err := sys.OwnedBy(path, b.refuseWritten)
	return err != nil
}

// Program finds a program of the host that no agent can have put there.
func (b Base) Program(name string) (string, error) {
	return b.Dirs.Program(name, b.Getenv("PATH"), b.refuseWritten)
}

// writes holds for a path, as it is spelled, that a session of this project can write.
func (b Base) writes(path string) bool {
	return slices.ContainsFunc(b.Written(), func(dir string) bool { return file.Within(path, dir) })
}
