package lending

import (
	"fmt"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/credentials/login"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// A credential that the broker keeps from the agent may lie, by a link, by a variable or
// by a bind mount, in a tree that the agent sees: a dotfiles repository is the usual one.
// Each place from which ringfence, or a program that it asks, reads a credential is
// compared with all that is shown, where the two lie in their filesystems. A file of ours
// is hidden with its directory, since who renews it makes a new file and renames it: a
// mount over the file would be gone then.
//
// Left at risk: a second hard link, which nothing but a walk finds; and a file that only
// the catalogue knows, which is hidden by its own name.

// sources hides the places of credentials.
type sources struct {
	launch.Base
	launch.Contribution                     // what is hidden
	total               launch.Contribution // what is shown, and hidden already
	*Sight
}

// Sight is what one launch has seen of where credentials lie. Its second look is about what
// it shows more, and not about what changed on the host meanwhile.
type Sight struct {
	atlas *atlas
	known []launch.Origin // of the catalogue
}

// places lists them.
func (ss *sources) places() (out []launch.Origin) {
	file := func(path, what string) { out = append(out, launch.Origin{Path: path, What: what, Ours: true}) }
	tree := func(variable, fallback, what string) {
		if dir := ss.Getenv(variable); filepath.IsAbs(dir) {
			out = append(out, launch.Origin{Path: dir, What: what, Ours: true, Dir: true})
		}
		out = append(out, launch.Origin{Path: filepath.Join(ss.User.Home, fallback), What: what, Ours: true, Dir: true})
	}
	for _, a := range login.Agents() {
		for _, env := range []func(string) string{ss.Getenv, func(string) string { return "" }} {
			file(login.Path(a, env, ss.User.Home), "the login of "+string(a))
		}
	}
	for _, c := range clients {
		for _, path := range clientFiles(ss.Base.Person, c) {
			file(path, "the login of "+c.argv[0])
		}
	}
	for i := range ss.Policy.Secret {
		if kind, arg := ss.Policy.Secret[i].Origin(); kind == "file" {
			file(policy.Expand(arg, ss.User.Home), "the secret "+ss.Policy.Secret[i].Name)
		}
	}
	out = append(out, ss.total.Origins...)
	store := SecretStore(ss.Dirs.Config, ss.Dirs.State)
	file(store.Path, "the secret store")
	file(store.Identity, "the key of the secret store")
	out = append(out, launch.Origin{Path: filepath.Join(ss.Dirs.State, "login"), What: "renewed logins", Ours: true, Dir: true})
	tree("PASSWORD_STORE_DIR", ".password-store", "the store of pass")
	tree("GNUPGHOME", ".gnupg", "keys of GnuPG")
	tree("", ".local/share/keyrings", "key rings")
	if ss.known == nil {
		ss.known = ss.catalogued()
	}
	return append(out, ss.known...)
}

// elsewhere are variables by which programs are told where a credential lies.
var elsewhere = []string{"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "CLOUDSDK_CONFIG", "GOOGLE_APPLICATION_CREDENTIALS", "DOCKER_CONFIG", "NPM_CONFIG_USERCONFIG",
	"NETRC", "KUBECONFIG", "AZURE_CONFIG_DIR", "VAULT_TOKEN_PATH"}

// catalogued are the credentials of other programs.
func (ss *sources) catalogued() (out []launch.Origin) {
	for _, name := range elsewhere {
		for _, p := range filepath.SplitList(ss.Getenv(name)) {
			if filepath.IsAbs(p) {
				out = append(out, launch.Origin{Path: p, What: "what " + name + " names"})
			}
		}
	}
	for _, home := range ss.Homes() {
		for _, f := range knownsecrets.There(home) {
			out = append(out, launch.Origin{Path: f.Path, What: f.Entry.What})
		}
	}
	return out
}

// HideSources hides credentials that lie in what is shown, or refuses to start.
func (s *Sight) HideSources(b launch.Base, total launch.Contribution) (launch.Contribution, error) {
	ss := &sources{Base: b, total: total, Sight: s}
	err := ss.hide()
	return ss.Contribution, err
}

func (ss *sources) hide() (err error) {
	if ss.atlas == nil {
		if ss.atlas, err = readAtlas(); err != nil {
			return err
		}
	}
	a := ss.atlas
	all, named := a.windows(ss.total.Mounts), a.windows(ss.named())
	for _, o := range ss.places() {
		windows := all
		if !o.Ours {
			windows = named
		}
		for _, s := range a.sightings(o.Path, windows) {
			if err := ss.hideSource(o, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// named are the trees that somebody named. The agent's own settings are shown by its
// profile, file by file, and the catalogue has more of them than credentials.
func (ss *sources) named() []plan.Mount {
	return slices.DeleteFunc(slices.Clone(ss.total.Mounts), func(m plan.Mount) bool {
		return !slices.Contains(ss.total.GrantDirs, m.Src) && !slices.ContainsFunc(ss.Workspaces, func(ws launch.Workspace) bool { return ws.Path == m.Src })
	})
}

func (ss *sources) hideSource(o launch.Origin, s sighting) error {
	if ss.Hides(s.at) || ss.total.Hides(s.at) || exposes(ss.Base, o.Path, s.at) {
		return nil
	}
	hide := s.at
	if o.Ours && !o.Dir {
		hide = filepath.Dir(s.at)
	}
	if s.wide || hide == s.root || !file.Within(hide, s.root) || stands(ss.Base.Place, hide) {
		return fault.New(fault.Refused, fmt.Sprintf("start in a narrower directory, or move what %s leads to", plan.Show(o.Path)),
			"%s holds %s (%s), and the agent would see it", plan.Show(s.root), o.What, plan.Show(s.at))
	}
	// Nothing can be put over what is not there, and who logs in makes it.
	if o.Ours && (s.absent > 1 || o.Dir && s.absent > 0) {
		return fault.New(fault.Refused, "make it first, it will be hidden then: mkdir -p "+plan.Show(hide),
			"%s would be in %s, which is not there yet: once somebody makes it (%s), the agent would see it", o.What, plan.Show(hide), plan.Show(o.Path))
	}
	ss.Masks = append(ss.Masks, plan.Mask{Path: hide, Why: "holds " + o.What})
	ss.Pinned = append(ss.Pinned, hide)
	if s.absent > 0 && hide == s.at {
		ss.Warn(fmt.Sprintf("%s is not there yet: it would be %s, and the agent could read it", plan.Show(hide), o.What))
		return nil
	}
	ss.Warn(fmt.Sprintf("%s is hidden: it holds %s, which is %s", plan.Show(hide), o.What, plan.Show(o.Path)))
	return nil
}

// StillHidden looks once more when all is decided: what was added since may show more.
func (s *Sight) StillHidden(b launch.Base, total launch.Contribution) error {
	more, err := s.HideSources(b, total)
	if err != nil || len(more.Masks) == 0 {
		return err
	}
	m := more.Masks[0]
	return fault.New(fault.Refused, "", "%s %s, and the agent would see it", plan.Show(m.Path), m.Why)
}

// stands holds for a directory that the session cannot do without.
func stands(p launch.Place, dir string) bool {
	if file.Within(p.Dir, dir) {
		return true
	}
	return p.Repo != nil && (p.Repo.GitDir != "" && file.Within(p.Repo.GitDir, dir) || p.Repo.CommonDir != "" && file.Within(p.Repo.CommonDir, dir))
}

// exposes holds for a path that the user wants shown: by one of its names, or by a
// place of the catalogue that it lies in.
func exposes(b launch.Base, names ...string) bool {
	return slices.ContainsFunc(b.Policy.Files.Expose, func(r policy.Rule) bool {
		e := policy.Expand(r.Value, b.User.Home)
		_, known := knownsecrets.Path(b.User.Home, e)
		return slices.Contains(names, e) || known && slices.ContainsFunc(names, func(n string) bool { return file.Within(n, e) })
	})
}

// unseen says why a source is not to be used any more: since the launch it came to lie
// where the agent can read it. It is asked whenever the source is read or written.
func unseen(b launch.Base) func(path string) error {
	return func(path string) error {
		a, err := readAtlas()
		if err != nil {
			return err
		}
		for _, s := range a.sightings(path, a.windows(b.Visible.Mounts)) {
			if !b.Visible.Hides(s.at) && !exposes(b, path, s.at) {
				return fmt.Errorf("%s lies where the agent can read it, and is not used", plan.Show(path))
			}
		}
		return nil
	}
}
