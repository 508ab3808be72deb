package rules

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
)

// SecretNames are the secrets that a policy describes.
func SecretNames(c *command.Console) (words []string) {
	dirs, err := c.Dirs()
	if err != nil {
		return nil
	}
	for _, file := range []string{"policy.toml", policy.SecretFile} {
		if p, err := policy.Load(filepath.Join(dirs.Config, file)); err == nil && p != nil {
			for _, s := range p.Secret {
				words = append(words, s.Name)
			}
		}
	}
	return words
}

// Secret keeps secrets on the host. No value is ever an argument, and none is
// ever printed.
func Secret() *command.Command {
	cmd := command.Family(&command.Command{Name: "secret", Short: "keep, list, remove or try the secrets of the host",
		Long: "Keeps the secrets of the host, for the broker. No value is ever an argument, and none is\never printed."},
		secretSet(), secretList(), secretTest(), secretRemove())
	for _, s := range cmd.Subs {
		run := s.Run
		s.Run = func(c *command.Console, args []string) (int, error) {
			if err := source.NoDump(); err != nil {
				return 2, err
			}
			return run(c, args)
		}
	}
	return cmd
}

// drawer is where the user's secrets are described and kept.
type drawer struct {
	own   *policy.Policy // the user's policy
	kept  *policy.Policy // what `secret set` wrote
	all   *policy.Policy // both
	file  string         // of kept
	store source.Store
	home  string
}

func openDrawer(c *command.Console) (*drawer, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return nil, err
	}
	d := &drawer{file: filepath.Join(dirs.Config, policy.SecretFile), home: c.Getenv("HOME"),
		store: source.Store{Path: filepath.Join(dirs.Config, "secrets.age"), Identity: filepath.Join(dirs.State, "secrets.key")}}
	if d.own, err = policy.Load(filepath.Join(dirs.Config, "policy.toml")); err != nil {
		return nil, err
	}
	if d.kept, err = policy.Load(d.file); err != nil {
		return nil, err
	}
	if d.own == nil {
		d.own = &policy.Policy{}
	}
	if d.kept == nil {
		d.kept = &policy.Policy{}
	}
	d.all = policy.Merge(d.own, d.kept)
	return d, nil
}

// ref says how a secret of the policy is read.
func ref(s *policy.Secret) source.Ref {
	kind, arg := s.Origin()
	r := source.Ref{Name: s.Name, From: kind, Arg: arg}
	for _, a := range s.Command {
		r.Argv = append(r.Argv, a.Value)
	}
	return r
}

// secretNamed is the argument of a subcommand that takes a name and nothing else, and
// where it is looked for.
func secretNamed(c *command.Console, cmd *command.Command, args []string) (string, *drawer, error) {
	name := command.First(args)
	if name == "" {
		return "", nil, fault.New(fault.Usage, "ringfence secret ls shows them", "%s needs the name of a secret", cmd.Name)
	}
	if err := policy.CheckSecretName(name); err != nil {
		return "", nil, fault.New(fault.Usage, "ringfence secret ls shows them", "%w", err)
	}
	d, err := openDrawer(c)
	return name, d, err
}

// secretRow is what may be known of a secret.
type secretRow struct {
	Name   string   `json:"name"`
	Use    string   `json:"use"`
	Hosts  []string `json:"hosts"`
	Env    []string `json:"env"`
	From   string   `json:"from"`
	Set    *bool    `json:"set"` // null: only `secret test` can tell
	Off    bool     `json:"off"`
	Source string   `json:"source"`
}

func secretList() *command.Command {
	cmd := &command.Command{Name: "secret ls", Args: "[--json]", Short: "list the secrets, without their values",
		Long:     "Lists the secrets: their use, their source and whether they are set. No value is read from\nanywhere but the list of the store.",
		Examples: []string{"ringfence secret ls"}}
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		d, err := openDrawer(c)
		if err != nil {
			return 2, err
		}
		names, err := d.store.Names()
		if err != nil {
			return 1, err
		}
		rows := secretRows(c, d, names)
		if *asJSON {
			return 0, c.JSON(rows)
		}
		if len(rows) == 0 {
			c.Say("there are no secrets; `ringfence secret set NAME` keeps one")
		}
		var lines [][]string
		for _, r := range rows {
			state := "?"
			if r.Set != nil {
				state = map[bool]string{true: "set", false: "not set"}[*r.Set]
			}
			if r.Off {
				state += ", off"
			}
			use := r.Use
			if use == "" {
				use = "no use"
			}
			lines = append(lines, []string{r.Name, use, state, r.From, strings.Join(r.Hosts, " ")})
		}
		if len(lines) == 0 {
			return 0, nil
		}
		return 0, c.Table([]string{"NAME", "USE", "STATE", "FROM", "HOSTS"}, lines)
	}
	return cmd
}

