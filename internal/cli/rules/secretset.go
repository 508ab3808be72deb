package rules

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
)

// secretFlags are what describes a secret.
type secretFlags struct {
	cmd                                   *command.Command
	use, from, header, user, role, region string
	hosts, env                            words
	command                               []string
}

func secretSet() *command.Command {
	cmd := &command.Command{Name: "secret set", Args: "NAME [flags] [-- COMMAND ARGS]", Short: "keep a secret, or say where it is kept", Takes: command.Raw, Cut: true,
		Examples: []string{"ringfence secret set work --use github --from env:WORK_TOKEN", "ringfence secret set pkg --use npm --host reg.example.org/npm --from env:NPM"},
		Long:     "Keeps a secret. Its value is typed without echo, or read from stdin when that is no\nterminal; it is never an argument. With --from, or a command, the value stays where it is\nand is read from there at use. Without flags a secret that exists gets a new value."}
	l, f := &secretFlags{cmd: cmd}, &cmd.Flags
	f.StringVar(&l.use, "use", "", "the `KIND` of credential: "+strings.Join(policy.SecretUses(), ", ")+" (default: NAME, if it is one)")
	f.Var(&l.hosts, "host", "a `HOST[:PORT][/PATH]` that it is for, and no other, with the path of a registry below which it is; may be repeated (default: the public host of the kind, if it has one)")
	f.StringVar(&l.from, "from", "", "where it is kept: store (the default), env:VAR, file:PATH, pass:NAME, keyring:NAME or secret-service:ATTR=VALUE: `SOURCE`")
	f.StringVar(&l.header, "header", "", "the `NAME` of the header, for --use header")
	f.StringVar(&l.user, "user", "", "the `NAME` of the user, for --use basic and registries that want one")
	f.StringVar(&l.role, "role", "", "the `ARN` of the role that is assumed, for --use aws")
	f.StringVar(&l.region, "region", "", "the `REGION` that is asked, for --use aws")
	f.Var(&l.env, "env", "a `VARIABLE` that holds, inside, what stands for it; may be repeated")
	cmd.Run = l.run
	return cmd
}

