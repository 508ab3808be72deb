package rules

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strconv"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/policy/projectimage"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Trust shows what the project's files would widen and records their digests.
func Trust() *command.Command {
	cmd := &command.Command{Name: "trust", Args: "[flags]", Short: "accept the project's own policy and settings as they are now",
		Long:     "Shows what the project's .ringfence.toml and .ringfence.env would add, the image that its\ndevcontainer.json or Dockerfile names for --rung container, and what `ringfence scan` finds\ndangerous, and accepts exactly this content. A changed file has to be trusted again.",
		Examples: []string{"ringfence trust --yes", "ringfence trust --remotes"}}
	f := &cmd.Flags
	yes := f.Bool("yes", false, "accept without asking")
	remotes := f.Bool("remotes", false, "accept the remotes that this repository has now, for the credentials of their hosts")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		dir, err := os.Getwd()
		if err != nil {
			return 2, err
		}
		s, err := lookAt(c, dir)
		if err != nil {
			return 2, err
		}
		root := s.Workspaces[0].Path
		if *remotes {
			return trustRemotes(c, s, *yes)
		}
		files, err := proposals(c, root, s)
		if err != nil {
			return 2, err
		}
		dirs, err := c.Dirs()
		if err != nil {
			return 2, err
		}
		store := launch.TrustStore(dirs.State)
		images, err := imageProposals(c, root, store)
		if err != nil {
			return 2, err
		}
		files = append(files, images...)
		more, err := scanProposals(c, root, startIn(root, dir))
		if err != nil {
			return 2, err
		}
		if files = append(files, more...); len(files) == 0 {
			return 1, fault.New(fault.Refused, "write a .ringfence.toml first; `ringfence policy schema` says what it may hold", "%q has neither %s nor %s, names no image, and has nothing dangerous that is not trusted", root, policy.ProjectFile, launch.ProjectEnv)
		}
		if !*yes && !c.Confirm(fmt.Sprintf("Trust this in %s?", plan.Show(root)), false) {
			return 1, nil
		}
		return accept(c, store, root, files)
	}
	return cmd
}

// accept records what a person has said yes to.
func accept(c *command.Console, store *policy.TrustStore, root string, files []proposal) (int, error) {
	for _, p := range files {
		what := cmp.Or(p.what, plan.Show(scan.At(root, p.file)))
		if p.digest == "" {
			if err := store.Forget(root, p.file); err != nil {
				return 2, err
			}
			c.Say("forgot %s", what)
			continue
		}
		if err := store.Record(root, p.file, p.digest); err != nil {
			return 2, err
		}
		c.Say("trusted %s (sha256 %s)", what, p.digest[:16])
	}
	return 0, nil
}

// trustRemotes accepts remotes that the repository did not have when it was first seen.
func trustRemotes(c *command.Console, s *session.Session, yes bool) (int, error) {
	lines, accept, err := s.Remotes()
	if err != nil {
		return 2, err
	}
	if len(lines) == 0 {
		return 1, fault.New(fault.Refused, "", "there is no repository with remotes here")
	}
	for _, l := range lines {
		fmt.Fprintf(c.Out, "remote %s\n", command.Inert(l))
	}
	if !yes && !c.Confirm("Use your credentials for these?", false) {
		return 1, nil
	}
	return 0, accept()
}

// proposal is what would be trusted: a file, by the name that the store knows it by, and what
// of it, if that is not the file itself. Without a digest it is to be forgotten.
type proposal struct{ file, digest, what string }

// proposals prints what each file would add. The digest is of the bytes shown.
func proposals(c *command.Console, root string, s *session.Session) ([]proposal, error) {
	var out []proposal
	p, digest, err := policy.LoadProject(root)
	if err != nil {
		return nil, err
	}
	if p != nil {
		out = append(out, proposal{file: policy.ProjectFile, digest: digest})
		changes := policy.Widens(s.Policy, p)
		if len(changes) == 0 {
			fmt.Fprintf(c.Out, "%s widens nothing\n", policy.ProjectFile)
		}
		for _, ch := range changes {
			ch.Value = blot(ch.Key, ch.Value)
			fmt.Fprintln(c.Out, command.Inert(ch.String()))
		}
	}
	data, digest, err := launch.ReadProjectEnv(root)
	if err != nil || data == nil {
		return out, err
	}
	set, err := environ.ParseFile(bytes.NewReader(data), launch.ProjectEnv)
	if err != nil {
		return nil, err
	}
	for _, e := range set {
		mark := ""
		if row, refused := knownsecrets.Env(e.Name); refused {
			mark = "   refused at launch: " + row.What
		}
		fmt.Fprintf(c.Out, "+ [env] %s=%s   (%s:%d)%s\n", e.Name, strconv.QuoteToGraphic(blot(e.Name, e.Value)), launch.ProjectEnv, e.Source.Line, mark)
	}
	return append(out, proposal{file: launch.ProjectEnv, digest: digest}), nil
}

// imageProposals prints the image that the project names for its containers, and which files
// that named one are gone.
func imageProposals(c *command.Console, root string, store *policy.TrustStore) (out []proposal, err error) {
	i := projectimage.Find(root)
	for _, name := range projectimage.Absent(i) {
		key := projectimage.Key(name)
		known, err := store.Known(root, key)
		if err != nil {
			return nil, err
		}
		if known {
			fmt.Fprintf(c.Out, "- [rung] image   (%s is gone)\n", name)
			out = append(out, proposal{file: key, what: key})
		}
	}
	if i == nil || i.Name == "" {
		return out, nil
	}
	fmt.Fprintln(c.Out, command.Inert(i.Change().String()))
	if rest := i.Rest(); rest != "" {
		fmt.Fprintf(c.Out, "  not used of %s: %s\n", i.File, rest)
	}
	return append(out, proposal{i.Key(), i.Digest, i.Key()}), nil
}

// scanProposals prints what a scan finds dangerous and nobody has trusted yet.
func scanProposals(c *command.Console, root, dir string) ([]proposal, error) {
	report, err := scanAt(c, root, dir)
	if err != nil {
		return nil, err
	}
	form, _, err := scanned(c, root, report)
	if err != nil {
		return nil, err
	}
	var out []proposal
	for _, f := range report.Files {
		asked := false
		for i, x := range report.Findings {
			if x.File() == f.Path && !form.Findings[i].Trusted && f.Danger {
				writeFinding(c.Out, form.Findings[i])
				asked = true
			}
		}
		switch {
		case asked && f.Digest == "":
			c.Say("warning: %s cannot be trusted: it was not read, or is or uses more than can be shown", plan.Show(f.Path))
		case asked:
			together(c, f)
			out = append(out, proposal{file: f.Path, digest: f.Digest})
		}
	}
	return out, nil
}

// together names what is trusted with a file: all of it, because it is what runs.
func together(c *command.Console, f scan.File) {
	for _, with := range f.With {
		fmt.Fprintf(c.Out, "  with    %s\n", plan.Show(with))
	}
	if f.WithAll {
		fmt.Fprintf(c.Out, "  with    %s\n", command.Wrap("every file of the tree: it does not say which script it runs, so a change of any file takes the trust back", 10, 80))
	}
}

// blot is a value for people, without secrets.
func blot(name, value string) string {
	return agent.Blot(name, value, func(n string) bool { e, ok := knownsecrets.Env(n); return ok && e.Class == knownsecrets.Secret })
}
