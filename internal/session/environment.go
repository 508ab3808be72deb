package session

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/session/launch"
)

// environment builds the environment from nothing, and says from what it would be built again.
func environment(b *launch.Base, total launch.Contribution) (env environ.Environment, in environ.Input, out launch.Contribution, err error) {
	base := total.Env
	for _, v := range []struct{ name, value string }{
		{"HOME", b.User.Home}, {"USER", b.User.Name}, {"LOGNAME", b.User.Name}, {"SHELL", b.User.Shell},
		{"PATH", total.Path}, {"PWD", b.Dir}, {"TMPDIR", "/tmp"},
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
	var out []environ.File
	user := filepath.Join(b.Dirs.Config, "env")
	data, err := launch.ReadIfPresent(user, launch.MaxEnvFile)
	if err != nil {
		return nil, err
	}
	if data != nil {
		set, err := environ.ParseFile(bytes.NewReader(data), user)
		if err != nil {
			return nil, err
		}
		out = append(out, environ.File{Settings: set, Trusted: true})
	}
	data, digest, err := launch.ReadProjectEnv(b.Workspaces[0].Path)
	if err != nil || data == nil {
		return out, err
	}
	set, err := environ.ParseFile(bytes.NewReader(data), filepath.Join(b.Workspaces[0].Path, launch.ProjectEnv))
	if err != nil {
		return nil, err
	}
	ok, err := b.Trusted(launch.ProjectEnv, digest)
	if err != nil {
		return nil, err
	}
	for _, v := range set {
		if !ok {
			b.Ignored = append(b.Ignored, policy.Change{Section: "env", Key: "set", Value: v.Name, Source: policy.Source{File: launch.ProjectEnv, Line: v.Source.Line}})
		}
	}
	return append(out, environ.File{Settings: set, Trusted: ok}), nil
}
