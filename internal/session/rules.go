package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// where finds the workspaces. Without --workspace it is the repository around
// the current directory, so that git and the agent see all of it; a directory
// that was named is taken as it is.
func (d *draft) where() error {
	for _, g := range d.opt.Workspaces {
		path, write := splitWorkspace(g)
		if err := d.addWorkspace(path, write, "flag --workspace"); err != nil {
			return err
		}
	}
	if len(d.Workspaces) == 0 {
		if err := d.addWorkspace(d.opt.Dir, true, "current directory"); err != nil {
			return err
		}
	}
	d.dir = d.Workspaces[0].Path
	var err error
	if d.Repo, err = repo.Find(d.dir, d.User.Home); err != nil {
		return err
	}
	if d.Repo == nil || len(d.opt.Workspaces) > 0 {
		return nil
	}
	root := d.lift(d.Repo.Root())
	if root != d.dir && file.Within(d.dir, root) && refuseWorkspace(root, d.User.Home) == nil {
		d.Workspaces[0], err = openWorkspace(root, true, d.User.Home, "repository of the current directory")
	}
	return err
}

func (d *draft) addWorkspace(path string, write bool, why string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := d.refusePlanted(abs); err != nil {
		return fault.New(fault.Refused, "name the directory itself if you mean it", "workspace: %w", err)
	}
	ws, err := openWorkspace(abs, write, d.User.Home, why)
	if err != nil {
		return err
	}
	if alias := d.unalias(ws.Path, d.User.Home); alias != ws.Path {
		if err := refuseWorkspace(alias, d.User.Home); err != nil {
			return err
		}
	}
	d.Workspaces = append(d.Workspaces, ws)
	return nil
}

// lift returns how far up the workspace may reach: to the repository's root, but
// not past a directory that was a project of its own before. Its agent may have
// removed its .git to be given the repository around it at the next launch.
func (d *draft) lift(root string) string {
	for dir := d.dir; dir != root && file.Within(dir, root); dir = filepath.Dir(dir) {
		if d.dirs.Has(dir) {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s was a project of its own and has no .git any more; --workspace %s takes in the repository around it",
				plan.Show(dir), plan.Show(root)))
			d.Repo = nil
			return dir
		}
	}
	return root
}

// rules joins the layers of policy.
func (d *draft) rules() error {
	var l policy.Layers
	var err error
	if l.Ceiling, err = policy.Load(Ceiling); err != nil {
		return err
	}
	d.ceiling = l.Ceiling
	if l.User, err = d.userPolicy(); err != nil {
		return err
	}
	root := d.Workspaces[0].Path
	var digest string
	if l.Project, digest, err = policy.LoadProject(root); err != nil {
		return err
	}
	if d.opt.NoProject {
		l.Project = nil
	}
	if l.Project != nil {
		if l.ProjectTrusted, err = d.trusted(policy.ProjectFile, digest); err != nil {
			return err
		}
	}
	l.Flags, l.Home = d.opt.Flags, d.User.Home
	for _, ws := range d.Workspaces {
		if ws.Write {
			l.Workspaces = append(l.Workspaces, ws.Path)
		}
	}
	if d.opt.Server != "" {
		return d.serverRules(l)
	}
	d.Policy, d.Ignored = policy.Resolve(l)
	d.bare = l.Bare(d.Policy)
	return d.moreWorkspaces()
}

// userPolicy is what the user wrote, the secrets that were set, and what the user
// granted for good: everywhere, and in this project.
func (d *draft) userPolicy() (*policy.Policy, error) {
	p, err := policy.Load(filepath.Join(d.dirs.Config, "policy.toml"))
	if d.opt.PolicyFile != "" {
		p, err = policy.LoadNamed(d.opt.PolicyFile)
	}
	if err != nil {
		return nil, err
	}
	for _, file := range []string{filepath.Join(d.dirs.Config, policy.SecretFile), d.dirs.GrantFile(""), d.dirs.GrantFile(d.projectRoot())} {
		more, err := policy.Load(file)
		if err != nil {
			return nil, err
		}
		if more == nil {
			continue
		}
		if p == nil {
			p = &policy.Policy{}
		}
		p = policy.Merge(p, more)
	}
	return p, nil
}

// projectRoot names the project: its main repository, or else its workspace.
func (s *Session) projectRoot() string {
	if s.Repo != nil {
		return s.Repo.Main
	}
	return s.Workspaces[0].Path
}

// Problems lists the rules that cannot be enforced here.
func (s *Session) Problems() []policy.Problem {
	env := policy.CheckEnv{Home: s.User.Home}
	for _, ws := range s.Workspaces {
		env.Workspaces = append(env.Workspaces, ws.Path)
	}
	return policy.Check(s.Policy, env)
}

// enforceable refuses to start with a rule that would be shown and not hold. A project's
// file mends nothing: what is refused without it is refused with it.
func (d *draft) enforceable() error {
	problems := d.Problems()
	if len(problems) == 0 && d.bare != d.Policy {
		with := d.Policy
		d.Policy = d.bare
		problems = d.Problems()
		d.Policy = with
	}
	if len(problems) == 0 {
		return nil
	}
	var list strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&list, "\n  %s: %s", where(p.Source), p.Text)
	}
	return fault.New(fault.Refused, "change or remove what is named", "policy cannot be enforced:%s", list.String())
}

// moreWorkspaces opens those that policy names.
func (d *draft) moreWorkspaces() error {
	for _, r := range d.Policy.Workspace.Paths {
		path, write := splitWorkspace(r.Value)
		if err := d.addWorkspace(policy.Expand(path, d.User.Home), write, where(r.Source)); err != nil {
			return fmt.Errorf("%s: %w", where(r.Source), err)
		}
	}
	return nil
}

func (d *draft) trusted(file, digest string) (bool, error) {
	return TrustStore(d.dirs.State).Trusted(d.Workspaces[0].Path, file, digest)
}

// TrustStore opens the record of what the user accepted.
func TrustStore(state string) *policy.TrustStore {
	return policy.OpenTrust(filepath.Join(state, "trust.json"))
}

func where(s policy.Source) string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// readIfPresent reads a small file of the user's; absence is not an error.
func readIfPresent(path string, max int64) ([]byte, error) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > max {
		return nil, fmt.Errorf("%s: not a regular file of at most %d bytes", path, max)
	}
	return os.ReadFile(path)
}