// parse reads NAME, flags and a command. What else is there may be a value: it is not
// repeated.
func (l *secretFlags) parse(args []string) (name string, err error) {
	l.command = l.cmd.Behind
	if l.command != nil && len(l.command) == 0 {
		return "", fault.New(fault.Usage, "ringfence secret set NAME -- PROGRAM ARGS", "there is no command after --")
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	if err := l.cmd.ParseFlags(args); err != nil {
		return "", err
	}
	rest := l.cmd.Flags.Args()
	if name == "" && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	if name == "" {
		return "", fault.New(fault.Usage, "ringfence secret set NAME", "secret set needs a name")
	}
	plain, _, assigned := strings.Cut(name, "=")
	if assigned || len(rest) > 0 {
		return "", valueGiven(plain)
	}
	if err := policy.CheckSecretName(name); err != nil {
		return "", fault.New(fault.Usage, "ringfence secret set NAME asks for the value", "%w", err)
	}
	if v, err := source.New(name); err == nil {
		if prefix, _ := v.Shape(); prefix != "" {
			return "", valueGiven("")
		}
	}
	return name, nil
}

// valueGiven is the answer to a value on the command line.
func valueGiven(name string) error {
	if policy.CheckSecretName(name) != nil {
		name = "NAME"
	}
	return fault.New(fault.Usage, fmt.Sprintf("run `ringfence secret set %s` and type the value, or pipe it in; this one has been seen: replace it", name),
		"a secret is not given on the command line: every user can see it there, and the shell keeps it")
}

// describes holds where anything but a new value is asked for.
func (l *secretFlags) describes() bool { return l.cmd.Flags.NFlag() > 0 || l.command != nil }

// secret is the table that the flags make.
func (l *secretFlags) secret(name string) (policy.Secret, error) {
	if l.command != nil && l.from == "" {
		l.from = "command"
	}
	if l.use == "" && slices.Contains(policy.SecretUses(), name) {
		l.use = name
	}
	s := policy.Secret{Name: name, Source: policy.Source{File: "flag"}}
	for _, w := range []struct {
		flag, value string
		to          **policy.Rule
	}{{"from", l.from, &s.From}, {"use", l.use, &s.Use}, {"header", l.header, &s.Header}, {"user", l.user, &s.User}, {"role", l.role, &s.Role}, {"region", l.region, &s.Region}} {
		if w.value == "" && !l.cmd.Flags.IsSet(w.flag) {
			continue
		}
		if err := policy.Admit("secret", w.flag, w.value); err != nil {
			return s, fault.New(fault.Usage, "", "--%s: %w", w.flag, err)
		}
		*w.to = &policy.Rule{Value: w.value, Source: policy.Source{File: "flag --" + w.flag}}
	}
	for _, w := range []struct {
		flag, key string
		values    []string
		to        *policy.List
	}{{"--host", "hosts", l.hosts, &s.Hosts}, {"--env", "env", l.env, &s.Env}, {"the command", "command", l.command, &s.Command}} {
		for _, v := range w.values {
			if err := policy.Admit("secret", w.key, v); err != nil {
				return s, fault.New(fault.Usage, "", "%s: %w", w.flag, err)
			}
			if w.key != "command" && slices.Contains(texts(*w.to), v) {
				return s, fault.New(fault.Usage, "", "%s: %q is given twice", w.flag, v)
			}
			*w.to = append(*w.to, policy.Rule{Value: v, Source: policy.Source{File: "flag " + w.flag}})
		}
	}
	return s, nil
}

func (l *secretFlags) run(c *command.Console, args []string) (int, error) {
	name, err := l.parse(args)
	if err != nil {
		return 2, err
	}
	d, err := openDrawer(c)
	if err != nil {
		return 2, err
	}
	s, write, err := l.choose(d, name)
	if err != nil {
		return 2, err
	}
	kind, _ := s.Origin()
	said := "from " + ref(&s).String()
	if kind == "store" {
		v, err := secretValue(c, name)
		if err != nil {
			return 1, err
		}
		if err := d.store.Set(name, v); err != nil {
			return 1, err
		}
		said = shape(v)
	}
	if write {
		if err := policy.KeepSecret(d.file, s); err != nil {
			return 1, err
		}
	}
	if kind != "store" {
		if stale, err := d.store.Remove(name); err != nil {
			return 1, err
		} else if stale {
			c.Say("the value that the store had for %s is removed", name)
		}
	}
	use := "it has no use yet: give it one by --use"
	if s.Use != nil {
		use = "use " + s.Use.Value
	}
	c.Say("secret %s is kept: %s; %s", name, said, use)
	if public := serviceapi.Kind(s.Kind()).Public(); public != "" && len(s.Hosts) == 0 {
		c.Say("it is for %s alone; for a server of your own: ringfence secret set %s --use %s --host HOST", public, name, s.Kind())
	}
	if kind != "store" {
		c.Say("`ringfence secret test %s` tries it", name)
	}
	return 0, nil
}

// choose returns the secret to keep, and whether secrets.toml has to say so. A new
// value for what is described already changes no description.
func (l *secretFlags) choose(d *drawer, name string) (s policy.Secret, write bool, err error) {
	own, kept := d.own.FindSecret(name), d.kept.FindSecret(name)
	switch {
	case own != nil && l.describes():
		return s, false, fault.New(fault.Usage, "change it there", "%s is described in %s", name, own.Source)
	case !l.describes() && d.all.FindSecret(name) != nil:
		if s = *d.all.FindSecret(name); ref(&s).From != "store" {
			return s, false, fault.New(fault.Usage, "give --from store to keep it here", "%s is from %s (%s) and has no value here", name, ref(&s), s.Source)
		}
		return s, false, nil
	}
	if s, err = l.secret(name); err != nil {
		return s, false, err
	}
	if kept != nil {
		s.Off = kept.Off
	}
	before := policy.Check(d.all, policy.CheckEnv{})
	for _, p := range policy.Check(policy.Merge(d.all, &policy.Policy{Secret: []policy.Secret{s}}), policy.CheckEnv{}) {
		if !slices.ContainsFunc(before, func(b policy.Problem) bool { return b.Text == p.Text }) {
			return s, false, fault.New(fault.Usage, helps(&s), "%s", p.Text)
		}
	}
	return s, true, nil
}

// helps is the command that would have been taken, filled in as far as it is known.
func helps(s *policy.Secret) string {
	if command := s.SetCommand(); command != "" {
		return command
	}
	return "run `ringfence secret set --help`"
}

// secretValue reads a value: typed without echo, or piped in.
func secretValue(c *command.Console, name string) (source.Value, error) {
	var v source.Value
	var err error
	if c.Typing() {
		v, err = typed(c.In, func() { fmt.Fprintf(c.Err, "Value of %s (it is not shown): ", name) })
		fmt.Fprintln(c.Err)
	} else {
		v, err = source.ReadFrom(c.In)
	}
	if err != nil {
		return v, fault.New(fault.Refused, fmt.Sprintf("type it at a terminal, or pipe one line: … | ringfence secret set %s", name), "the value cannot be kept: %w", err)
	}
	return v, nil
}

// maxTyped is one less than what a terminal passes on of one line: beyond it loses.
const maxTyped = 4094

// typed reads a line with the echo off, and puts it on again whatever happens. It asks
// only when the echo is off: who is asked may answer at once.
func typed(in *os.File, ask func()) (source.Value, error) {
	fd := int(in.Fd())
	was, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return source.Value{}, err
	}
	quiet := *was
	quiet.Lflag &^= unix.ECHO | unix.ECHONL
	quiet.Lflag |= unix.ICANON | unix.ISIG
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	defer signal.Stop(signals)
	if err := unix.IoctlSetTermios(fd, unix.TCSETSF, &quiet); err != nil {
		return source.Value{}, err
	}
	defer unix.IoctlSetTermios(fd, unix.TCSETSF, was)
	ask()
	line, failed := make(chan string, 1), make(chan error, 1)
	go func() {
		text, err := bufio.NewReaderSize(in, 2*maxTyped).ReadString('\n')
		if err != nil && err != io.EOF {
			failed <- err
			return
		}
		line <- text
	}()
	select {
	case <-signals:
		return source.Value{}, errors.New("interrupted")
	case err := <-failed:
		return source.Value{}, err
	case text := <-line:
		if len(text) > maxTyped {
			return source.Value{}, errors.New("a terminal cuts lines that long: pipe it in")
		}
		return source.New(text)
	}
}
