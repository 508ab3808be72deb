package session

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/session/launch"
)

// environment builds the environment from nothing, and says from what it would be built again.
func environment(b *launch.Base, total launch.Contribution) (env environ.Environment, in environ.Input, out launch.Contribution, err error) {
	base := total.Env
	for _, v := range []struct{ name, value string }{
		{"HOME", b.User.Home}, {"USER", b.User.Name}, {"LOGNAME", b.User.Name}, {"SHELL", b.User.Shell},
		{"PATH", withTools(*b, total.Path)}, {"PWD", b.Dir}, {"TMPDIR", "/tmp"},
		{"XDG_RUNTIME_DIR", fmt.Sprintf("/run/user/%d", b.User.UID)}, {"RINGFENCE", b.ID},
	} {
		base = append(base, policy.Setting{Name: v.name, Value: v.value, Source: policy.Source{File: "ringfence"}})
	}
	pol := b.Policy.Env
	for _, v := range b.Profile.Settings(launch.NotePath, b.User.UID) {
		base = append(base, policy.Setting{Name: v.Name, Value: v.Value, Source: policy.Source{File: "agent " + b.Profile.Name}})
	}
	for _, name := range b.Profile.Env.Pass {
		pol.Pass = append(pol.Pass, policy.Rule{Value: name, Source: policy.Source{File: "built-in"}})
	}
	files, err := envFiles(b)
	if err != nil {
		return env, in, out, err
	}
	for _, name := range databasePorts(b, files) {
		out.Notice(name)
	}
	in = environ.Input{Launcher: b.Asked.Environ, Base: base, Policy: pol, Files: files, Flags: b.Asked.Env, Force: b.Asked.ForceEnv}
	env, err = environ.Build(in)
	// What the user asked for and the launcher does not have.
	for _, e := range env.Of(environ.Dropped) {
		if strings.HasPrefix(e.Source.File, "flag ") {
			out.Warn(fmt.Sprintf("%s %s: %s", e.Source.File, e.Name, e.Reason))
		}
	}
	return env, in, out, err
}

// envFiles are the user's env file, and the project's, which takes trust.
func envFiles(b *launch.Base) ([]environ.File, error) {
	files, err := b.EnvFiles()
	for _, f := range files {
		for _, v := range f.Settings {
			if !f.Trusted {
				b.Ignored = append(b.Ignored, policy.Change{Section: "env", Key: "set", Value: v.Name, Source: policy.Source{File: launch.ProjectEnv, Line: v.Source.Line}})
			}
		}
	}
	return files, err
}

// usualPorts are those of databases whose address has none.
var usualPorts = map[string]string{"postgres": "5432", "postgresql": "5432", "mysql": "3306", "redis": "6379", "mongodb": "27017", "amqp": "5672"}

// databasePorts says which addresses of env files lead to this machine, where the sandbox
// has a loopback of its own.
func databasePorts(b *launch.Base, files []environ.File) (out []string) {
	for _, f := range files {
		for _, v := range f.Settings {
			u, err := url.Parse(v.Value)
			if err != nil || !f.Trusted || !knownsecrets.NoPassword(v.Name, v.Value) || u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1" && u.Hostname() != "::1" {
				continue
			}
			port, err := address.ParsePort(cmp.Or(u.Port(), usualPorts[u.Scheme]))
			if err == nil && !slices.Contains(b.Reach.HostPorts, port) {
				out = append(out, fmt.Sprintf("%s names a server on this machine, which the sandbox does not reach: --host-port %d lets it", v.Name, port))
			}
		}
	}
	return out
}
