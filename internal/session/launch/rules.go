package launch

import (
	"fmt"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Ceiling is the administrator's policy: nobody goes above it.
const Ceiling = "/etc/ringfence/policy.toml"

// Defaults is what the administrator gives every user to begin with: the user's own policy
// lies upon it. It widens as the user's own does, and the ceiling bounds both.
const Defaults = "/etc/ringfence/defaults.toml"

// where finds the workspaces. Without --workspace it is the repository around
// the current directory, so that git and the agent see all of it; a directory
// that was named is taken as it is.
func (b *Base) where() error {
	for _, g := range b.Asked.Workspaces {
		path, write := policy.SplitWorkspace(g)
		if err := b.addWorkspace(path, write, "flag --workspace"); err != nil {
			return err
		}
	}
	if len(b.Workspaces) == 0 {
		if err := b.addWorkspace(b.Asked.Dir, true, "current directory"); err != nil {
			return err
		}
	}
	b.Dir = b.Workspaces[0].Path
	var err error
	if b.Repo, err = repo.Find(b.Dir, b.User.Home); err != nil {
		return err
	}
	if b.Repo == nil || len(b.Asked.Workspaces) > 0 {
		return nil
	}
	root := b.lift(b.Repo.Root())
	if root != b.Dir && file.Within(b.Dir, root) && refuseWorkspace(root, b.User.Home) == nil {
		b.Workspaces[0], err = openWorkspace(root, true, b.User.Home, "repository of the current directory")
	}
	return err
}

func (b *Base) addWorkspace(path string, write bool, why string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := b.RefusePlanted(abs); err != nil {
		return fault.New(fault.Refused, "name the directory itself if you mean it", "workspace: %w", err)
	}
	ws, err := openWorkspace(abs, write, b.User.Home, why)
	if err != nil {
		return err
	}
	if alias := Unalias(ws.Path, b.User.Home); alias != ws.Path {
		if err := refuseWorkspace(alias, b.User.Home); err != nil {
			return err
		}
	}
	b.Workspaces = append(b.Workspaces, ws)
	return nil
}

// lift returns how far up the workspace may reach: to the repository's root, but
// not past a directory that was a project of its own before. Its agent may have
// removed its .git to be given the repository around it at the next launch.
func (b *Base) lift(root string) string {
	for dir := b.Dir; dir != root && file.Within(dir, root); dir = filepath.Dir(dir) {
		if b.Dirs.Has(dir) {
			b.Said.Warn(fmt.Sprintf("%s was a project of its own and has no .git any more; --workspace %s takes in the repository around it",
				plan.Show(dir), plan.Show(root)))
			b.Repo = nil
			return dir
		}
	}
	return root
}

// rules joins the layers of policy.
func (b *Base) rules() error {
	l, digest, err := b.layers()
	if err != nil {
		return err
	}
	b.ceiling = l.Ceiling
	if b.Asked.NoProject {
		l.Project = nil
	}
	if l.Project != nil {
		if l.ProjectTrusted, err = b.Trusted(policy.ProjectFile, digest); err != nil {
			return err
		}
	}
	l.Flags, l.Home = b.Asked.Flags, b.User.Home
	for _, ws := range b.Workspaces {
		if ws.Write {
			l.Workspaces = append(l.Workspaces, ws.Path)
		}
	}
	if b.Asked.Server != "" {
		return b.serverRules(l)
	}
	if b.Asked.Fetch != "" {
		return b.fetchRules(l)
	}
	b.Policy, b.Ignored = policy.Resolve(l)
	b.Bare = l.Bare(b.Policy)
	return b.moreWorkspaces()
}

// layers reads the files. What is wrong with any of them is said at once.
func (b *Base) layers() (l policy.Layers, digest string, err error) {
	var ceiling, defaults, user, project error
	l.Ceiling, ceiling = policy.Load(Ceiling)
	l.Defaults, defaults = policy.Load(Defaults)
	l.User, user = b.userPolicy()
	l.Project, digest, project = policy.LoadProject(b.Workspaces[0].Path)
	return l, digest, policy.All(ceiling, defaults, user, project)
}

// userPolicy is what the user wrote, the secrets that were set, and what the user
// granted for good: everywhere, and in this project.
func (b Base) userPolicy() (*policy.Policy, error) {
	p, err := policy.Load(filepath.Join(b.Dirs.Config, "policy.toml"))
	if b.Asked.PolicyFile != "" {
		p, err = policy.LoadNamed(b.Asked.PolicyFile)
	}
	wrong := []error{err}
	for _, file := range []string{filepath.Join(b.Dirs.Config, policy.SecretFile), b.Dirs.GrantFile(""), b.Dirs.GrantFile(b.ProjectRoot())} {
		more, err := policy.Load(file)
		wrong = append(wrong, err)
		switch {
		case more == nil || err != nil:
		case p == nil:
			p = policy.Merge(&policy.Policy{}, more)
		default:
			p = policy.Merge(p, more)
		}
	}
	return p, policy.All(wrong...)
}

// Problems lists the rules that cannot be enforced here.
func (b Base) Problems() []policy.Problem {
	return policy.Check(b.Policy, policy.CheckEnv{Home: b.User.Home, Workspaces: b.Paths()})
}

// enforceable refuses to start with a rule that would be shown and not hold. A project's
// file mends nothing: what is refused without it is refused with it.
func (b Base) enforceable() error {
	problems := b.Problems()
	if len(problems) == 0 && b.Bare != b.Policy {
		b.Policy = b.Bare
		problems = b.Problems()
	}
	if len(problems) == 0 {
		return nil
	}
	var list strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&list, "\n  %s: %s", p.Source.String(), p.Text)
	}
	return fault.New(fault.Refused, "change or remove what is named", "policy cannot be enforced:%s", list.String())
}

