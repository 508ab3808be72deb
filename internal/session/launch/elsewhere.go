package launch

import (
	"fmt"
	"net/url"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// elsewhere refuses what must not be where another machine has the walls: what its user may
// read there, whoever owns it reads as well.
func (b *Base) elsewhere() error {
	where := b.Own.Name
	if b.Facts.Landlock < 1 {
		return fault.New(fault.Refused, "ringfence doctor --rung ssh:"+where, "wall landlock cannot be raised on %s", where)
	}
	if b.Asked.Server != "" {
		return fault.New(fault.Refused, "use another rung for sessions with this server", "MCP server %s is this machine's, and does not run on %s", b.Asked.Server, where)
	}
	if err := b.noCredential(); err != nil {
		return err
	}
	b.Said.Notice("what the agent keeps in its home directory stays on " + where + ", and is removed there at the end")
	return nil
}

func sends(format string, args ...any) error {
	return fault.New(fault.Refused, "leave that out, or use --rung native", "no credential is sent to another machine: %s", fmt.Sprintf(format, args...))
}

// noCredential refuses what shows a secret as it is, whoever asks for it: a flag or a file.
func (b *Base) noCredential() error {
	for _, r := range b.Policy.Files.Expose {
		return sends("%s exposes %s", r.Source.String(), r.Value)
	}
	for _, r := range b.Policy.Workspace.Reveal {
		return sends("%s reveals %s", r.Source.String(), r.Value)
	}
	for _, r := range b.Policy.Env.Force {
		return sends("%s forces %s", r.Source.String(), r.Value)
	}
	if len(b.Asked.ForceEnv) > 0 {
		return sends("--force-env names %s", b.Asked.ForceEnv[0])
	}
	for _, text := range b.Asked.Env {
		if name, value, ok := strings.Cut(text, "="); ok && secretSetting(name, value) {
			return sends("--env sets %s", name)
		}
	}
	return noSecretIn(b.Policy.Env.Set)
}

// noSecretEnv does the same for env files, when it is known what the broker has of them.
func (b *Base) noSecretEnv() error {
	if b.Machine() == nil {
		return nil
	}
	files, err := b.EnvFiles()
	for _, f := range files {
		if err == nil && f.Trusted {
			err = noSecretIn(f.Settings)
		}
	}
	return err
}

func noSecretIn(set []policy.Setting) error {
	for _, v := range set {
		if secretSetting(v.Name, v.Value) {
			return sends("%s sets %s", v.Source.String(), v.Name)
		}
	}
	return nil
}

// secretSetting holds for a variable whose name says that it has a secret, and that is no
// address of a database without a password, and for an address with one under any name.
func secretSetting(name, value string) bool {
	if u, err := url.Parse(value); err == nil && u.User != nil {
		if p, _ := u.User.Password(); p != "" {
			return true
		}
	}
	return value != "" && SecretVariable(name) && !knownsecrets.NoPassword(name, value)
}