// secretRows lists what a policy describes, then what is kept and not described.
func secretRows(c *command.Console, d *drawer, stored []string) []secretRow {
	rows := []secretRow{}
	for i := range d.all.Secret {
		s := &d.all.Secret[i]
		kind, arg := s.Origin()
		row := secretRow{Name: s.Name, Use: s.Kind(), Hosts: texts(s.Hosts), Env: texts(s.Env), From: ref(s).String(), Off: s.IsOff(), Source: s.Source.String()}
		if public := serviceapi.Kind(row.Use).Public(); public != "" && len(row.Hosts) == 0 {
			row.Hosts = []string{public}
		}
		set := false
		switch kind {
		case "store":
			set, row.Set = slices.Contains(stored, s.Name), &set
		case "env":
			set, row.Set = c.Getenv(arg) != "", &set
		case "file":
			_, err := os.Stat(policy.Expand(arg, d.home))
			set, row.Set = err == nil, &set
		}
		rows = append(rows, row)
	}
	for _, name := range stored {
		if d.all.FindSecret(name) == nil {
			set := true
			rows = append(rows, secretRow{Name: name, Hosts: []string{}, Env: []string{}, From: "store", Set: &set})
		}
	}
	return rows
}

func texts(l policy.List) []string {
	out := []string{}
	for _, r := range l {
		out = append(out, r.Value)
	}
	return out
}

func secretRemove() *command.Command {
	cmd := &command.Command{Name: "secret rm", Args: "SECRET", Short: "forget a secret", Takes: command.One,
		Long:     "Forgets a secret: its value in the store and its table in secrets.toml. A value that is\nkept elsewhere stays there.",
		Examples: []string{"ringfence secret rm anthropic"}}
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		name, d, err := secretNamed(c, cmd, args)
		if err != nil {
			return 2, err
		}
		described := d.kept.FindSecret(name) != nil
		if described {
			if err := policy.DropSecret(d.file, name); err != nil {
				return 1, err
			}
		}
		stored, err := d.store.Remove(name)
		if err != nil {
			return 1, err
		}
		if s := d.own.FindSecret(name); s != nil {
			c.Say("%s still describes %s: remove it there by hand", s.Source.String(), name)
		}
		if !described && !stored {
			return 1, fault.New(fault.Refused, "ringfence secret ls shows what there is", "no secret %s is kept", name)
		}
		c.Say("removed %s", name)
		return 0, nil
	}
	return cmd
}

func secretTest() *command.Command {
	cmd := &command.Command{Name: "secret test", Args: "SECRET", Short: "read a secret as a session would, and say its shape", Takes: command.One,
		Long:     "Reads a secret now, as a session would, and says what shape it has. Exit 0: it can be\nread, 1: it cannot.",
		Examples: []string{"ringfence secret test anthropic"}}
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		name, d, err := secretNamed(c, cmd, args)
		if err != nil {
			return 2, err
		}
		s := d.all.FindSecret(name)
		if s == nil {
			s = &policy.Secret{Name: name} // one that is stored and not described
		}
		r := ref(s)
		v, err := r.Read(context.Background(), source.Host{Environ: c.Environ, Home: d.home, Workspaces: workspaces(c), Store: d.store})
		if err != nil {
			return 1, err
		}
		_, err = fmt.Fprintf(c.Out, "%s: %s works: %s\n", name, command.Inert(r.String()), shape(v))
		if s.IsOff() {
			c.Say("%s is switched off: no session uses it", name)
		} else if s.Use == nil {
			c.Say("%s has no use: no session uses it", name)
		}
		return 0, err
	}
	return cmd
}

// workspaces lists what an agent could write if it were started here. Where none can
// be started there is nothing.
func workspaces(c *command.Console) (out []string) {
	s, err := lookHere(c)
	if err != nil {
		return nil
	}
	for _, w := range s.Workspaces {
		out = append(out, w.Path)
	}
	return out
}

// shape is what is said of a value.
func shape(v source.Value) string {
	prefix, n := v.Shape()
	if prefix != "" {
		prefix += "…, "
	}
	return fmt.Sprintf("%s%d characters", prefix, n)
}