// moreWorkspaces opens those that policy names.
func (b *Base) moreWorkspaces() error {
	for _, r := range b.Policy.Workspace.Paths {
		path, write := policy.SplitWorkspace(r.Value)
		if err := b.addWorkspace(policy.Expand(path, b.User.Home), write, r.Source.String()); err != nil {
			return fmt.Errorf("%s: %w", r.Source.String(), err)
		}
	}
	return nil
}

func (b Base) Trusted(file, digest string) (bool, error) {
	return b.Accepts().Trusted(b.Workspaces[0].Path, file, digest)
}

// Accepted tells what of a project the user accepted.
type Accepted interface {
	Trusted(root, file, digest string) (bool, error)
}

// Accepts is the record of what the user accepted, or nothing where the posture is not to go
// by it.
func (b Base) Accepts() Accepted {
	if b.Policy != nil && b.Policy.Distrusts() {
		return nothing{}
	}
	return TrustStore(b.Dirs.State)
}

type nothing struct{}

func (nothing) Trusted(_, _, _ string) (bool, error) { return false, nil }

// TrustStore opens the record of what the user accepted.
func TrustStore(state string) *policy.TrustStore {
	return policy.OpenTrust(filepath.Join(state, "trust.json"))
}

// OwnPolicy is what holds in no project. Flags may be nil.
func (p Person) OwnPolicy(flags *policy.Policy) (*policy.Policy, error) {
	l := policy.Layers{Home: p.User.Home, Flags: flags}
	var err error
	if l.Ceiling, err = policy.Load(Ceiling); err != nil {
		return nil, err
	}
	if l.Defaults, err = policy.Load(Defaults); err != nil {
		return nil, err
	}
	if l.User, err = policy.Load(filepath.Join(p.Dirs.Config, "policy.toml")); err != nil {
		return nil, err
	}
	pol, _ := policy.Resolve(l)
	return pol, nil
}

// BuiltIn is the source of what every session has.
const BuiltIn = "built-in"
